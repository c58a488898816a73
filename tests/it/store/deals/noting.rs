//! Partners' notes on deals.

use leadhost_domain::id::{DealId, DealLogId};
use leadhost_domain::row::Entity;
use leadhost_store::*;
use serde_json::json;
use uuid::Uuid;

use super::super::world::*;
use super::*;

fn note(world: &World, by: ByPartner, deal: DealId, subject: &str) -> NewDealLog {
    NewDealLog {
        by,
        deal,
        id: DealLogId::new(world.now()),
        kind: "success".to_owned(),
        subject: subject.to_owned(),
        description: Some("all of it".to_owned()),
        metadata: object(json!({"salesPrice": "100.00"})),
        idempotency: None,
        answer: note_answer,
    }
}

pub fn note_answer(created: &CreatedDealLog) -> StoredAnswer {
    StoredAnswer {
        status: 201,
        headers: Vec::new(),
        body: json!({"id": created.id, "dealId": created.deal, "createdAt": created.created_at})
            .to_string(),
    }
}

fn logged(written: &WriteOutcome) -> DealLogged {
    match written {
        WriteOutcome::DealLogged(logged) => logged.clone(),
        other => panic!("no note: {other:?}"),
    }
}

async fn log(world: &World, new: NewDealLog) -> DealLogged {
    let written = world.commit(&[Write::LogDeal(Box::new(new))]).await;
    logged(&written[0])
}

pub async fn a_note_is_kept_whole_and_shown_in_part(world: &World) {
    let (by, id) = (acme(world).await, deal(world).await);
    let before = clock(world, Entity::Deals).await;
    let new = note(world, by, id, "sold");
    let note_id = new.id;
    let DealLogged::Done(answer) = log(world, new).await else {
        panic!("not kept");
    };
    let body: serde_json::Value = serde_json::from_str(&answer.body).expect("JSON");
    assert_eq!(
        body,
        json!({"id": note_id, "dealId": id, "createdAt": world.now()})
    );
    assert_eq!(clock(world, Entity::Deals).await, before + 1);
    assert_eq!(
        world.deal(id).await["props"]["logs"],
        json!([{
            "id": note_id, "type": "success", "subject": "sold",
            "metadata": {"salesPrice": "100.00"}, "createdAt": world.now()
        }])
    );
    let past = past(world, id).await;
    assert_eq!(
        past.logs,
        [DealLog {
            id: note_id,
            created_at: world.now(),
            partner_id: by.partner,
            key_id: by.key,
            kind: "success".to_owned(),
            subject: "sold".to_owned(),
            description: Some("all of it".to_owned()),
            metadata: object(json!({"salesPrice": "100.00"})),
        }]
    );
    assert_eq!(past.history.len(), 1);
    assert_eq!(
        past.history[0].changes,
        [FieldChange {
            field: "log".to_owned(),
            before: json!(null),
            after: json!(note_id),
        }]
    );
}

pub async fn the_newest_notes_are_shown_and_all_are_kept(world: &World) {
    let (by, id) = (acme(world).await, deal(world).await);
    // Some in one batch, some alone.
    let together = ["1", "2"].map(|subject| {
        let write = note(world, by, id, subject);
        Write::LogDeal(Box::new(write))
    });
    world.commit(&together).await;
    for subject in ["3", "4", "5", "6"] {
        world.advance(1).await;
        log(world, note(world, by, id, subject)).await;
    }
    let logs = world.deal(id).await["props"]["logs"].clone();
    let shown: Vec<_> = logs
        .as_array()
        .expect("a list")
        .iter()
        .map(|log| log["subject"].clone())
        .collect();
    assert_eq!(shown, ["6", "5", "4", "3", "2"]);
    let all = past(world, id).await;
    assert_eq!((all.logs.len(), all.history.len()), (6, 6));
    let some = world.deal_past(world.workspace, id, 3).await;
    let some = some.expect("it reads").expect("it is there").logs;
    let newest: Vec<_> = some.iter().map(|log| log.subject.as_str()).collect();
    assert_eq!(newest, ["6", "5", "4"]);
}

pub async fn only_the_partner_of_a_deal_may_note_on_it(world: &World) {
    grow(world).await;
    let (own, id) = (acme(world).await, deal(world).await);
    let before = world.deal(id).await;
    let other = by(world, "Other").await;
    let unknown = DealId(Uuid::from_u128(9));
    for (by, deal) in [(other, id), (own, unknown)] {
        let new = note(world, by, deal, "sold");
        assert_eq!(log(world, new).await, DealLogged::NoDeal);
    }
    assert_eq!(world.deal(id).await, before);
    assert!(past(world, id).await.logs.is_empty());
}

pub async fn a_repeated_note_gets_the_same_answer_and_is_kept_once(world: &World) {
    let (by, id) = (acme(world).await, deal(world).await);
    let claims = [
        claim(world, "log-deal", "a").await,
        claim(world, "log-deal", "b").await,
    ];
    let request = |claim: usize| {
        let mut new = note(world, by, id, "sold");
        new.idempotency = Some(claims[claim].clone());
        Write::LogDeal(Box::new(new))
    };
    let written = world.commit(&[request(0), request(0)]).await;
    let DealLogged::Done(first) = logged(&written[0]) else {
        panic!("not kept: {written:?}");
    };
    assert_eq!(logged(&written[1]), DealLogged::Replayed(first.clone()));
    let later = world.commit(&[request(0), request(1)]).await;
    assert_eq!(logged(&later[0]), DealLogged::Replayed(first));
    assert_eq!(logged(&later[1]), DealLogged::KeyReused);
    assert_eq!(past(world, id).await.logs.len(), 1);
}
