//! Partners' notes on deals.

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
    let shown = json!({
        "id": created.id, "dealId": created.deal, "createdAt": created.created_at,
    });
    StoredAnswer {
        status: 201,
        headers: Vec::new(),
        body: shown.to_string(),
    }
}

pub fn note_write(new: NewDealLog) -> Write {
    Write::LogDeal(Box::new(new))
}

async fn log(world: &World, new: NewDealLog) -> DealLogged {
    outcome!(world.write(note_write(new)).await, DealLogged)
}

pub async fn a_note_is_kept_whole_and_shown_in_part(world: &World) {
    let (by, id) = (acme(world).await, deal(world).await);
    let before = world.clock(Entity::Deals).await;
    let new = note(world, by, id, "sold");
    let note_id = new.id;
    let DealLogged::Done(answer) = log(world, new).await else {
        panic!("not kept");
    };
    let shown = json!({"id": note_id, "dealId": id, "createdAt": world.now()});
    assert_eq!(body(&answer), shown);
    assert_eq!(world.clock(Entity::Deals).await, before + 1);
    let shown = json!([{
        "id": note_id, "type": "success", "subject": "sold",
        "metadata": {"salesPrice": "100.00"}, "createdAt": world.now()
    }]);
    assert_eq!(world.deal(id).await["props"]["logs"], shown);
    let past = past(world, id).await;
    let kept = DealLog {
        id: note_id,
        created_at: world.now(),
        partner_id: by.partner,
        key_id: by.key,
        kind: "success".to_owned(),
        subject: "sold".to_owned(),
        description: Some("all of it".to_owned()),
        metadata: object(json!({"salesPrice": "100.00"})),
    };
    assert_eq!(past.logs, [kept]);
    assert_eq!(past.history.len(), 1);
    let change = FieldChange {
        field: "log".to_owned(),
        before: json!(null),
        after: json!(note_id),
    };
    assert_eq!(past.history[0].changes, [change]);
}

pub async fn the_newest_notes_are_shown_and_all_are_kept(world: &World) {
    let (by, id) = (acme(world).await, deal(world).await);
    // Some in one batch, some alone.
    let together = ["1", "2"].map(|subject| note_write(note(world, by, id, subject)));
    world.commit(&together).await;
    for subject in ["3", "4", "5", "6"] {
        world.advance(1).await;
        log(world, note(world, by, id, subject)).await;
    }
    let row = world.deal(id).await;
    let shown = row["props"]["logs"].list().iter();
    let shown: Vec<_> = shown.map(|log| log["subject"].text()).collect();
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
    let request = async |fingerprint: &str| {
        let mut new = note(world, by, id, "sold");
        new.idempotency = Some(claim(world, "log-deal", fingerprint).await);
        note_write(new)
    };
    let logged = async |writes: [Write; 2]| {
        let written = world.commit(&writes).await.into_iter();
        let logged = written.map(|written| outcome!(written, DealLogged));
        logged.collect::<Vec<_>>()
    };
    let at_once = logged([request("a").await, request("a").await]).await;
    let DealLogged::Done(first) = &at_once[0] else {
        panic!("not kept: {at_once:?}");
    };
    let replayed = DealLogged::Replayed(first.clone());
    assert_eq!(at_once[1], replayed);
    let later = logged([request("a").await, request("b").await]).await;
    assert_eq!(later, [replayed, DealLogged::KeyReused]);
    assert_eq!(past(world, id).await.logs.len(), 1);
}
