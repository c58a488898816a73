//! A partner changes a deal: valid changes, their consequences, and the answers.

use leadhost_tests::{Answer, On, fields, has};
use serde_json::{Value, json};

use super::{NOBODY, Seat, issues, refusal};

leadhost_tests::on_every_store! {
    each_field_changes_the_deal_and_is_shown,
    a_change_to_the_current_values_is_a_no_op,
    each_mistake_is_an_issue_and_nothing_is_changed,
    unknown_references_are_named,
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
    fields!(seat.exported(deal).await, {"status": "lost", "stage_code": "closed_lost"});
    accepted(seat.patch(deal, json!({"stageCode": "negotiating"})).await);
    let row = seat.exported(deal).await;
    fields!(row, {"status": "open", "stage_code": "negotiating"});
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
    let expect = (&row["owner_id"], &Value::Null);
    assert_eq!((&change.before, &change.after), expect);
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

async fn each_mistake_is_an_issue_and_nothing_is_changed(on: On) {
    let seat = Seat::new(on).await;
    let deal = seat.ana().await;
    let before = seat.exported(deal).await;
    let extra = json!({"status": "won", "title": "x", "price": 1});
    let expect = json!({"code": "unrecognized_keys", "keys": ["price", "title"], "path": [],
        "message": "Unrecognized key(s) in object: 'price', 'title'"});
    assert_eq!(issues(&seat.patch(deal, extra).await), [expect]);
    let contradiction = json!({"status": "won", "stageCode": "closed_lost"});
    let issue = &issues(&seat.patch(deal, contradiction).await)[0];
    fields!(issue, {"code": "invalid_enum_value", "path": ["stageCode"], "received": "closed_lost"});
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
    for id in [NOBODY, "17", "abc", "..", &"9".repeat(2_000)] {
        let answer = refusal(&seat.patch(id, json!({"status": "won"})).await, 404);
        has!(answer, "Deal not found"; "{id}");
    }
}
