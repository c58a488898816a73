//! A partner's notes on a deal: stored whole, shown with the deal, once for each
//! idempotency key.

use std::collections::BTreeSet;

use leadhost_domain::key::KeyKind;
use leadhost_tests::{Answer, Json, On, fields, has};
use serde_json::{Value, json};

use super::{NOBODY, Seat, check_places, note, past, refusal, text};

leadhost_tests::on_every_store! {
    a_note_is_kept_and_shown_with_its_deal,
    all_notes_are_read_in_pages_newest_first,
    the_notes_of_another_partners_deal_are_not_found,
    each_mistake_is_an_issue_and_all_are_reported_at_once,
    a_deal_of_another_partner_is_not_found,
    the_same_note_twice_under_a_key_is_one,
    many_requests_at_once_with_one_key_are_one_note,
    only_an_access_token_notes,
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
    assert_eq!(
        (logs[0].kind.as_str(), logs[0].subject.as_str()),
        ("fee", "S")
    );
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
        "id": newest["id"],
        "type": "success",
        "subject": "Success fee",
        "description": "Sold within a week",
        "metadata": note()["metadata"],
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

async fn the_notes_of_another_partners_deal_are_not_found(on: On) {
    let seat = Seat::new(on).await;
    let deal = seat.ana().await;
    seat.log(deal, note()).await.expect(201);
    let others = [
        seat.other(KeyKind::AccessToken).await,
        seat.host.workspace("other").await.access_token,
    ];
    let own = &seat.seeded.access_token;
    let deal = deal.to_string();
    let ask = |deal: &str| seat.host.get(&format!("/api/v1/deals/{deal}/log"));
    for (deal, key) in [
        (deal.as_str(), &others[0]),
        (deal.as_str(), &others[1]),
        (NOBODY, own),
        ("x", own),
    ] {
        let message = refusal(&ask(deal).bearer(key).send().await, 404);
        assert!(message.starts_with("Deal not found"), "{message}");
    }
    for ask in [
        ask(&deal),
        ask(&deal).partner(&seat.seeded.partner_key),
        ask(&deal).bearer(&seat.seeded.workspace_key),
    ] {
        refusal(&ask.send().await, 401);
    }
}

async fn each_mistake_is_an_issue_and_all_are_reported_at_once(on: On) {
    let seat = Seat::new(on).await;
    let deal = seat.ana().await;
    let check = async |change: Value, expect: &[(&str, &str)]| {
        let mut body = note();
        for (name, value) in change.as_object().expect("an object") {
            body[name] = value.clone();
        }
        check_places(&seat.log(deal, body).await, expect, change);
    };
    let wrong = async |field: &str, value: Value, code: &str| {
        check(json!({field: value}), &[(code, field)]).await;
    };
    for body in [json!([]), json!(null), json!("note"), json!(7)] {
        let answer = seat.log(deal, body.clone()).await;
        check_places(&answer, &[("invalid_type", "")], body);
    }
    let missing = ["type", "subject"].map(|field| ("invalid_type", field));
    check_places(&seat.log(deal, json!({})).await, &missing, "nothing");
    for (field, longest) in [("type", 64), ("subject", 255), ("description", 4_000)] {
        for value in [json!(null), json!(7), json!(true), json!([]), json!({})] {
            wrong(field, value, "invalid_type").await;
        }
        wrong(field, json!("a\0"), "invalid_string").await;
        wrong(field, json!("é".repeat(longest + 1)), "too_big").await;
        let mut body = note();
        body[field] = json!("é".repeat(longest));
        seat.log(deal, body).await.expect(201);
    }
    for field in ["type", "subject"] {
        for blank in ["", " ", "\t\n"] {
            wrong(field, json!(blank), "too_small").await;
        }
    }
    for value in [json!(null), json!([]), json!("x"), json!(7)] {
        wrong("metadata", value, "invalid_type").await;
    }
    wrong("metadata", json!({"a": "x".repeat(4_096)}), "too_big").await;
    let all = json!({"type": 1, "subject": "", "description": null, "metadata": 1});
    let expect = [
        ("invalid_type", "type"),
        ("too_small", "subject"),
        ("invalid_type", "description"),
        ("invalid_type", "metadata"),
    ];
    check(all, &expect).await;
    assert_eq!(seat.past(deal).await.logs.len(), 3);
}

async fn a_deal_of_another_partner_is_not_found(on: On) {
    let seat = Seat::new(on).await;
    let deal = seat.ana().await;
    let stranger = seat.host.workspace("stranger").await;
    let other = seat.other(KeyKind::AccessToken).await;
    let unknown = refusal(&seat.log(NOBODY, note()).await, 404);
    has!(unknown, "Deal not found");
    for id in ["17", "%20", "abc", &"9".repeat(2_000)] {
        assert_eq!(refusal(&seat.log(id, note()).await, 404), unknown);
    }
    for key in [&other, &stranger.access_token] {
        let ask = seat.host.post(&format!("/api/v1/deals/{deal}/log"));
        let answer = ask.bearer(key).header("idempotency-key", "k-1");
        let answer = answer.json(&note()).send().await;
        assert_eq!(refusal(&answer, 404), unknown);
    }
    assert!(seat.past(deal).await.logs.is_empty());
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

async fn many_requests_at_once_with_one_key_are_one_note(on: On) {
    let seat = Seat::new(on).await;
    let deal = seat.ana().await;
    let send = || {
        let ask = seat.logging(deal).header("idempotency-key", "k-1");
        ask.json(&note()).send()
    };
    let (a, b, c, d) = tokio::join!(send(), send(), send(), send());
    let answers = [a, b, c, d].map(|answer| answer.expect(201));
    let ids: BTreeSet<_> = answers.iter().map(id_of).collect();
    assert_eq!(ids.len(), 1);
    let replayed = answers
        .iter()
        .filter(|answer| answer.header("idempotency-replayed") == "true");
    assert_eq!(replayed.count(), 3);
    let past = past(&seat.host, seat.seeded.workspace, deal).await;
    assert_eq!((past.logs.len(), past.history.len()), (1, 1));
}

async fn only_an_access_token_notes(on: On) {
    let seat = Seat::new(on).await;
    let deal = seat.ana().await;
    let ask = || {
        let ask = seat.host.post(&format!("/api/v1/deals/{deal}/log"));
        ask.json(&note())
    };
    for wrong in [
        ask(),
        ask().bearer(&seat.seeded.partner_key),
        ask().bearer(&seat.seeded.workspace_key),
        ask().partner(&seat.seeded.access_token),
        ask().header("authorization", "Bearer at_typo"),
    ] {
        let answer = wrong.send().await;
        refusal(&answer, 401);
        assert_eq!(answer.header("www-authenticate"), "Bearer");
    }
    assert!(seat.past(deal).await.logs.is_empty());
}
