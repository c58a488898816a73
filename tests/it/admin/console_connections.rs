//! Connections, instances and conversations in the console.

use leadhost_tests::{Json, Log, On, fields, has, lacks};
use serde_json::{Value, json};

use super::console::Browser;
use super::{Operator, TOKEN};

leadhost_tests::on_every_store! {
    a_connection_shows_its_last_delivery_its_fields_and_the_age_of_its_secrets,
    an_instance_has_a_page_with_its_templates,
    a_new_connection_is_tried_and_then_saved,
    a_new_connection_keeps_what_its_trial_guessed_and_says_that_it_is_open,
    a_new_connection_gets_the_instance_that_is_chosen_and_a_warning_if_it_is_open,
    a_partner_that_is_new_is_asked_for_and_declared,
    a_lead_that_is_fetched_is_no_fault_of_the_body,
    a_new_connection_needs_an_admin_and_a_name_that_is_free,
    a_test_delivery_takes_the_way_of_every_delivery,
    a_conversation_is_read_in_its_order_and_its_contact_is_played,
}

async fn a_connection_shows_its_last_delivery_its_fields_and_the_age_of_its_secrets(on: On) {
    let (operator, report) = Operator::with_workspace(on).await;
    let browser = Browser::signed_in(&operator).await;
    let page = browser.page("/connections").await;
    has!(page, "<dt>Last delivery</dt><dd>none", "not known yet");
    operator.lead(&report, TOKEN, "1").await.expect(200);
    let page = browser.page("/connections").await;
    has!(page, "<dt>Last delivery</dt><dd><time");
    let secret = "<span class=\"mono\">token</span> <span class=\"quiet\">set <time";
    has!(page, secret);
    lacks!(page, TOKEN);
    // Its own page shows the same, and the last body for a test delivery.
    let id = report["connections"]["form"].text();
    let page = browser.page(&format!("/connections/{id}")).await;
    has!(page, "<dt>Last delivery</dt><dd><time");
    has!(page, "<dt>Leads with</dt>", "Pause its fetches");
    has!(page, "The body is the last delivery's");
    // Another configuration is tried on it, too.
    assert_eq!(page.matches("Ada Prado").count(), 2, "{page}");
}

async fn an_instance_has_a_page_with_its_templates(on: On) {
    let (operator, _) = Operator::with_workspace(on).await;
    operator.activate("adapter-sandbox").await;
    let mut file = super::workspace();
    file["instances"] = json!([
        {"name": "bot", "number": "+5511900000000", "adapter": "sandbox", "config": {"templates": [
            {"name": "welcome", "language": "pt_BR", "text": "Bem-vindo", "status": "paused"},
        ]}},
        {"name": "desk"},
    ]);
    operator.apply(&file).await.expect(200);
    let browser = Browser::signed_in(&operator).await;
    browser.follow("/instances/bot/sync-templates", &[]).await;
    let shown = operator.get("/instances/bot").await;
    let template = &shown["templates"]["list"][0];
    let page = browser.page("/instances/bot").await;
    for part in ["name", "language", "status", "text"] {
        let text = template[part].as_str().expect(part);
        has!(page, text; "{part}");
    }
    has!(browser.page("/instances/desk").await, "It has no adapter");
}

const NEW: [(&str, &str); 6] = [
    ("workspace", "acme"),
    ("partner", "crm"),
    ("name", "landing"),
    ("plugin", "mapping"),
    ("field-name", "pessoa"),
    (
        "body",
        r#"{"id": "7", "pessoa": "Ada Prado", "phone": "11 98765-4321", "outro": "x@example.com"}"#,
    ),
];

