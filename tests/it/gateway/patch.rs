//! A partner changes a deal: valid changes, their consequences, and the answers.

use leadhost_domain::id::DealId;
use leadhost_domain::key::KeyKind;
use leadhost_tests::{Answer, Json, On, fields, has};
use serde_json::{Value, json};

use super::{NOBODY, Seat, check_places, issues, refusal};

leadhost_tests::on_every_store! {
    each_field_changes_the_deal_and_is_shown,
    status_and_stage_follow_each_other,
    a_change_to_the_current_values_is_a_no_op,
    each_mistake_is_an_issue_and_all_are_reported_at_once,
    unknown_references_are_named,
    a_deal_of_another_partner_is_not_found,
    two_changes_at_the_same_time_are_both_made,
    only_a_partner_key_changes_deals,
}

/// The exported status and stage.
async fn state(seat: &Seat, deal: DealId) -> (String, String) {
    let row = seat.exported(deal).await;
    (super::text(&row["status"]), super::text(&row["stage_code"]))
}

#[track_caller]
fn accepted(answer: Answer) -> String {
    let body = answer.expect(202).json();
    assert_eq!(body.as_object().expect("an object").len(), 1, "{body}");
    super::text(&body["message"])
}

async fn each_field_changes_the_deal_and_is_shown(on: On) {
    let seat = Seat::new(on).await;
    let deal = seat.ana().await;
    accepted(seat.patch(deal, json!({"status": "lost"})).await);
    assert_eq!(seat.shown(deal).await["deal"]["status"], "lost");
    accepted(seat.patch(deal, json!({"stageCode": "negotiating"})).await);
    assert_eq!(seat.exported(deal).await["stage_code"], "negotiating");
    for (field, external_id, name) in [
        ("propertyExternalId", "AP-1", "Two rooms"),
        ("productExternalId", "AP-2", "Three rooms"),
    ] {
        accepted(seat.patch(deal, json!({field: external_id})).await);
        let view = seat.shown(deal).await;
        fields!(view, {"property.externalId": external_id, "property.name": name});
        let row = seat.exported(deal).await;
        assert_eq!(row["product_id"], view["property"]["id"]);
    }
    accepted(
        seat.patch(deal, json!({"ownerEmail": "RUI@Example.com"}))
            .await,
    );
    let view = seat.shown(deal).await;
    fields!(view, {"deal.ownerEmail": "rui@example.com", "deal.ownerName": "Rui Reis"});
    let row = seat.exported(deal).await;
    assert_eq!(row["owner_id"], view["deal"]["ownerId"]);
    let changes = seat.past(deal).await.history.len();
    for _ in 0..2 {
        accepted(seat.patch(deal, json!({"ownerEmail": null})).await);
        let free = seat.shown(deal).await;
        for field in ["ownerId", "ownerName", "ownerEmail"] {
            assert!(free["deal"][field].is_null(), "{free}");
        }
        assert!(seat.exported(deal).await["owner_id"].is_null());
    }
    let history = seat.past(deal).await.history;
    assert_eq!(history.len(), changes + 1);
    let change = &history[0].changes[0];
    assert_eq!(change.field, "owner_id");
    assert_eq!(
        (&change.before, &change.after),
        (&row["owner_id"], &Value::Null)
    );
    accepted(seat.patch(deal, json!({"stageCode": "negotiating"})).await);
    assert_eq!(seat.shown(deal).await["deal"]["stageCode"], "negotiating");
    let all = json!({"status": "won", "stageCode": "visit_completed",
        "propertyExternalId": "AP-1", "ownerEmail": "eva@example.com"});
    accepted(seat.patch(deal, all).await);
    let view = seat.shown(deal).await;
    fields!(view, {"deal.status": "won", "deal.ownerName": "Eva", "property.externalId": "AP-1"});
    assert_eq!(seat.exported(deal).await["stage_code"], "visit_completed");
    // Other fields are unchanged.
    fields!(view, {"person.name": "Ana", "deal.props.externalIntegrationId": "lead-Ana"});
}

