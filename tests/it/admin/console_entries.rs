//! Declarations in the console instead of in a workspace file: the entry of a saved connection,
//! its retirement, and a partner without a connection.

use leadhost_tests::{Answer, Host, Json, On, Options, fields, has, lacks};
use serde_json::{Value, json};

use super::console::Browser;
use super::{Operator, TOKEN, workspace};

leadhost_tests::on_every_store! {
    the_entry_of_a_connection_is_shown_and_saved_as_it_is,
    an_entry_is_changed_and_its_secrets_stay,
    a_problem_is_shown_at_its_field_and_the_typed_text_stays,
    an_entry_that_was_changed_meanwhile_is_not_overwritten,
    an_entry_with_a_new_partner_is_asked_for,
    a_retired_connection_accepts_nothing_until_it_is_brought_back,
    an_entry_and_a_retirement_need_the_role_admin,
    a_partner_is_declared_without_a_connection,
    a_wrong_secret_is_mended_from_the_first_page,
    a_paused_connection_gets_a_secret_and_is_resumed,
    an_address_is_whole_if_the_service_knows_its_own,
}

async fn form_of(operator: &Operator) -> Value {
    operator.get("/connections").await["connections"][0].clone()
}

fn id_of(report: &Value) -> String {
    report["connections"]["form"].text().to_owned()
}

/// A workspace whose source has a value for each field of the form.
fn full_workspace() -> Value {
    let mut file = workspace();
    let form = &mut file["connections"][0];
    form["secrets"] = json!({"token": TOKEN, "other": "another-secret"});
    let check = json!({"secret": "other", "scheme": "hmac-sha256", "proof": {"place": "header", "name": "x-sign"},
        "encoding": "base64", "timestamp_header": "x-time", "tolerance_seconds": 300});
    form["checks"].as_array_mut().expect("a list").push(check);
    form["config"] = json!({"fields": {"name": "pessoa"}});
    form["allow"] = json!(["https://api.example.com", "http://10.0.0.7:9000!private"]);
    form["origins"] = json!(["https://www.example.com"]);
    form["routes"] = json!({"page-id": ["100"]});
    form["dedupe_by_content"] = json!(false);
    form["region"] = json!("PT");
    form["time_zone"] = json!("Europe/Lisbon");
    file
}

async fn full(on: On) -> (Operator, String) {
    let (operator, _) = Operator::with_workspace(on).await;
    let report = operator.apply(&full_workspace()).await.expect(200).json();
    let id = id_of(&report);
    (operator, id)
}

/// Returns what a browser would send of the form: the values of its inputs, as the page has them.
fn fields_of(page: &str) -> Vec<(String, String)> {
    let text = |value: &str| {
        let named = [
            ("&#34;", "\""),
            ("&#60;", "<"),
            ("&#62;", ">"),
            ("&#39;", "'"),
            ("&#38;", "&"),
        ];
        named
            .iter()
            .fold(value.to_owned(), |text, (from, to)| text.replace(from, to))
    };
    let (_, form) = page.split_once("/entry\" autocomplete").expect("the form");
    let attribute = |tag: &str, name: &str| {
        let (_, rest) = tag.split_once(&format!(" {name}=\""))?;
        Some(text(rest.split_once('"')?.0))
    };
    let mut fields = Vec::new();
    for (at, _) in form.match_indices('<') {
        let rest = &form[at..];
        let Some((tag, after)) = rest.split_once('>') else {
            continue;
        };
        let Some(name) = attribute(tag, "name").filter(|name| name != "form-token") else {
            continue;
        };
        let is_box = tag.contains("type=\"checkbox\"");
        if is_box && !tag.contains(" checked") {
            continue;
        }
        let value = if tag.starts_with("<textarea") {
            text(after.split_once("</textarea>").expect("its end").0)
        } else if tag.starts_with("<select") {
            let options = after.split_once("</select>").expect("its end").0;
            let chosen = options
                .split("<option")
                .find(|one| one.contains(" selected"));
            let chosen = chosen.and_then(|one| one.split_once('>')?.1.split_once('<'));
            text(chosen.map_or("", |(value, _)| value))
        } else {
            attribute(tag, "value").unwrap_or_default()
        };
        fields.push((name, value));
    }
    fields
}