async fn a_new_connection_is_tried_and_then_saved(on: On) {
    let (operator, _) = Operator::with_workspace(on).await;
    let browser = Browser::signed_in(&operator).await;
    let page = browser.answer("/connections/new/try", &NEW, 200).await;
    has!(page, "<td>configured</td>", "<td>guessed</td>", "Ada Prado");
    let list = operator.get("/connections").await;
    assert_eq!(list["connections"].list().len(), 1);

    let wrong: Vec<_> = NEW.into_iter().chain([("config", "[1]")]).collect();
    let refused = browser.submit("/connections/new/try", &wrong).await;
    has!(refused.expect(400), "not a JSON object");

    let from_file = NEW.into_iter().chain([("secrets", "key=env:KEY")]);
    let from_file: Vec<_> = from_file.collect();
    let refused = browser.submit("/connections/new", &from_file).await;
    has!(refused.expect(400), "only `leadhost apply`"; "a variable");

    // A fault is named below its field.
    let without_partner: Vec<_> = NEW
        .into_iter()
        .map(|(field, value)| match field {
            "partner" => (field, ""),
            _ => (field, value),
        })
        .collect();
    let page = browser.answer("/connections/new", &without_partner, 422);
    let page = page.await;
    has!(page, "aria-invalid=\"true\"", "id=\"partner-fault\"");
    lacks!(page, "connections[0]");

    let more = r#"{"checks": [{"secret": "key", "scheme": "equals", "proof": {"place": "header", "name": "x-key"}}]}"#;
    let fields: Vec<_> = NEW
        .into_iter()
        .chain([("secrets", "key=generate:"), ("more", more)])
        .collect();
    let log = Log::capture();
    let page = browser.answer("/connections/new", &fields, 200).await;
    lacks!(log.take(), "applied with a warning");
    has!(page, "[[connections]]", "<dt>Secret key</dt>");
    lacks!(page, "is not in this file");
    let list = operator.get("/connections").await;
    let landing = &list["connections"][1];
    assert_eq!(landing["name"], "landing");
    assert_eq!(landing["config"], json!({"fields": {"name": "pessoa"}}));
    assert_eq!(landing["secrets"], json!(["key"]));
    let audit = operator.get("/audit?act=apply").await;
    assert_eq!(audit["rows"][0]["outcome"], "done");

    // The workspace file does not know it: it stays, and the apply says so.
    let report = operator.apply(&super::workspace()).await.expect(200).json();
    let warnings = report["warnings"].to_string();
    has!(warnings, "connection `landing` is not in this file");
    let list = operator.get("/connections").await;
    assert_eq!(list["connections"].list().len(), 2);
}

/// Returns the JSON in the field of the configuration.
fn typed_config(page: &str) -> Option<Value> {
    let (_, field) = page.split_once("<textarea id=\"config\"")?;
    let (_, field) = field.split_once('>')?;
    let (text, _) = field.split_once("</textarea>")?;
    serde_json::from_str(&text.replace("&#34;", "\"")).ok()
}

