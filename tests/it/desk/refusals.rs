//! Requests that the desk refuses, and the keys that it refuses.

use leadhost_tests::On;
use serde_json::{Value, json};

use super::{Desk, E164, text};

leadhost_tests::on_every_store! {
    only_an_access_token_opens_the_desk,
    an_empty_or_malformed_change_is_refused_with_issues,
    an_owner_that_the_workspace_does_not_have_is_named,
}

async fn one(desk: &Desk) -> Value {
    let deal = desk.lead("L-1", E164).await;
    desk.transfer(&deal).await;
    desk.ticket().await
}

async fn only_an_access_token_opens_the_desk(on: On) {
    let desk = Desk::new(on).await;
    let ticket = one(&desk).await;
    let path = format!("/tickets/{}", text(&ticket["id"]));
    let seeded = desk.host.workspace("other").await;
    let admin = desk.host.admin_key().await;
    for (method, target) in [("GET", "/tickets"), ("GET", &path), ("PATCH", &path)] {
        let ask = || {
            let ask = desk.host.ask(method, target);
            ask.json(&json!({"status": "answered"}))
        };
        let nothing = ask().send().await.expect(401);
        assert_eq!(nothing.header("www-authenticate"), "Bearer");
        assert_eq!(nothing.json()["statusCode"], 401);
        let partner = desk.declared.key("partner");
        for wrong in [
            ask().header("x-service-api-key", &partner),
            ask().header("authorization", &format!("Bearer {partner}")),
            ask().bearer(&seeded.workspace_key),
            ask().bearer(&admin),
            ask().header("x-service-api-key", desk.token.reveal()),
            ask().header("authorization", "Bearer at_typo"),
        ] {
            let answer = wrong.send().await.expect(401);
            assert_eq!(answer.body, nothing.body);
        }
    }
    assert_eq!(desk.get(&path).await, ticket);
}

async fn an_empty_or_malformed_change_is_refused_with_issues(on: On) {
    let desk = Desk::new(on).await;
    let ticket = one(&desk).await;
    for (body, code) in [
        (json!({}), "invalid_union"),
        (json!([]), "invalid_type"),
        (json!({"Status": "open"}), "unrecognized_keys"),
        (json!({"status": "open", "note": "x"}), "unrecognized_keys"),
        (json!({"status": "closed"}), "invalid_enum_value"),
        (json!({"status": null}), "invalid_type"),
        (json!({"ownerEmail": "nobody"}), "invalid_string"),
        (json!({"ownerEmail": 7}), "invalid_type"),
        (
            json!({"ownerEmail": "a\u{0}@example.com"}),
            "invalid_string",
        ),
    ] {
        let refused = desk.patch(&ticket, &body).await.expect(400).json();
        assert_eq!(refused["statusCode"], 400);
        let issues: Value = serde_json::from_str(&text(&refused["message"])).expect("issues");
        assert_eq!(issues[0]["code"], code, "{body}");
    }
    let path = format!("/tickets/{}", text(&ticket["id"]));
    let ask = || desk.ask("PATCH", &path);
    ask().body("{").send().await.expect(400);
    ask().body("").send().await.expect(400);
    let form = ask().header("content-type", "application/x-www-form-urlencoded");
    form.body("status=open").send().await.expect(415);
    let put = desk.ask("PUT", &path).send().await.expect(405);
    assert_eq!(put.header("allow"), "GET, HEAD, PATCH");
    assert_eq!(desk.ticket().await, ticket);
}

async fn an_owner_that_the_workspace_does_not_have_is_named(on: On) {
    let desk = Desk::new(on).await;
    let ticket = one(&desk).await;
    let body = json!({"status": "answered", "ownerEmail": "Rui@example.com"});
    let refused = desk.patch(&ticket, &body).await.expect(404).json();
    assert!(text(&refused["message"]).contains("'rui@example.com'"));
    assert_eq!(desk.ticket().await, ticket, "nothing has changed");
}