async fn status_and_stage_follow_each_other(on: On) {
    let seat = Seat::new(on).await;
    let deal = seat.ana().await;
    // In sequence: each begins where the previous one ended.
    for (body, status, stage) in [
        (json!({"status": "won"}), "won", "closed_won"),
        (json!({"status": "open"}), "open", "in_service"),
        (json!({"stageCode": "closed_lost"}), "lost", "closed_lost"),
        (
            json!({"stageCode": "visit_scheduled"}),
            "open",
            "visit_scheduled",
        ),
        (json!({"status": "closed"}), "closed", "visit_scheduled"),
        (json!({"stageCode": "negotiating"}), "closed", "negotiating"),
        (
            json!({"status": "won", "stageCode": "negotiating"}),
            "won",
            "negotiating",
        ),
        (json!({"status": "open"}), "open", "negotiating"),
        (
            json!({"status": "closed", "stageCode": "closed_won"}),
            "closed",
            "closed_won",
        ),
        (json!({"status": "lost"}), "lost", "closed_lost"),
        (json!({"stageCode": "transferred"}), "open", "transferred"),
        (
            json!({"stageCode": "waiting_service"}),
            "open",
            "waiting_service",
        ),
    ] {
        accepted(seat.patch(deal, body.clone()).await);
        let expect = (status.to_owned(), stage.to_owned());
        assert_eq!(state(&seat, deal).await, expect, "{body}");
    }
    for (status, stage) in [
        ("won", "closed_lost"),
        ("lost", "closed_won"),
        ("open", "closed_won"),
        ("open", "closed_lost"),
    ] {
        let answer = seat
            .patch(deal, json!({"status": status, "stageCode": stage}))
            .await;
        let issues = issues(&answer);
        assert_eq!(issues.len(), 1);
        assert_eq!(issues[0]["code"], "invalid_enum_value");
        assert_eq!(issues[0]["path"], json!(["stageCode"]));
        assert_eq!(issues[0]["received"], stage);
        let options = issues[0]["options"].list();
        assert!(options.contains(&json!("negotiating")) && !options.contains(&json!(stage)));
    }
    assert_eq!(state(&seat, deal).await.1, "waiting_service");
}

async fn a_change_to_the_current_values_is_a_no_op(on: On) {
    let seat = Seat::new(on).await;
    let deal = seat.ana().await;
    let body =
        json!({"status": "won", "propertyExternalId": "AP-1", "ownerEmail": "rui@example.com"});
    let first = accepted(seat.patch(deal, body.clone()).await);
    let before = seat.exported(deal).await;
    seat.host.advance(60).await;
    let again = accepted(seat.patch(deal, body).await);
    assert_ne!(first, again);
    for same in [json!({"status": "won"}), json!({"stageCode": "closed_won"})] {
        assert_eq!(accepted(seat.patch(deal, same).await), again);
    }
    assert_eq!(seat.exported(deal).await, before);
    assert_eq!(seat.past(deal).await.history.len(), 1);
}

async fn each_mistake_is_an_issue_and_all_are_reported_at_once(on: On) {
    let seat = Seat::new(on).await;
    let deal = seat.ana().await;
    let before = seat.exported(deal).await;
    let check = async |body: Value, expect: &[(&str, &str)]| {
        let answer = seat.patch(deal, body.clone()).await;
        check_places(&answer, expect, body);
    };
    let wrong = async |field: &str, value: Value, code: &str| {
        check(json!({field: value}), &[(code, field)]).await;
    };
    for body in [json!([]), json!(null), json!("won"), json!(7), json!(true)] {
        check(body, &[("invalid_type", "")]).await;
    }
    // A misspelled field is one issue: no other field is missing.
    check(json!({"state": "won"}), &[("unrecognized_keys", "")]).await;
    check(json!({}), &[("invalid_union", "")]).await;
    for (field, code) in [
        ("status", "invalid_enum_value"),
        ("stageCode", "invalid_enum_value"),
        ("ownerEmail", "invalid_string"),
    ] {
        wrong(field, json!("something"), code).await;
        wrong(field, json!(""), code).await;
    }
    let fields = "status stageCode propertyExternalId productExternalId ownerEmail";
    for field in fields.split(' ') {
        for value in [json!(7), json!(true), json!(["won"]), json!({"a": "won"})] {
            wrong(field, value, "invalid_type").await;
        }
        // Null leaves a deal without an owner.
        if field != "ownerEmail" {
            wrong(field, json!(null), "invalid_type").await;
        }
    }
    for (field, length) in [("propertyExternalId", 513), ("ownerEmail", 255)] {
        wrong(field, json!("x".repeat(length)), "too_big").await;
        wrong(field, json!("a\0b"), "invalid_string").await;
    }
    wrong("propertyExternalId", json!(" "), "too_small").await;
    let both = json!({"propertyExternalId": "AP-1", "productExternalId": "AP-1"});
    check(both, &[("invalid_union", "")]).await;
    let all =
        json!({"status": "Won", "stageCode": 1, "ownerEmail": "rui", "title": "x", "price": 1});
    let expect = [
        ("unrecognized_keys", ""),
        ("invalid_enum_value", "status"),
        ("invalid_type", "stageCode"),
        ("invalid_string", "ownerEmail"),
    ];
    check(all, &expect).await;
    let extra = seat
        .patch(deal, json!({"status": "won", "title": "x", "price": 1}))
        .await;
    assert_eq!(
        issues(&extra),
        [
            json!({"code": "unrecognized_keys", "keys": ["price", "title"], "path": [],
            "message": "Unrecognized key(s) in object: 'price', 'title'"})
        ]
    );
    assert_eq!(seat.exported(deal).await, before);
}

