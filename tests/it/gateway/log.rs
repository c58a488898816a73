//! A partner's notes on a deal: stored whole, shown with the deal, once for each
//! idempotency key.

use leadhost_tests::{Answer, Json, On, fields, has};
use serde_json::{Value, json};

use super::{NOBODY, Seat, note, refusal, text};

leadhost_tests::on_every_store! {
    a_note_is_kept_and_shown_with_its_deal,
    all_notes_are_read_in_pages_newest_first,
    the_same_note_twice_under_a_key_is_one,
}

#[track_caller]
fn id_of(answer: &Answer) -> String {
    text(&answer.json()["id"])
}

async fn a_note_is_kept_and_shown_with_its_deal(on: On) {
    let seat = Seat::new(on).await;
    let deal = seat.ana().await;
    seat.host.advance(60).await;
    let answer = seat.log(deal, note()).await.expect(201);
    let body = answer.json();
    assert_eq!(body.as_object().expect("an object").len(), 3, "{body}");
    fields!(body, {"dealId": deal.to_string(), "createdAt": seat.host.now().text()});
    let expect = json!([{
        "id": body["id"],
        "type": "success",
        "subject": "Success fee",
        "metadata": note()["metadata"],
        "createdAt": body["createdAt"],
    }]);
    assert_eq!(seat.shown(deal).await["deal"]["props"]["logs"], expect);
    assert_eq!(seat.exported(deal).await["props"]["logs"], expect);
    let logs = seat.past(deal).await.logs;
    assert_eq!(logs.len(), 1);
    assert_eq!(logs[0].description.as_deref(), Some("Sold within a week"));
    assert_eq!(logs[0].partner_id, seat.seeded.partner);
    // Only type and subject are required, and unknown fields are ignored.
    seat.host.advance(1).await;
    let least = json!({"type": "fee", "subject": " S ", "salesPrice": 1});
    let answer = seat.log(deal, least).await.expect(201);
    let logs = seat.past(deal).await.logs;
    assert_eq!(logs[0].id.to_string(), id_of(&answer));
    let expect = ("fee", "S");
    assert_eq!((logs[0].kind.as_str(), logs[0].subject.as_str()), expect);
    assert!(logs[0].description.is_none() && logs[0].metadata.is_empty());
    // A note changes nothing else.
    assert_eq!(seat.shown(deal).await["deal"]["status"], "open");
}

async fn all_notes_are_read_in_pages_newest_first(on: On) {
    let seat = Seat::new(on).await;
    let deal = seat.ana().await;
    let bia = ("Bia", "21 98765-4321", "bia@example.com");
    let other = seat.host.lead(&seat.seeded, bia.0, bia.1, bia.2).await;
    assert_eq!(
        seat.notes(deal, "").await.expect(200).json(),
        json!({"logs": [], "nextCursor": null, "count": 0})
    );
    let mut ids = Vec::new();
    for number in 0..7 {
        seat.host.advance(1).await;
        let body = json!({"type": "fee", "subject": format!("note {number}")});
        ids.push(id_of(&seat.log(deal, body).await.expect(201)));
    }
    seat.host.advance(1).await;
    let newest = seat.log(deal, note()).await.expect(201).json();
    ids.push(text(&newest["id"]));
    ids.reverse();
    let first = seat.notes(deal, "?limit=1").await.expect(200).json();
    let expect = json!({
        "id": newest["id"], "type": "success", "subject": "Success fee",
        "description": "Sold within a week", "metadata": note()["metadata"],
        "createdAt": newest["createdAt"],
    });
    assert_eq!(first["logs"], json!([expect]));
    let mut found = Vec::new();
    let mut query = "?limit=3".to_owned();
    loop {
        let page = seat.notes(deal, &query).await.expect(200).json();
        let logs = page["logs"].list();
        assert_eq!(page["count"], logs.len());
        found.extend(logs.iter().map(|log| text(&log["id"])));
        match page["nextCursor"].as_str() {
            Some(cursor) => query = format!("?limit=3&cursor={cursor}"),
            None => break,
        }
    }
    assert_eq!(found, ids);
    // A page keeps its place if a note is added, and its cursor is of its deal.
    let page = seat.notes(deal, "?limit=3").await.expect(200).json();
    let cursor = text(&page["nextCursor"]);
    seat.host.advance(1).await;
    seat.log(deal, note()).await.expect(201);
    let next = seat.notes(deal, &format!("?limit=1&cursor={cursor}")).await;
    assert_eq!(next.expect(200).json()["logs"][0]["id"], ids[3].as_str());
    for (deal, query) in [
        (other, format!("?cursor={cursor}")),
        (deal, "?cursor=x".to_owned()),
        (deal, "?limit=ten".to_owned()),
    ] {
        refusal(&seat.notes(deal, &query).await, 400);
    }
    let all = seat.notes(deal, "?limit=1000").await.expect(200).json();
    assert_eq!(all["count"], 9);
}

async fn the_same_note_twice_under_a_key_is_one(on: On) {
    let seat = Seat::new(on).await;
    let deal = seat.ana().await;
    let send = async |deal: &str, key: &str, body: &Value| {
        let ask = seat.logging(deal).header("idempotency-key", key);
        ask.json(body).send().await
    };
    let ana = deal.to_string();
    let first = send(&ana, "k-1", &note()).await.expect(201);
    assert_eq!(first.header("idempotency-replayed"), "");
    // Even much later, after the deal has changed, and with its id in another
    // spelling.
    seat.host.advance(3_600).await;
    seat.patch(deal, json!({"status": "won"})).await.expect(202);
    for spelled in [ana.clone(), ana.to_uppercase()] {
        let again = send(&spelled, "k-1", &note()).await.expect(201);
        assert_eq!(again.body, first.body);
        assert_eq!(again.header("idempotency-replayed"), "true");
    }
    let mut another = note();
    another["subject"] = json!("Another");
    let reused = refusal(&send(&ana, "k-1", &another).await, 422);
    has!(reused, "Idempotency-Key");
    // A key that was used for one deal is not valid for another.
    let bia = seat
        .host
        .lead(&seat.seeded, "Bia", "21 99876-5432", "bia@example.com")
        .await;
    refusal(&send(&bia.to_string(), "k-1", &note()).await, 422);
    assert!(seat.past(bia).await.logs.is_empty());
    // A mistake is not stored under the key, and neither is an unknown deal.
    refusal(&send(&ana, "k-2", &json!({})).await, 400);
    refusal(&send(NOBODY, "k-2", &note()).await, 404);
    send(&ana, "k-2", &note()).await.expect(201);
    assert_eq!(seat.past(deal).await.logs.len(), 2);
    for key in ["", &"k".repeat(256)] {
        refusal(&send(&ana, key, &note()).await, 400);
    }
    // After three days it is a new request.
    seat.host.advance(3 * 24 * 3_600).await;
    let later = send(&ana, "k-1", &note()).await.expect(201);
    assert_ne!(later.body, first.body);
}
