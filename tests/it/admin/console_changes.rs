//! Changes that an operator makes in the console instead of in a shell: secrets and configurations. And
//! comparisons, and the settings of the service.

use leadhost_tests::guests::rust_component;
use leadhost_tests::{Json, On, fields, has, lacks};
use serde_json::{Value, json};

use super::console::Browser;
use super::{Operator, TOKEN, workspace};

leadhost_tests::on_every_store! {
    a_secret_is_set_and_everything_else_stays,
    a_secret_is_generated_and_shown_once,
    a_configuration_is_tried_and_then_changed,
    two_operators_do_not_overwrite_each_other,
    an_instance_gets_a_secret_or_a_configuration_and_keeps_the_rest,
    a_paused_instance_is_resumed_after_its_change,
    a_change_needs_the_role_admin,
    the_service_page_has_the_host_the_disk_and_the_configuration,
    a_viewer_compares_a_version,
    the_service_page_says_since_when_refused_requests_are_counted,
}

/// A workspace whose source has much that a change must keep.
fn full_workspace() -> Value {
    let check = |secret: &str, header: &str| json!({"secret": secret, "scheme": "equals", "proof": {"place": "header", "name": header}});
    let mut file = workspace();
    let form = &mut file["connections"][0];
    form["secrets"] = json!({"token": TOKEN, "other": OTHER});
    form["checks"] = json!([check("token", "x-token"), check("other", "x-other")]);
    form["allow"] = json!(["https://api.example.com"]);
    form["origins"] = json!(["https://www.example.com"]);
    form["dedupe_by_content"] = json!(false);
    form["region"] = json!("PT");
    file
}

async fn full(on: On) -> (Operator, String) {
    let (operator, _) = Operator::with_workspace(on).await;
    let report = operator.apply(&full_workspace()).await.expect(200).json();
    let id = report["connections"]["form"].text();
    let id = id.to_owned();
    operator
        .posted(
            "/connections/form/pause",
            &json!({"reason": "they move"}),
            200,
        )
        .await;
    (operator, id)
}

async fn form_of(operator: &Operator) -> Value {
    operator.get("/connections").await["connections"][0].clone()
}

fn version(connection: &Value) -> String {
    connection["configVersion"].to_string()
}

/// Returns a connection without what a change of a secret changes.
fn rest(mut connection: Value) -> Value {
    for name in "configVersion secretsSetAt lastDeliveryAt leadFields".split(' ') {
        connection[name] = Value::Null;
    }
    connection
}

/// Sends a lead with both proofs that the source asks for. Returns the status.
async fn lead(operator: &Operator, connection: &str, token: &str, other: &str) -> u16 {
    let ask = operator.host.post(&format!("/ingest-lead/{connection}"));
    let lead = json!({"id": "1", "name": "Ada Prado", "phone": "+55 11 98765-4321"});
    let ask = ask.header("x-token", token).header("x-other", other);
    ask.json(&lead).send().await.status
}

/// The secret that no test changes.
const OTHER: &str = "another-secret";

