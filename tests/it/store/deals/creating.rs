//! Partners make deals.

use super::super::messages::{claim_send, conversation_row, line, message, message_row};
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
        external_id: None,
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
    let message = message.map(|message| ("x-message-id".to_owned(), message.to_string()));
    StoredAnswer {
        status: 201,
        headers: message.into_iter().collect(),
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

fn naming(mut new: NewDeal, id: Option<ProductId>, external_id: Option<&str>) -> NewDeal {
    let external_id = external_id.map(str::to_owned);
    new.product = Some(ProductReference { id, external_id });
    new
}

fn create_write(new: NewDeal) -> Write {
    Write::CreateDeal(Box::new(new))
}

async fn create(world: &World, new: NewDeal) -> DealCreated {
    outcome!(world.write(create_write(new)).await, DealCreated)
}

/// Returns the body of the answer.
async fn made(world: &World, new: NewDeal) -> Value {
    match create(world, new).await {
        DealCreated::Done(answer) => body(&answer),
        other => panic!("not made: {other:?}"),
    }
}

pub async fn a_deal_is_made_with_its_person_and_found_by_its_partner_only(world: &World) {
    grow(world).await;
    let by = acme(world).await;
    let mut new = naming(new_deal(world, by), None, Some("P-2"));
    new.external_id = Some("crm-7".to_owned());
    let id = new.id;
    let made = made(world, new).await;
    assert_eq!(made, json!({"dealId": id, "conversationId": null}));
    let people = world.all(Entity::Contacts).await;
    assert_eq!(people.len(), 1);
    assert_eq!(people[0]["email"], "rita@example.com");
    fields!(world.deal(id).await, {
        "status": "open", "stage_code": "in_qualification", "external_id": "crm-7",
        "agent_id": world.first_agent, "props.conversionIdentifier": "spring",
        "person_id": people[0]["id"],
    });
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
        let expect: Vec<_> = expect.iter().map(DealId::to_string).collect();
        assert_eq!(ids(&found(world, &filter).await), expect);
    }
    // Only the partner that made it may change it.
    let won = |by| to_status(by, id, DealStatus::Won);
    assert_eq!(patch(world, won(other)).await, DealPatched::NoDeal);
    assert_eq!(patch(world, won(by)).await, CHANGED);
}

pub async fn a_product_is_named_by_its_id_too(world: &World) {
    let by = acme(world).await;
    let naming = |id, external_id| naming(new_deal(world, by), id, external_id);
    let first = naming(None, Some("P-1"));
    let id = first.id;
    create(world, first).await;
    let product = world.deal(id).await["product_id"].clone();
    let product: ProductId = serde_json::from_value(product).expect("it has one");
    for external_id in [None, Some("P-1")] {
        let new = naming(Some(product), external_id);
        let id = new.id;
        made(world, new).await;
        assert_eq!(world.deal(id).await["product_id"], json!(product));
    }
    // The product is of another workspace, or the two names are of two products.
    let mut elsewhere = naming(Some(product), None);
    elsewhere.by.workspace = world.elsewhere("foreign").await.workspace_id;
    let other = ProductId(Uuid::from_u128(9));
    for new in [
        elsewhere,
        naming(Some(other), None),
        naming(Some(other), Some("P-1")),
        naming(Some(product), Some("P-9")),
    ] {
        assert_eq!(create(world, new).await, DealCreated::NoProduct);
    }
}

pub async fn a_deal_with_a_message_begins_a_conversation_that_the_worker_sends(world: &World) {
    let new = with_message(world, acme(world).await);
    let (id, sent) = (new.id, new.message.as_ref().expect("one").message.id);
    let made = made(world, new).await;
    let talk = message_row(world, sent).await["conversation_id"].clone();
    assert_eq!(made["conversationId"], talk);
    let talk = talk.text().parse().expect("an id");
    let row = conversation_row(world, talk).await;
    fields!(row, {"deal_id": id, "source": "crm", "props.specialInstructions": "be brief"});
    let held = claim_send(world).await;
    assert_eq!((held.message, held.recipient.as_str()), (sent, PHONE));
}