/// Returns the fields with other values.
fn with(fields: &[(String, String)], others: &[(&str, &str)]) -> Vec<(String, String)> {
    let is_other = |name: &str| others.iter().any(|(other, _)| *other == name);
    let kept = fields.iter().filter(|(name, _)| !is_other(name)).cloned();
    let others = others
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    kept.chain(others).collect()
}

async fn save(browser: &Browser<'_>, id: &str, fields: &[(String, String)]) -> Answer {
    let fields: Vec<_> = fields
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .collect();
    browser
        .submit(&format!("/connections/{id}/entry"), &fields)
        .await
}

async fn opened(browser: &Browser<'_>, id: &str) -> (String, Vec<(String, String)>) {
    let page = browser.page(&format!("/connections/{id}/entry")).await;
    let fields = fields_of(&page);
    (page, fields)
}

async fn the_entry_of_a_connection_is_shown_and_saved_as_it_is(on: On) {
    let (operator, id) = full(on).await;
    let before = form_of(&operator).await;
    let browser = Browser::signed_in(&operator).await;
    let (page, fields) = opened(&browser, &id).await;
    let has = |name: &str, value: &str| {
        let found = fields
            .iter()
            .any(|(field, text)| field == name && text == value);
        assert!(found, "{name}={value}: {fields:?} {page}");
    };
    has("partner", "crm");
    has("plugin", "mapping");
    has("instance", "acme/bot");
    has("keep", "token");
    has("keep", "other");
    let says = "https://api.example.com\nhttp://10.0.0.7:9000!private";
    has("allow", says);
    has("origins", "https://www.example.com");
    has("region", "PT");
    has("time_zone", "Europe/Lisbon");
    assert!(!fields.iter().any(|(name, _)| name == "dedupe_by_content"));
    let saved = save(&browser, &id, &fields).await.expect(200);
    has!(saved, "acme/form is as it was");
    assert_eq!(form_of(&operator).await, before);
}

async fn an_entry_is_changed_and_its_secrets_stay(on: On) {
    let (operator, id) = full(on).await;
    let before = form_of(&operator).await;
    let browser = Browser::signed_in(&operator).await;
    let (_, fields) = opened(&browser, &id).await;
    let check = r#"[{"secret": "token", "scheme": "equals", "proof": {"place": "header", "name": "x-key"}}]"#;
    let others = [
        ("checks", check),
        ("keep", "token"),
        ("allow", "none"),
        ("origins", "https://a.example\nhttps://b.example"),
        ("routes", ""),
        ("config", "{}"),
        ("region", ""),
        ("dedupe_by_content", "1"),
    ];
    let saved = save(&browser, &id, &with(&fields, &others)).await;
    let saved = saved.expect(200);
    let page = saved.text();
    has!(page, "acme/form is changed");
    has!(page, "The secret `other` is removed.", "[[connections]]");
    has!(page, "token = &#34;env:TOKEN&#34;");
    lacks!(page, TOKEN);
    let after = form_of(&operator).await;
    fields!(after, {
        "id": before["id"], "secrets": ["token"],
        "secretsSetAt.token": before["secretsSetAt"]["token"], "checks.0.proof.name": "x-key",
        "allow": [], "origins": ["https://a.example", "https://b.example"], "routes": {},
        "config": {}, "region": "BR", "dedupeByContent": true,
    });
    let lead = json!({"id": "1", "name": "Ada Prado", "phone": "+55 11 98765-4321"});
    for (header, status) in [("x-token", 401), ("x-key", 200)] {
        let ask = operator.host.post(&format!("/ingest-lead/{id}"));
        let answer = ask.header(header, TOKEN).json(&lead).send().await;
        assert_eq!(answer.status, status, "{header}: {}", answer.text());
    }
    let audit = operator.get("/audit?act=apply").await;
    assert_eq!(audit["rows"][0]["outcome"], "done");
    has!(audit["rows"][0]["detail"].to_string(), "origins");
}