async fn a_new_connection_keeps_what_its_trial_guessed_and_says_that_it_is_open(on: On) {
    let (operator, _) = Operator::with_workspace(on).await;
    let browser = Browser::signed_in(&operator).await;
    let open = "until a sender check and its secret are set";
    let page = browser.page("/connections/new").await;
    has!(page, open);
    let converters = "<option value=\"\">choose a converter</option><option>mapping</option>";
    has!(page, converters);
    let body = r#"{"id": "7", "first_name": "Ada", "last_name": "Prado", "telefone": "11 98765-4321", "celular": "11 98765-4322", "codigo_imovel": "AP1"}"#;
    let mut fields = NEW.to_vec();
    fields.retain(|(field, _)| *field != "field-name");
    for (field, value) in &mut fields {
        match *field {
            "plugin" => *value = "",
            "body" => *value = body,
            _ => {}
        }
    }
    for path in ["/connections/new/try", "/connections/new"] {
        let refused = browser.submit(path, &fields).await.expect(400);
        has!(refused, "id=\"plugin-fault\"><li>Choose a converter.");
        has!(refused, "value=\"landing\"");
    }
    let list = operator.get("/connections").await;
    assert_eq!(list["connections"].list().len(), 1);

    fields[3].1 = "mapping";
    let page = browser.answer("/connections/new/try", &fields, 200).await;
    has!(page, "<td>guessed</td>");
    has!(page, "are written into the configuration");
    let guessed = typed_config(&page).expect("a configuration");
    let expect = json!({"fields": {
        "externalId": "id",
        "name": {"join": ["first_name", "last_name"]},
        "phones": ["celular", "telefone"],
        "listings": "codigo_imovel",
    }});
    assert_eq!(guessed, expect);
    // What a person has written stays.
    let own = [
        &fields[..],
        &[("config", r#"{"fields": {"name": "first_name"}}"#)],
    ]
    .concat();
    let page = browser.answer("/connections/new/try", &own, 200).await;
    let kept = typed_config(&page).expect("a configuration");
    assert_eq!(kept, json!({"fields": {"name": "first_name"}}));
    lacks!(page, "are written into");

    let config = guessed.to_string();
    let saved = [&fields[..], &[("config", config.as_str())]].concat();
    let page = browser.answer("/connections/new", &saved, 200).await;
    has!(page, open, "[connections.config.fields]", "externalId = ");
    let list = operator.get("/connections").await;
    let landing = &list["connections"][1];
    assert_eq!(landing["config"], expect);
    let id = landing["id"].text();
    for path in ["/connections".to_owned(), format!("/connections/{id}")] {
        let page = browser.page(&path).await;
        let said =
            "<dt>Senders</dt><dd><span class=\"tag warn\">anybody</span> who knows the address";
        assert_eq!(page.matches(said).count(), 1, "{path}: {page}");
    }
}

async fn a_new_connection_gets_the_instance_that_is_chosen_and_a_warning_if_it_is_open(on: On) {
    let (operator, _) = Operator::with_workspace(on).await;
    let mut file = super::workspace();
    file["instances"] = json!([
        {"name": "bot", "number": "+5511900000000"},
        {"name": "zapbot", "number": "+5511900000001", "kind": "human", "internal": true},
    ]);
    operator.apply(&file).await.expect(200);
    let before = operator.get("/instances").await;
    let zapbot = before["instances"].list();
    let zapbot = zapbot.iter().find(|one| one["name"] == "zapbot");
    let zapbot = zapbot.expect("the instance")["id"].clone();
    let browser = Browser::signed_in(&operator).await;
    let page = browser.page("/connections/new").await;
    has!(page, "<option>acme/zapbot</option>");
    let chosen = |instance| -> Vec<_> { NEW.into_iter().chain([("instance", instance)]).collect() };
    let page = browser
        .answer("/connections/new", &chosen("other/zapbot"), 400)
        .await;
    has!(page, "does not belong to the workspace");
    let page = browser
        .answer("/connections/new", &chosen("acme/zapbot"), 200)
        .await;
    has!(page, "Anybody who knows the address", "instance = ");
    let list = operator.get("/connections").await;
    fields!(list, {"connections.1.name": "landing", "connections.1.instanceId": zapbot});
    // Nothing of the instances is changed.
    assert_eq!(operator.get("/instances").await, before);
}

async fn a_partner_that_is_new_is_asked_for_and_declared(on: On) {
    let (operator, _) = Operator::with_workspace(on).await;
    let browser = Browser::signed_in(&operator).await;
    let mut fields = NEW.to_vec();
    fields[1] = ("partner", "imobcrm");
    for confirmed in ["", "imobcrn"] {
        let fields = [&fields[..], &[("new-partner", confirmed)]].concat();
        let page = browser.answer("/connections/new", &fields, 200).await;
        has!(
            page,
            "Nothing is saved yet: the workspace acme has no partner imobcrm",
            "name=\"new-partner\" value=\"imobcrm\"",
            "Save the connection and make the partner imobcrm",
            "value=\"landing\""
        );
    }
    let list = operator.get("/connections").await;
    assert_eq!(list["connections"].list().len(), 1);

    let confirmed = [&fields[..], &[("new-partner", "imobcrm")]].concat();
    let page = browser.answer("/connections/new", &confirmed, 200).await;
    has!(page, "[[connections]]", "[[partners]]");
    let list = operator.get("/connections").await;
    assert_eq!(list["connections"][1]["partner"], "imobcrm");
    // The next one finds it.
    fields[2] = ("name", "landing-2");
    let page = browser.answer("/connections/new", &fields, 200).await;
    has!(page, "[[connections]]");
    lacks!(page, "[[partners]]");
}

async fn a_lead_that_is_fetched_is_no_fault_of_the_body(on: On) {
    let (operator, _) = Operator::with_workspace(on).await;
    operator.activate("converter-meta-lead-ads").await;
    let body = json!({"object": "page", "entry": [{"id": "100200300400501", "time": 1772452800, "changes": [{
        "field": "leadgen",
        "value": {
            "leadgen_id": "700100200300402", "page_id": "100200300400501",
            "form_id": "500600700800901", "created_time": 1772452799,
        },
    }]}]});
    let body = body.to_string();
    let browser = Browser::signed_in(&operator).await;
    let fields = [("plugin", "meta-lead-ads"), ("body", body.as_str())];
    let page = browser.answer("/connections/new/try", &fields, 200).await;
    let part = "the lead 700100200300402 is fetched from its source: GET graph.facebook.com/";
    has!(page, part);
    lacks!(page, "is not a lead", "slot");
}

async fn a_new_connection_needs_an_admin_and_a_name_that_is_free(on: On) {
    let (operator, _) = Operator::with_workspace(on).await;
    let browser = Browser::with_role(&operator, "operator").await;
    browser
        .submit("/connections/new/try", &NEW)
        .await
        .expect(200);
    let page = browser.page("/connections/new").await;
    has!(page, "Saving needs the role admin.");
    let refused = browser.submit("/connections/new", &NEW).await.expect(403);
    has!(refused, "needs the role admin");
    let browser = Browser::signed_in(&operator).await;
    let mut taken = NEW;
    taken[2] = ("name", "form");
    let refused = browser.submit("/connections/new", &taken).await.expect(409);
    has!(refused, "There is a connection");
    let list = operator.get("/connections").await;
    assert_eq!(list["connections"].list().len(), 1);
    assert_ne!(list["connections"][0]["config"]["fields"]["name"], "pessoa");
}

async fn a_test_delivery_takes_the_way_of_every_delivery(on: On) {
    let (operator, report) = Operator::with_workspace(on).await;
    let id = report["connections"]["form"].text();
    let browser = Browser::signed_in(&operator).await;
    let path = format!("/connections/{id}/test");
    let body = r#"{"id": "t1", "name": "Rita Moura", "phone": "11 91234-5678"}"#;
    // The connection checks its senders, and an operator has no proof to give.
    let page = browser.submit(&path, &[("body", body)]).await.expect(200);
    let page = page.text();
    has!(page, "<span class=\"tag converted\">");
    let audit = operator.get("/audit?act=test-connection").await;
    let row = &audit["rows"][0];
    fields!(row, {"outcome": "done", "target": id});
    let list = operator.get("/deliveries").await;
    let delivery = list["deliveries"][0]["id"].text();
    has!(row["detail"], delivery);
    has!(page, &format!("/console/deliveries/{delivery}"));
    // A sender without the proof is refused as before.
    operator.lead(&report, "wrong", "t2").await.expect(401);

    let viewer = Browser::with_role(&operator, "viewer").await;
    let page = viewer.follow(&path, &[("body", body)]).await;
    has!(page, "needs the role operator");
    let refused = browser.submit(&path, &[("body", "[")]).await.expect(200);
    has!(refused, "400: ");
}

async fn a_conversation_is_read_in_its_order_and_its_contact_is_played(on: On) {
    let (operator, _) = Operator::with_workspace(on).await;
    operator.activate("adapter-sandbox").await;
    let mut file = super::workspace();
    file["instances"] = json!([{"name": "bot", "number": "+5511900000000", "adapter": "sandbox"}]);
    operator.apply(&file).await.expect(200);
    let browser = Browser::signed_in(&operator).await;
    let fields = [
        ("to", "11 98765-4321"),
        ("text", "Bom dia"),
        ("instance", "bot"),
    ];
    browser.follow("/messages/reply", &fields).await;
    let messages = operator.get("/outbox").await;
    let message = &messages["messages"][0];
    let id = message["id"].text();
    let conversation = message["conversationId"].text();
    operator.host.advance(1).await;
    let page = browser
        .follow("/messages/reply", &[("to", id), ("text", "Pode ser?")])
        .await;
    let first = page.find("Bom dia").expect("the first message");
    let second = page.find("Pode ser?").expect("the second message");
    assert!(first < second, "{page}");
    has!(page, "<h1>Conversation with");
    let listed = operator
        .get(&format!("/outbox?conversation={conversation}"))
        .await;
    assert_eq!(listed["messages"].list().len(), 2);
    // Its form names it: an answer leads back to it, and so does one that is refused.
    let named = format!("name=\"conversation\" value=\"{conversation}\"");
    has!(page, &named);
    let other = "0199c0de-0000-7000-8000-000000000002";
    let fields = [
        ("to", other),
        ("text", "Oi"),
        ("conversation", conversation),
    ];
    let page = browser.follow("/messages/reply", &fields).await;
    has!(page, "<h1>Conversation with", "notice bad");
    for (contact, count) in [
        ("11%2098765-4321", 2),
        ("11%2098765-4322", 0),
        ("nobody%40example.com", 0),
        (message["contactId"].text(), 2),
    ] {
        let of = operator.get(&format!("/outbox?contact={contact}")).await;
        assert_eq!(of["messages"].list().len(), count);
        let page = browser.page(&format!("/messages?contact={contact}")).await;
        assert_eq!(page.contains("Pode ser?"), count > 0, "{contact}: {page}");
    }
    let other = "0199c0de-0000-7000-8000-000000000001";
    let none = operator.get(&format!("/outbox?conversation={other}")).await;
    assert_eq!(none["messages"], json!([]));
    let answer = browser.get(&format!("/conversations/{other}")).await;
    assert_eq!(answer.status, 404);
    let fields = [
        ("to", "11 98765-4321"),
        ("text", "Até já"),
        ("instance", "bot"),
        ("conversation", conversation),
    ];
    let page = browser.follow("/messages/reply", &fields).await;
    has!(page, "<h1>Conversation with", "Até já");
}
