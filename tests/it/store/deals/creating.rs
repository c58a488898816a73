//! Partners make deals.

use leadhost_domain::contact;
use leadhost_domain::id::{DealId, ProductId};
use leadhost_domain::row::Entity;
use leadhost_store::*;
use leadhost_tests::fields;
use serde_json::{Value, json};
use uuid::Uuid;

use super::super::messages::{
    PHONE, claim_send, conversation_row, line, message, message_row, number,
};
use super::super::world::*;
use super::*;

fn new_deal(world: &World, by: ByPartner) -> NewDeal {
    let phone = number(PHONE);
    let email = "rita@example.com".to_owned();
    NewDeal {
        by,
        id: DealId::new(world.now()),
        name: "Rita".to_owned(),
        contact_keys: contact::keys(std::slice::from_ref(&phone), std::slice::from_ref(&email)),
        phone: Some(phone),
        email: Some(email),
        product: None,
        bypass_product_check: false,
        agent: None,
        external_id: Some("crm-7".to_owned()),
        props: object(json!({
            "source": "crm",
            "conversionIdentifier": "spring",
            // As the gateway keeps what the partner says of the person.
            "contact": {"name": "Rita", "phones": [PHONE], "emails": ["rita@example.com"]},
        })),
        message: None,
        idempotency: None,
        answer: deal_answer,
    }
}

fn deal_answer(created: &CreatedDeal) -> StoredAnswer {
    let (conversation, message) = created.begun.unzip();
    StoredAnswer {
        status: 201,
        headers: message
            .map(|message| ("x-message-id".to_owned(), message.to_string()))
            .into_iter()
            .collect(),
        body: json!({"dealId": created.id, "conversationId": conversation}).to_string(),
    }
}

fn with_message(world: &World, by: ByPartner) -> NewDeal {
    NewDeal {
        message: Some(DealMessage {
            channel: line(world),
            message: message(world),
            transfer: true,
            special_instructions: Some("be brief".to_owned()),
        }),
        ..new_deal(world, by)
    }
}

fn created(written: &WriteOutcome) -> DealCreated {
    match written {
        WriteOutcome::DealCreated(created) => created.clone(),
        other => panic!("no deal: {other:?}"),
    }
}

async fn create(world: &World, new: NewDeal) -> DealCreated {
    let written = world.commit(&[Write::CreateDeal(Box::new(new))]).await;
    created(&written[0])
}

fn body(created: &DealCreated) -> Value {
    match created {
        DealCreated::Done(answer) => serde_json::from_str(&answer.body).expect("JSON"),
        other => panic!("not made: {other:?}"),
    }
}

pub async fn a_deal_is_made_with_its_person_and_found_by_its_partner_only(world: &World) {
    grow(world).await;
    let by = acme(world).await;
    let new = NewDeal {
        product: Some(ProductReference {
            id: None,
            external_id: Some("P-2".to_owned()),
        }),
        ..new_deal(world, by)
    };
    let id = new.id;
    let made = create(world, new).await;
    assert_eq!(body(&made), json!({"dealId": id, "conversationId": null}));
    let row = world.deal(id).await;
    fields!(row, {
        "status": "open", "stage_code": "in_qualification", "external_id": "crm-7",
        "agent_id": world.first_agent, "props.conversionIdentifier": "spring",
    });
    let people = world.all(Entity::Contacts).await;
    assert_eq!(people.len(), 1);
    assert_eq!(people[0]["email"], "rita@example.com");
    assert_eq!(row["person_id"], people[0]["id"]);
    let history = past(world, id).await.history;
    assert_eq!(history.len(), 1);
    assert_eq!(history[0].by, by.changed_by());
    // Next to it a deal that came through the partner's connection.
    world.advance(1).await;
    let of_lead = deal(world).await;
    let other = super::by(world, "Other").await;
    for (partner, expect) in [(by, vec![of_lead, id]), (other, vec![])] {
        let filter = DealFilter {
            partner: Some(partner.partner),
            phone_key: number(PHONE).match_key,
            ..DealFilter::default()
        };
        let found = world.deals(&world.scope, &filter, 10).await;
        let found: Vec<_> = found
            .expect("it reads")
            .deals
            .into_iter()
            .map(|deal| deal.deal.id)
            .collect();
        let expect: Vec<_> = expect.iter().map(DealId::to_string).collect();
        assert_eq!(found, expect);
    }
    // Only the partner that made it may change it.
    let won = |by| DealPatch {
        status: Some(leadhost_domain::deal::DealStatus::Won),
        ..wish(by, id)
    };
    assert_eq!(patch(world, won(other)).await, DealPatched::NoDeal);
    assert_eq!(
        patch(world, won(by)).await,
        DealPatched::Done { changed: true }
    );
}