async fn a_secret_is_set_and_everything_else_stays(on: On) {
    let (operator, id) = full(on).await;
    let before = form_of(&operator).await;
    let browser = Browser::signed_in(&operator).await;
    let page = browser.page(&format!("/connections/{id}")).await;
    has!(page, "Set the secret", "<option value=\"token\">");
    let to = format!("/connections/{id}/secret");
    let at = version(&before);
    let fields = [
        ("version", at.as_str()),
        ("secret", "token"),
        ("value", "the-new-one"),
    ];
    // The age of the secret is the age of its value.
    operator.host.advance(60).await;
    let answer = browser.submit(&to, &fields).await.expect(200);
    let page = answer.text();
    has!(
        page,
        "acme/form is changed",
        "form is still paused: its fetches wait.",
        &format!("action=\"/console/connections/{id}/resume\""),
        "env:TOKEN"
    );
    lacks!(page, "the-new-one");
    assert_eq!(lead(&operator, &id, "the-new-one", OTHER).await, 200);
    assert_eq!(lead(&operator, &id, TOKEN, OTHER).await, 401);
    assert_eq!(lead(&operator, &id, "the-new-one", "wrong").await, 401);
    let after = form_of(&operator).await;
    fields!(after, {"configVersion": before["configVersion"].as_i64().unwrap() + 1});
    let set = |one: &Value, name: &str| one["secretsSetAt"][name].clone();
    assert_eq!(set(&after, "other"), set(&before, "other"));
    assert_ne!(set(&after, "token"), set(&before, "token"));
    assert_eq!(rest(after), rest(before));
    let audit = operator.get("/audit?act=change-connection").await;
    let row = &audit["rows"][0];
    assert_eq!(row["outcome"], "done");
    let detail: Value = serde_json::from_str(row["detail"].text()).unwrap();
    fields!(detail, {"secrets": ["token"], "fields": ["secrets"]});
    lacks!(audit.to_string(), "the-new-one");

    // A name that nothing uses, no value, and a value that it has already.
    let at = version(&form_of(&operator).await);
    let wrong = [("version", at.as_str()), ("secret", "tokn"), ("value", "x")];
    let answer = browser.submit(&to, &wrong).await.expect(422);
    let part = "secrets.tokn: neither the plugin nor one of `checks` uses this secret";
    has!(answer, part);
    let empty = [("version", at.as_str()), ("secret", "token"), ("value", "")];
    let answer = browser.submit(&to, &empty).await.expect(422);
    has!(answer, "secrets.token: has no value");
    let nameless = [("version", at.as_str()), ("secret", " "), ("value", "x")];
    has!(
        browser.submit(&to, &nameless).await.expect(400),
        "Its name is missing"
    );
    let same = [
        ("version", at.as_str()),
        ("secret", "token"),
        ("value", "the-new-one"),
    ];
    has!(browser.submit(&to, &same).await.expect(200), "is as it was");
    assert_eq!(version(&form_of(&operator).await), at);

    // The file is as it was: its next apply sets the former secret again.
    operator.apply(&full_workspace()).await.expect(200);
    assert_eq!(lead(&operator, &id, TOKEN, OTHER).await, 200);
}

async fn a_secret_is_generated_and_shown_once(on: On) {
    let (operator, id) = full(on).await;
    let browser = Browser::signed_in(&operator).await;
    let at = version(&form_of(&operator).await);
    let fields = [
        ("version", at.as_str()),
        ("secret", "token"),
        ("generate", "1"),
    ];
    let to = format!("/connections/{id}/secret");
    let answer = browser.submit(&to, &fields).await.expect(200);
    let (_, shown) = answer
        .text()
        .split_once("<dt>Secret token</dt><dd class=\"mono\">")
        .expect("the secret");
    let secret = shown.split_once('<').expect("its end").0.to_owned();
    assert!(secret.len() >= 32, "{secret}");
    has!(answer, "generate:");
    assert_eq!(lead(&operator, &id, &secret, OTHER).await, 200);
    lacks!(browser.page(&format!("/connections/{id}")).await, &secret);
}