pub async fn a_refused_deal_leaves_nothing(world: &World) {
    let new = with_message(world, acme(world).await);
    let refused = NewDeal {
        idempotency: Some(claim(world, "create-deal", "a").await),
        ..naming(new, None, Some("P-9"))
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
    made(world, bypassing).await;
    let row = world.deal(id).await;
    fields!(row, {"product_id": null, "props.productExternalId": "P-9"});
}

pub async fn a_repeated_request_gets_the_same_answer_and_creates_nothing(world: &World) {
    let by = acme(world).await;
    let request = async |fingerprint: &str| {
        create_write(NewDeal {
            idempotency: Some(claim(world, "create-deal", fingerprint).await),
            ..with_message(world, by)
        })
    };
    let created = async |fingerprints: &[&str]| {
        let mut writes = Vec::new();
        for fingerprint in fingerprints {
            writes.push(request(fingerprint).await);
        }
        let written = world.commit(&writes).await.into_iter();
        let created = written.map(|written| outcome!(written, DealCreated));
        created.collect::<Vec<_>>()
    };
    // Twice in one batch, then another body.
    let at_once = created(&["a", "a", "b"]).await;
    let DealCreated::Done(first) = &at_once[0] else {
        panic!("not made: {at_once:?}");
    };
    let replayed = DealCreated::Replayed(first.clone());
    assert_eq!(at_once[1..], [replayed.clone(), DealCreated::KeyReused]);
    // And in another batch, as long as the key is kept.
    let later = created(&["a", "b"]).await;
    assert_eq!(later, [replayed, DealCreated::KeyReused]);
    assert_eq!(world.all(Entity::Deals).await.len(), 1);
    assert_eq!(world.all(Entity::Messages).await.len(), 1);
    world.advance(3 * DAY).await;
    assert!(matches!(created(&["b"]).await[..], [DealCreated::Done(_)]));
    // On another route the same key is a different one.
    let mut elsewhere = with_message(world, by);
    elsewhere.idempotency = Some(claim(world, "elsewhere", "a").await);
    made(world, elsewhere).await;
}

pub async fn two_requests_with_one_key_at_once_make_one_deal(world: &World) {
    let by = acme(world).await;
    let claimed = claim(world, "create-deal", "a").await;
    let commit = async || {
        let mut new = with_message(world, by);
        new.idempotency = Some(claimed.clone());
        create(world, new).await
    };
    let (one, other) = tokio::join!(commit(), commit());
    let (first, repeat) = match (one, other) {
        (DealCreated::Done(first), DealCreated::Replayed(repeat))
        | (DealCreated::Replayed(repeat), DealCreated::Done(first)) => (first, repeat),
        others => panic!("not one and its repeat: {others:?}"),
    };
    assert_eq!(first, repeat);
    for entity in [Entity::Deals, Entity::Contacts, Entity::Messages] {
        assert_eq!(world.all(entity).await.len(), 1, "{entity:?}");
    }
}

pub async fn an_external_id_is_of_one_deal_of_its_partner(world: &World) {
    grow(world).await;
    let (by_acme, other) = (acme(world).await, by(world, "Other").await);
    let named = |by: ByPartner, id: &str| NewDeal {
        external_id: Some(id.to_owned()),
        ..new_deal(world, by)
    };
    let first = named(by_acme, "crm-7");
    let id = first.id;
    // Two of one batch, and one later.
    let writes = [create_write(first), create_write(named(by_acme, "crm-7"))];
    let mut written = world.commit(&writes).await;
    let taken = DealCreated::ExternalIdTaken(id);
    assert_eq!(outcome!(written.pop().expect("two"), DealCreated), taken);
    assert_eq!(create(world, named(by_acme, "crm-7")).await, taken);
    made(world, named(other, "crm-7")).await;
    // A deal that came through a connection is its partner's, too.
    let of_lead = deal(world).await;
    let taken = DealCreated::ExternalIdTaken(of_lead);
    assert_eq!(create(world, named(by_acme, "L1")).await, taken);
    made(world, named(other, "L1")).await;
    assert_eq!(world.all(Entity::Deals).await.len(), 4);
}