pub async fn a_product_is_named_by_its_id_too(world: &World) {
    let by = acme(world).await;
    let naming = |id: Option<ProductId>, external_id: Option<&str>| NewDeal {
        product: Some(ProductReference {
            id,
            external_id: external_id.map(str::to_owned),
        }),
        ..new_deal(world, by)
    };
    let first = naming(None, Some("P-1"));
    let id = first.id;
    create(world, first).await;
    let product = world.deal(id).await["product_id"].clone();
    let product: ProductId = serde_json::from_value(product).expect("it has one");
    for external_id in [None, Some("P-1")] {
        let new = naming(Some(product), external_id);
        let id = new.id;
        body(&create(world, new).await);
        assert_eq!(world.deal(id).await["product_id"], json!(product));
    }
    // The product is of another workspace, or the two names are of two products.
    let foreign = world.apply(&plan("foreign"), START, false).await;
    let mut elsewhere = naming(Some(product), None);
    elsewhere.by.workspace = foreign.expect("the plan holds").workspace_id;
    assert_eq!(create(world, elsewhere).await, DealCreated::NoProduct);
    let other = ProductId(Uuid::from_u128(9));
    for new in [
        naming(Some(other), None),
        naming(Some(other), Some("P-1")),
        naming(Some(product), Some("P-9")),
    ] {
        assert_eq!(create(world, new).await, DealCreated::NoProduct);
    }
}

pub async fn a_deal_with_a_message_begins_a_conversation_that_the_worker_sends(world: &World) {
    let by = acme(world).await;
    let new = with_message(world, by);
    let (id, sent) = (new.id, new.message.as_ref().expect("one").message.id);
    let made = create(world, new).await;
    let shown = message_row(world, sent).await;
    let talk = shown["conversation_id"].clone();
    assert_eq!(body(&made)["conversationId"], talk);
    let talk = talk.as_str().expect("an id").parse().expect("an id");
    let row = conversation_row(world, talk).await;
    fields!(row, {"deal_id": id, "source": "crm", "props.specialInstructions": "be brief"});
    let held = claim_send(world).await;
    assert_eq!((held.message, held.recipient.as_str()), (sent, PHONE));
}

pub async fn a_refused_deal_leaves_nothing(world: &World) {
    let by = acme(world).await;
    let claimed = claim(world, "create-deal", "a").await;
    let refused = NewDeal {
        product: Some(ProductReference {
            id: None,
            external_id: Some("P-9".to_owned()),
        }),
        idempotency: Some(claimed.clone()),
        ..with_message(world, by)
    };
    assert_eq!(create(world, refused.clone()).await, DealCreated::NoProduct);
    for entity in [Entity::Deals, Entity::Contacts, Entity::Messages] {
        assert!(world.all(entity).await.is_empty());
    }
    // The key does not remember it either. With a bypass, an unknown product is no
    // reason to refuse.
    let bypassing = NewDeal {
        bypass_product_check: true,
        ..refused
    };
    let id = bypassing.id;
    body(&create(world, bypassing).await);
    let row = world.deal(id).await;
    fields!(row, {"product_id": null, "props.productExternalId": "P-9"});
}

pub async fn a_repeated_request_gets_the_same_answer_and_creates_nothing(world: &World) {
    let by = acme(world).await;
    let claims = [
        claim(world, "create-deal", "a").await,
        claim(world, "create-deal", "b").await,
    ];
    let request = |claim: usize| {
        let mut new = with_message(world, by);
        new.idempotency = Some(claims[claim].clone());
        Write::CreateDeal(Box::new(new))
    };
    // Twice in one batch, then another body.
    let written = world.commit(&[request(0), request(0), request(1)]).await;
    let DealCreated::Done(first) = created(&written[0]) else {
        panic!("not made: {written:?}");
    };
    assert_eq!(created(&written[1]), DealCreated::Replayed(first.clone()));
    assert_eq!(created(&written[2]), DealCreated::KeyReused);
    // And in another batch, as long as the key is kept.
    let later = world.commit(&[request(0), request(1)]).await;
    assert_eq!(created(&later[0]), DealCreated::Replayed(first));
    assert_eq!(created(&later[1]), DealCreated::KeyReused);
    assert_eq!(world.all(Entity::Deals).await.len(), 1);
    assert_eq!(world.all(Entity::Messages).await.len(), 1);
    world.advance(3 * 86_400).await;
    let created_again = world.commit(&[request(1)]).await;
    assert!(matches!(created(&created_again[0]), DealCreated::Done(_)));
    // On another route the same key is a different one.
    let mut elsewhere = with_message(world, by);
    elsewhere.idempotency = Some(claim(world, "elsewhere", "a").await);
    assert!(matches!(
        create(world, elsewhere).await,
        DealCreated::Done(_)
    ));
}

pub async fn two_requests_with_one_key_at_once_make_one_deal(world: &World) {
    let by = acme(world).await;
    let claimed = claim(world, "create-deal", "a").await;
    let commit = async || {
        let mut new = with_message(world, by);
        new.idempotency = Some(claimed.clone());
        let write = Write::CreateDeal(Box::new(new));
        let written = world.store.commit(&[write]).await.expect("it commits");
        created(&written[0])
    };
    let (one, other) = tokio::join!(commit(), commit());
    let (first, repeat) = match (one, other) {
        (DealCreated::Done(first), DealCreated::Replayed(repeat))
        | (DealCreated::Replayed(repeat), DealCreated::Done(first)) => (first, repeat),
        others => panic!("not one and its repeat: {others:?}"),
    };
    assert_eq!(first, repeat);
    assert_eq!(world.all(Entity::Deals).await.len(), 1);
    assert_eq!(world.all(Entity::Contacts).await.len(), 1);
    assert_eq!(world.all(Entity::Messages).await.len(), 1);
}