async fn a_configuration_is_tried_and_then_changed(on: On) {
    let (operator, id) = full(on).await;
    let before = form_of(&operator).await;
    let at = version(&before);
    let browser = Browser::signed_in(&operator).await;
    let config = r#"{"fields": {"name": "pessoa"}}"#;
    let body = r#"{"pessoa": "Ada Prado", "phone": "11 98765-4321"}"#;
    let fields = [("version", at.as_str()), ("config", config), ("body", body)];
    let page = browser
        .answer(&format!("/connections/{id}/try"), &fields, 200)
        .await;
    has!(page, "<td>configured</td>", "&#34;pessoa&#34;");
    assert_eq!(form_of(&operator).await["config"], before["config"]);

    let to = format!("/connections/{id}/config");
    for (wrong, status, part) in [
        ("[1]", 400, "not a JSON object"),
        (r#"{"fields": {"name": 7}}"#, 422, "config.fields"),
    ] {
        let fields = [("version", at.as_str()), ("config", wrong)];
        let answer = browser.submit(&to, &fields).await.expect(status);
        has!(answer, part, "Nothing was changed");
    }
    let fields = [("version", at.as_str()), ("config", config)];
    let answer = browser.submit(&to, &fields).await.expect(200);
    has!(answer, "[[connections]]", "pessoa");
    let mut after = form_of(&operator).await;
    assert_eq!(after["config"], json!({"fields": {"name": "pessoa"}}));
    assert_eq!(after["secretsSetAt"], before["secretsSetAt"]);
    after["config"] = before["config"].clone();
    assert_eq!(rest(after), rest(before));
    assert_eq!(lead(&operator, &id, TOKEN, OTHER).await, 200);
}

async fn two_operators_do_not_overwrite_each_other(on: On) {
    let (operator, id) = full(on).await;
    let at = version(&form_of(&operator).await);
    let first = Browser::signed_in(&operator).await;
    let second = Browser::signed_in(&operator).await;
    let to = format!("/connections/{id}/config");
    let config = r#"{"fields": {"name": "nome"}}"#;
    let fields = [("version", at.as_str()), ("config", config)];
    first.submit(&to, &fields).await.expect(200);
    let other = r#"{"fields": {"name": "pessoa"}}"#;
    let fields = [("version", at.as_str()), ("config", other)];
    let answer = second.submit(&to, &fields).await.expect(409);
    let page = answer.text();
    has!(page, "was changed since you read it", "changed it at");
    has!(page, "(config)");
    has!(page, "pessoa"; "what was typed stays");
    let shown = form_of(&operator).await;
    assert_eq!(shown["config"]["fields"]["name"], "nome");

    // At the same moment, one of them is refused.
    let at = shown["configVersion"].clone();
    let change = |name: &str| {
        let body = json!({"version": at, "config": {"fields": {"name": name}}});
        operator
            .ask("PATCH", "/connections/form")
            .json(&body)
            .send()
    };
    let (one, two) = tokio::join!(change("a"), change("b"));
    let mut both = [one.status, two.status];
    both.sort_unstable();
    assert_eq!(both, [200, 409], "{} {}", one.text(), two.text());
}

async fn an_instance_gets_a_secret_or_a_configuration_and_keeps_the_rest(on: On) {
    let (operator, _) = Operator::with_workspace(on).await;
    operator.activate("adapter-sandbox").await;
    let mut file = workspace();
    let template = json!({"name": "welcome", "language": "pt_BR", "text": "Bem-vindo"});
    file["instances"] = json!([{
        "name": "bot", "number": "+5511900000000", "adapter": "sandbox",
        "config": {"templates": [template]},
        "unanswered_after": "2h", "keep_for": "3h", "language": "pt_PT",
    }, {"name": "desk"}]);
    operator.apply(&file).await.expect(200);
    operator
        .posted("/instances/bot/pause", &json!({"reason": "they move"}), 200)
        .await;
    let before = operator.get("/instances/bot").await;
    let id = before["id"].to_string();
    let browser = Browser::signed_in(&operator).await;
    let page = browser.page(&format!("/instances/{id}")).await;
    has!(page, "Set the secret", "Save the configuration");
    has!(page, "Configuration 1, in force");
    let config = r#"{"templates": [{"name": "other", "language": "pt_BR", "text": "Olá"}]}"#;
    let fields = [("version", "1"), ("config", config)];
    let to = format!("/instances/{id}/config");
    let answer = browser.submit(&to, &fields).await.expect(200);
    has!(answer, "[[instances]]");
    let mut after = operator.get("/instances/bot").await;
    fields!(after, {"config.templates.0.name": "other", "configVersion": 2});
    after["config"] = before["config"].clone();
    after["configVersion"] = before["configVersion"].clone();
    assert_eq!(after, before);
    let answer = browser.submit(&to, &fields).await.expect(409);
    has!(answer, "its configuration has version 2 now");

    let fields = [("version", "2"), ("secret", "nothing"), ("value", "x")];
    let to = format!("/instances/{id}/secret");
    let answer = browser.submit(&to, &fields).await.expect(422);
    has!(answer, "secrets.nothing");
    let ask = operator.ask("PATCH", "/instances/desk");
    let refused = ask.json(&json!({"config": {}})).send().await.expect(409);
    has!(refused, "has no adapter");
}

async fn a_paused_instance_is_resumed_after_its_change(on: On) {
    let (operator, _) = Operator::with_workspace(on).await;
    operator.activate("adapter-sandbox").await;
    let mut file = workspace();
    file["instances"] = json!([{
        "name": "bot", "number": "+5511900000000", "adapter": "sandbox", "config": {"templates": []},
    }]);
    operator.apply(&file).await.expect(200);
    let pause = json!({"reason": "they move"});
    operator.posted("/instances/bot/pause", &pause, 200).await;
    let id = operator.get("/instances/bot").await["id"].to_string();
    let browser = Browser::signed_in(&operator).await;
    let to = format!("/instances/{id}/config");
    let template = r#"{"templates": [{"name": "other", "language": "pt_BR", "text": "Olá"}]}"#;
    let fields = [("version", "1"), ("config", template)];
    let changed = browser.submit(&to, &fields).await.expect(200);
    let resume = format!("/instances/{id}/resume");
    has!(changed, "bot is still paused: its messages wait.");
    has!(changed, &format!("action=\"/console{resume}\""));
    let page = browser.follow(&resume, &[]).await;
    has!(page, "The instance is resumed.");
    let shown = operator.get("/instances/bot").await;
    assert_eq!(shown["paused"], Value::Null, "{shown}");
    // Its next change has nothing to say of a pause.
    let fields = [("version", "2"), ("config", r#"{"templates": []}"#)];
    let changed = browser.submit(&to, &fields).await.expect(200);
    lacks!(changed, "still paused");
}

async fn a_change_needs_the_role_admin(on: On) {
    let (operator, id) = full(on).await;
    let at = version(&form_of(&operator).await);
    for role in ["viewer", "operator"] {
        let browser = Browser::with_role(&operator, role).await;
        let page = browser.page(&format!("/connections/{id}")).await;
        lacks!(page, "Set the secret", "Save the configuration");
        assert_eq!(page.contains("Try it"), role == "operator", "{page}");
        for (form, more) in [
            ("secret", ("secret", "token")),
            ("config", ("config", "{}")),
        ] {
            let fields = [("version", at.as_str()), ("value", "x"), more];
            let to = format!("/connections/{id}/{form}");
            let answer = browser.submit(&to, &fields).await.expect(403);
            has!(answer, "needs the role admin");
        }
    }
    assert_eq!(version(&form_of(&operator).await), at);
}

async fn the_service_page_has_the_host_the_disk_and_the_configuration(on: On) {
    let (operator, _) = Operator::with_workspace(on).await;
    let status = operator.get("/status").await;
    let hosts = status["hosts"].list();
    let is_so = hosts.iter().any(|host| host["id"] == status["host"]["id"]);
    assert!(is_so, "{status}");
    assert!(
        status["disk"]["freeBytes"]
            .as_u64()
            .is_some_and(|free| free > 0)
    );
    let browser = Browser::with_role(&operator, "viewer").await;
    let page = browser.page("/service").await;
    has!(page, "<span class=\"tag live\">live</span>");
    has!(page, "Free disk space", "Configuration in force");
    has!(page, "server.partner_rate", "store.data_dir");
    lacks!(page, "password");
    let page = browser.page("").await;
    has!(
        page,
        "<a href=\"/console/service\"><strong>1</strong> host live</a>",
        "<a href=\"/console/deliveries?status=failed\"><strong>0</strong> failed</a>"
    );
}

async fn a_viewer_compares_a_version(on: On) {
    let (operator, report) = Operator::with_workspace(on).await;
    operator.lead(&report, TOKEN, "1").await.expect(200);
    // The same converter without its golden cases is another version.
    let wasm = rust_component("converter-mapping");
    let stored = operator.ask("POST", "/plugins").body(wasm).send().await;
    let stored = stored.expect(201).json();
    let digest = stored["digest"].text();
    let browser = Browser::with_role(&operator, "viewer").await;
    let fields = [("digest", digest)];
    let page = browser.answer("/plugins/mapping/verify", &fields, 200);
    let page = page.await;
    has!(page, "compared on stored deliveries");
    let said =
        "An activation would not be refused because of this comparison, but because of the above.";
    has!(page, said);
    let page = browser.answer("/plugins/mapping/impact", &fields, 200);
    let page = page.await;
    has!(page, "on the leads that it converted");
    lacks!(page, "/activate\"", "/rollout\"", "/rollback\"");
}

async fn the_service_page_says_since_when_refused_requests_are_counted(on: On) {
    let operator = Operator::new(on).await;
    let browser = Browser::signed_in(&operator).await;
    let page = browser.page("/service").await;
    let text = "none within the last hour; this host counts in memory, since its start <time";
    has!(page, text);
}