async fn unknown_references_are_named(on: On) {
    let seat = Seat::new(on).await;
    let deal = seat.ana().await;
    let body = json!({"status": "won", "propertyExternalId": "AP-9"});
    let answer = refusal(&seat.patch(deal, body).await, 404);
    has!(answer, "Property 'AP-9' not found");
    let body = json!({"status": "won", "ownerEmail": "nobody@example.com"});
    let answer = refusal(&seat.patch(deal, body).await, 404);
    has!(answer, "Owner 'nobody@example.com' not found");
    // An external id matches exactly.
    for near in ["ap-1", "AP-", "AP-1%", "AP-11"] {
        refusal(
            &seat.patch(deal, json!({"propertyExternalId": near})).await,
            404,
        );
    }
    assert_eq!(seat.shown(deal).await["deal"]["status"], "open");
    for id in [NOBODY, "17", "%20", "abc", "..", &"9".repeat(2_000)] {
        let answer = refusal(&seat.patch(id, json!({"status": "won"})).await, 404);
        has!(answer, "Deal not found"; "{id}");
    }
}

async fn a_deal_of_another_partner_is_not_found(on: On) {
    let seat = Seat::new(on).await;
    let deal = seat.ana().await;
    let stranger = seat.host.workspace("stranger").await;
    let other = seat.other(KeyKind::Partner).await;
    let unknown = seat.patch(NOBODY, json!({"status": "won"})).await;
    for key in [&other, &stranger.partner_key] {
        let ask = seat.host.ask("PATCH", &format!("/deal/{deal}"));
        let answer = ask
            .partner(key)
            .json(&json!({"status": "won"}))
            .send()
            .await;
        assert_eq!(refusal(&answer, 404), refusal(&unknown, 404));
    }
    // Things of another workspace cannot be named either.
    let theirs = seat
        .host
        .lead(&stranger, "Bia", "21 99876-5432", "bia@example.com")
        .await;
    for body in [
        json!({"propertyExternalId": "AP-1"}),
        json!({"ownerEmail": "rui@example.com"}),
    ] {
        let ask = seat.host.ask("PATCH", &format!("/deal/{theirs}"));
        let answer = ask.partner(&stranger.partner_key).json(&body).send().await;
        refusal(&answer, 404);
    }
    assert_eq!(seat.shown(deal).await["deal"]["status"], "open");
}

async fn two_changes_at_the_same_time_are_both_made(on: On) {
    let seat = Seat::new(on).await;
    let deal = seat.ana().await;
    for _ in 0..5 {
        let (one, other) = tokio::join!(
            seat.patch(
                deal,
                json!({"status": "won", "ownerEmail": "rui@example.com"})
            ),
            seat.patch(
                deal,
                json!({"stageCode": "closed_lost", "propertyExternalId": "AP-1"})
            ),
        );
        accepted(one);
        accepted(other);
        let state = state(&seat, deal).await;
        let whole = [("won", "closed_won"), ("lost", "closed_lost")]
            .map(|(status, stage)| (status.to_owned(), stage.to_owned()));
        assert!(whole.contains(&state), "{state:?}");
        let view = seat.shown(deal).await;
        fields!(view, {"deal.ownerName": "Rui Reis", "property.externalId": "AP-1"});
        // The history leads from one state to the next without a gap.
        let history = seat.past(deal).await.history;
        let mut at = json!("open");
        for change in history.iter().rev() {
            let status = change.changes.iter().find(|one| one.field == "status");
            if let Some(status) = status {
                assert_eq!(status.before, at);
                at = status.after.clone();
            }
        }
        assert_eq!(at, state.0);
    }
}

async fn only_a_partner_key_changes_deals(on: On) {
    let seat = Seat::new(on).await;
    let deal = seat.ana().await;
    let ask = || {
        let ask = seat.host.ask("PATCH", &format!("/deal/{deal}"));
        ask.json(&json!({"status": "won"}))
    };
    for wrong in [
        ask(),
        ask().partner(&seat.seeded.access_token),
        ask().partner(&seat.seeded.workspace_key),
        ask().bearer(&seat.seeded.partner_key),
        ask().bearer(&seat.seeded.access_token),
    ] {
        refusal(&wrong.send().await, 401);
    }
    assert_eq!(seat.shown(deal).await["deal"]["status"], "open");
}