async fn a_problem_is_shown_at_its_field_and_the_typed_text_stays(on: On) {
    let (operator, id) = full(on).await;
    let before = form_of(&operator).await;
    let browser = Browser::signed_in(&operator).await;
    let (_, fields) = opened(&browser, &id).await;
    let fault = |page: &str, field: &str, part: &str| {
        let list = format!("id=\"{field}-fault\"><li>");
        let (_, said) = page
            .split_once(&list)
            .unwrap_or_else(|| panic!("{field}: {page}"));
        has!(said.split_once("</ul>").expect("its end").0, part; "{part}");
        has!(page, &format!("aria-describedby=\"{field}-fault\""));
    };
    // The form itself cannot be read.
    let others = [
        ("config", "[1]"),
        ("checks", "{}"),
        ("secrets", "odd"),
        ("origins", "https://typed.example"),
    ];
    let refused = save(&browser, &id, &with(&fields, &others)).await;
    let refused = refused.expect(400);
    let page = refused.text();
    fault(page, "config", "not a JSON object");
    fault(page, "checks", "not a JSON list");
    fault(page, "secrets", "one a line");
    has!(page, "Nothing was changed.");
    has!(page, ">https://typed.example</textarea>");
    // The service refuses it.
    let others = [
        ("config", r#"{"fields": {"name": 7}}"#),
        ("allow", "ftp://files.example"),
        ("origins", "www.example.com"),
        ("keep", "token"),
        ("plugin", "nothing"),
    ];
    let refused = save(&browser, &id, &with(&fields, &others)).await;
    let refused = refused.expect(422);
    let page = refused.text();
    fault(page, "allow", "expected http or https");
    fault(page, "origins", "expected an origin");
    fault(page, "plugin", "no converter `nothing` is active");
    fault(page, "checks", "`other` is not among the secrets here");
    has!(page, ">ftp://files.example</textarea>");
    assert_eq!(form_of(&operator).await, before);
}

async fn an_entry_that_was_changed_meanwhile_is_not_overwritten(on: On) {
    let (operator, id) = full(on).await;
    let browser = Browser::signed_in(&operator).await;
    let (_, fields) = opened(&browser, &id).await;
    let first = with(&fields, &[("origins", "https://first.example")]);
    save(&browser, &id, &first).await.expect(200);
    let second = with(&fields, &[("origins", "https://second.example")]);
    let refused = save(&browser, &id, &second).await.expect(409);
    let page = refused.text();
    has!(page, "was changed since you opened this form");
    has!(page, ">https://second.example</textarea>");
    // Nor does a second try.
    let again = with(&fields_of(page), &[]);
    save(&browser, &id, &again).await.expect(409);
    let expect = json!(["https://first.example"]);
    assert_eq!(form_of(&operator).await["origins"], expect);
}

async fn an_entry_with_a_new_partner_is_asked_for(on: On) {
    let (operator, id) = full(on).await;
    let browser = Browser::signed_in(&operator).await;
    let (_, fields) = opened(&browser, &id).await;
    let other = with(&fields, &[("partner", "imobcrm")]);
    let asked = save(&browser, &id, &other).await.expect(200);
    let page = asked.text();
    has!(page, "the workspace has no partner imobcrm");
    assert_eq!(form_of(&operator).await["partner"], "crm");
    let confirmed = with(&fields_of(page), &[]);
    let saved = save(&browser, &id, &confirmed).await.expect(200);
    has!(saved, "[[partners]]");
    assert_eq!(form_of(&operator).await["partner"], "imobcrm");
}

async fn a_retired_connection_accepts_nothing_until_it_is_brought_back(on: On) {
    let (operator, report) = Operator::with_workspace(on).await;
    let id = id_of(&report);
    operator.lead(&report, TOKEN, "1").await.expect(200);
    let before = form_of(&operator).await;
    let browser = Browser::signed_in(&operator).await;
    let path = format!("/connections/{id}/retire");
    has!(browser.page(&path).await, "gets 404", ">Retire it</button>");
    assert_eq!(form_of(&operator).await["retired"], false, "it only asks");

    let retired = browser.submit(&path, &[]).await.expect(200);
    has!(retired, "acme/form is retired", "retired = true");
    operator.lead(&report, TOKEN, "2").await.expect(404);
    let after = form_of(&operator).await;
    assert_eq!(after["retired"], true);
    for same in "id configVersion secrets secretsSetAt checks allow partner".split(' ') {
        assert_eq!(after[same], before[same], "{same}");
    }
    let deliveries = operator.get("/deliveries").await;
    assert_eq!(deliveries["deliveries"].list().len(), 1);
    let page = browser.page("/connections").await;
    has!(page, "<span class=\"tag warn\">retired</span>");
    // A file without it has nothing to warn of.
    let mut file = workspace();
    file["connections"] = json!([]);
    let applied = operator.apply(&file).await.expect(200).json();
    assert_eq!(applied["warnings"], json!([]), "{applied}");
    // A change of something else leaves it retired.
    let (_, fields) = opened(&browser, &id).await;
    let other = with(&fields, &[("origins", "https://a.example")]);
    save(&browser, &id, &other).await.expect(200);
    assert_eq!(form_of(&operator).await["retired"], true);

    let back = browser.submit(&path, &[("back", "1")]).await.expect(200);
    has!(back, "acme/form is in use again");
    operator.lead(&report, TOKEN, "2").await.expect(200);

    // The file retires it, and brings it back.
    let mut file = workspace();
    file["connections"][0]["retired"] = json!(true);
    operator.apply(&file).await.expect(200);
    operator.lead(&report, TOKEN, "3").await.expect(404);
    operator.apply(&workspace()).await.expect(200);
    operator.lead(&report, TOKEN, "3").await.expect(200);
}

async fn an_entry_and_a_retirement_need_the_role_admin(on: On) {
    let (operator, id) = full(on).await;
    let before = form_of(&operator).await;
    let admin = Browser::signed_in(&operator).await;
    let (_, fields) = opened(&admin, &id).await;
    for role in ["viewer", "operator"] {
        let browser = Browser::with_role(&operator, role).await;
        for path in ["entry", "retire"] {
            let page = browser.page(&format!("/connections/{id}/{path}")).await;
            has!(page, "the role admin");
            // The only form is the sign-out.
            assert_eq!(page.matches("method=\"post\"").count(), 1, "{page}");
        }
        let changed = with(&fields, &[("origins", "https://a.example")]);
        let refused = save(&browser, &id, &changed).await.expect(403);
        has!(refused, "needs the role admin");
        let path = format!("/connections/{id}/retire");
        let refused = browser.submit(&path, &[]).await.expect(403);
        has!(refused, "needs the role admin");
        let partner = [("workspace", "acme"), ("partner", "other")];
        let refused = browser.submit("/partners", &partner).await.expect(403);
        has!(refused, "needs the role admin");
        lacks!(browser.page("/connections").await, "Change this connection");
    }
    assert_eq!(form_of(&operator).await, before);
}

async fn a_partner_is_declared_without_a_connection(on: On) {
    let (operator, _) = Operator::with_workspace(on).await;
    let browser = Browser::signed_in(&operator).await;
    let partner = [("workspace", "acme"), ("partner", "imobcrm")];
    let made = browser.submit("/partners", &partner).await.expect(200);
    let page = made.text();
    has!(page, "The partner imobcrm is declared in acme.");
    has!(page, "[[partners]]", "value=\"imobcrm\"");
    let key = [
        ("kind", "partner"),
        ("label", "imob"),
        ("workspace", "acme"),
        ("partner", "imobcrm"),
    ];
    browser.submit("/keys", &key).await.expect(200);
    let again = browser.submit("/partners", &partner).await.expect(409);
    has!(again, "There is a partner `acme/imobcrm` already.");
    let nameless = [("workspace", "acme"), ("partner", "")];
    let refused = browser.submit("/partners", &nameless).await.expect(422);
    let said = refused.text();
    has!(said, "expected a text, found an empty one");
    lacks!(said, "partners[0]");
    let elsewhere = [("workspace", "nothing"), ("partner", "a")];
    browser.submit("/partners", &elsewhere).await.expect(400);
}

async fn a_wrong_secret_is_mended_from_the_first_page(on: On) {
    let (operator, report) = Operator::with_workspace(on).await;
    let id = id_of(&report);
    operator.lead(&report, "the-new-one", "1").await.expect(401);
    let browser = Browser::signed_in(&operator).await;
    let page = browser.page("").await;
    let link =
        format!("href=\"/console/connections/{id}#set-secret\">set a secret of acme/form</a>");
    has!(page, &link);
    let page = browser
        .page(&format!("/connections/{id}?secret=token"))
        .await;
    has!(page, "id=\"set-secret\"");
    has!(page, "list=\"secrets\" required value=\"token\"");
    let at = form_of(&operator).await["configVersion"].to_string();
    let fields = [
        ("version", at.as_str()),
        ("secret", "token"),
        ("value", "the-new-one"),
    ];
    let to = format!("/connections/{id}/secret");
    let changed = browser.submit(&to, &fields).await.expect(200);
    let page = changed.text();
    has!(page, "1 delivery of form is in quarantine.");
    let (_, rest) = page
        .split_once("name=\"until\" value=\"")
        .expect("the time");
    let until = rest.split_once('"').expect("its end").0;
    let fields = [
        ("status", "quarantined"),
        ("connection", id.as_str()),
        ("until", until),
        ("release", "1"),
        ("apply", "1"),
    ];
    let released = browser.submit("/deliveries/replay", &fields).await;
    let released = released.expect(200);
    has!(released, "The delivery was released: converted");
    let list = operator.get("/deliveries").await;
    assert_eq!(list["deliveries"][0]["status"], "converted", "{list}");
}

async fn a_paused_connection_gets_a_secret_and_is_resumed(on: On) {
    let (operator, report) = Operator::with_workspace(on).await;
    let id = id_of(&report);
    operator.pause("form", "the token expired").await;
    let browser = Browser::signed_in(&operator).await;
    let page = browser.page(&format!("/connections/{id}")).await;
    has!(page, "Set the secret and resume");
    let at = form_of(&operator).await["configVersion"].to_string();
    let fields = [
        ("version", at.as_str()),
        ("secret", "token"),
        ("value", "the-new-one"),
        ("resume", "1"),
    ];
    let to = format!("/connections/{id}/secret");
    let changed = browser.submit(&to, &fields).await.expect(200);
    lacks!(changed, "still paused");
    has!(changed, "is resumed");
    assert_eq!(form_of(&operator).await["paused"], Value::Null);
    let audit = operator.get("/audit?act=resume-connection").await;
    assert_eq!(audit["rows"][0]["outcome"], "done");
}

async fn an_address_is_whole_if_the_service_knows_its_own(on: On) {
    let (operator, report) = Operator::with_workspace(on.clone()).await;
    let id = id_of(&report);
    let browser = Browser::signed_in(&operator).await;
    let page = browser.page("/connections").await;
    has!(page, &format!("<dd class=\"mono\">/ingest-lead/{id}</dd>"));

    let options = Options::patient(on).with("server.public_url", "https://leads.example.com/");
    let (operator, report) = Operator::with_workspace_on(Host::start(options).await).await;
    let id = id_of(&report);
    let browser = Browser::signed_in(&operator).await;
    for path in ["/connections".to_owned(), format!("/connections/{id}")] {
        let page = browser.page(&path).await;
        let address = format!("<dd class=\"mono\">https://leads.example.com/ingest-lead/{id}</dd>");
        has!(page, &address);
    }
}
