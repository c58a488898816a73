//! Problems on the first page of the console and on the pages behind it: an operator learns what to do.

use leadhost_domain::connection::{EndedChange, LEAD_PARTS};
use leadhost_domain::plugin::Digest;
use leadhost_tests::guests::Variant;
use leadhost_tests::{Host, Json, On, eventually, fields, has, lacks, until};
use serde_json::{Value, json};

use super::audit::{begin, roll_back};
use super::console::Browser;
use super::roles::with_role;
use super::{Operator, TOKEN, workspace};
use crate::ingest::harm;

leadhost_tests::on_every_store! {
    the_audit_has_one_sentence_for_each_act,
    a_connection_that_refuses_most_deliveries_is_a_problem,
    a_change_of_a_version_is_no_problem_any_more_when_none_of_its_deliveries_is_left,
    a_failed_message_has_its_reason_and_is_a_problem,
    a_message_that_an_operator_gave_up_is_no_problem,
    a_waiting_message_says_that_its_instance_is_paused,
    the_unknown_messages_of_a_list_are_resolved_together_after_a_question,
    a_viewer_resolves_no_messages,
    an_escaped_body_is_read_as_its_sender_wrote_it,
}

/// The time after which a host counts activity again.
const FRESH: i64 = 11;

async fn comes_to_show(operator: &Operator, browser: &Browser<'_>, text: &str) -> String {
    until("the first page shows it", async || {
        operator.host.advance(FRESH).await;
        let page = browser.page("").await;
        page.contains(text).then_some(page)
    })
    .await
}

async fn a_connection_that_refuses_most_deliveries_is_a_problem(on: On) {
    let (operator, report) = Operator::with_workspace(on).await;
    let browser = Browser::signed_in(&operator).await;
    let connection = report["connections"]["form"].text();
    let address = format!("/ingest-lead/{connection}");
    for _ in 0..12 {
        let bad = operator.host.post(&address).header("x-token", TOKEN);
        bad.body("no lead").send().await.expect(400);
    }
    let text = "acme/form refused 12 of the 12 deliveries of the last hour";
    let page = comes_to_show(&operator, &browser, text).await;
    let list = "/console/deliveries?status=rejected&#38;connection=acme/form";
    let is_so = page.contains(list) || page.contains(&list.replace("&#38;", "&amp;"));
    assert!(is_so, "{page}");
    has!(page, "Numbers of Refused deliveries");
    let reasons = page.matches("12 with one reason: ").count();
    assert_eq!(reasons, 1, "the last deliveries are one row: {page}");
    let activity = operator.get("/activity?period=hour").await;
    let rejected = activity["series"][0]["rejected"].list();
    let sum: u64 = rejected.iter().filter_map(serde_json::Value::as_u64).sum();
    assert_eq!(sum, 12, "{activity}");
}

async fn a_change_of_a_version_is_no_problem_any_more_when_none_of_its_deliveries_is_left(on: On) {
    let host = Host::working(on).await;
    let key = host.admin_key().await;
    let operator = Operator { host, key };
    let host = &operator.host;
    host.converter(Variant::default().component()).await;
    let declared = host.declare(&harm("portal", "name", 10)).await;
    let send = async |deliveries: usize| {
        for _ in 0..deliveries {
            let ask = host.post(&declared.address("portal"));
            ask.json(&json!({"name": "Lia"})).send().await.expect(200);
        }
    };
    send(225).await;
    let without = Variant::version("1.1.0").mended("name");
    let blamed = host.converter(without.component()).await;
    send(60).await;
    let id = declared.id("portal");
    let change = until("the version is blamed", async || {
        let mut shapes = host.store().source_shapes().await.expect("a store");
        let change = shapes.remove(&id)?.change?;
        (change.digest.as_ref() == Some(&blamed)).then_some(change)
    })
    .await;
    // What is left of a change if only the deliveries of this version count.
    let left = async |digest: Option<&Digest>| {
        let connections = host.store().connections(None).await.expect("a store");
        let connection = connections.iter().find(|one| one.id == id);
        let change = EndedChange {
            since: change.since,
            until: host.app.core.clock.now(),
            digest: digest.cloned(),
            fields: [true; LEAD_PARTS],
            differences: Vec::new(),
        };
        let found =
            host.store()
                .deliveries_left_by(connection.expect("it is there"), &change, 1_000);
        found.await.expect("a store").lacking
    };
    let (browser, says) = (
        Browser::signed_in(&operator).await,
        " lack data since about ",
    );
    has!(browser.page("").await, says);
    let key = &operator.key;
    assert_eq!(roll_back(&operator, key, "misbehave").await, 200);
    has!(browser.page("").await, says; "its deliveries are not repaired");
    assert_eq!(left(Some(&blamed)).await, 60);

    let order = json!({"convertedBy": blamed, "apply": true});
    let begun = operator.post("/repairs", &order).await.json();
    let path = format!("/repairs/{}", begun["id"].text());
    operator.repair_ends(&path).await;
    lacks!(browser.page("").await, says);
    let leads = operator.get("/connections").await;
    let stands = &leads["connections"][0]["sourceChange"]["cause"];
    assert_eq!(*stands, "version", "the window is as it was: {leads:#}");
    assert_eq!(left(Some(&blamed)).await, 0);
    let is_so = left(None).await > 0;
    assert!(is_so, "leads of the version before lack a listing");
}

/// A workspace whose instance is a sandbox, with a message to a contact.
async fn with_sandbox(operator: &Operator, outcomes: &Value) {
    operator.activate("adapter-sandbox").await;
    let mut file = workspace();
    file["instances"] = json!([{"name": "bot", "number": "+5511900000000", "adapter": "sandbox", "config": {
        "templates": [{"name": "welcome", "language": "pt_BR", "text": "Bem-vindo"}],
        "outcomes": outcomes,
    }}]);
    file["connections"][0]["greeting"] =
        json!({"instance": "bot", "template": "welcome", "parameters": []});
    operator.apply(&file).await.expect(200);
}

async fn sent(operator: &Operator, state: &str) -> String {
    let path = format!("/outbox?state={state}");
    until("the message is there", async || {
        let list = operator.get(&path).await;
        list["messages"][0]["id"].as_str().map(str::to_owned)
    })
    .await
}

/// An operator of a host whose worker sends.
async fn sending(on: On) -> (Operator, Value) {
    Operator::with_workspace_on(Host::working(on).await).await
}

/// Has greetings sent without an answer of the provider, one to each of several people. Returns their
/// messages.
async fn unanswered(operator: &Operator, report: &Value, people: usize) -> Vec<String> {
    let outcomes = json!([{"category": "unknown", "text": "The line was cut"}]);
    with_sandbox(operator, &outcomes).await;
    let connection = report["connections"]["form"].text();
    for number in 0..people {
        let phone = format!("+55119876543{number:02}");
        let lead = json!({"id": number.to_string(), "name": "Ada Prado", "phone": phone});
        let sent = operator.host.post(&format!("/ingest-lead/{connection}"));
        let sent = sent.header("x-token", TOKEN).json(&lead);
        sent.send().await.expect(200);
    }
    until("no outcome is known", async || {
        let unknown = unknown(operator).await;
        (unknown.len() == people).then_some(unknown)
    })
    .await
}

async fn unknown(operator: &Operator) -> Vec<String> {
    let list = operator.get("/outbox?state=unknown").await;
    let messages = list["messages"].list().iter();
    let ids = messages.map(|one| one["id"].text().to_owned());
    ids.collect()
}

async fn the_unknown_messages_of_a_list_are_resolved_together_after_a_question(on: On) {
    let (operator, report) = sending(on).await;
    let messages = unanswered(&operator, &report, 4).await;
    let browser = Browser::signed_in(&operator).await;
    lacks!(browser.page("/messages").await, "Give all up");
    has!(browser.page("/messages?state=unknown").await, "Give all up");
    let form = "/messages/resolve";
    let filters = [("state", "unknown"), ("instance", "acme/bot")];
    let fields = [&filters[..], &[("verdict", "send-again")]].concat();
    let asked = browser.submit(form, &fields).await.expect(200);
    has!(asked, "gets it twice");
    let fields = [&filters[..], &[("verdict", "give-up")]].concat();
    let asked = browser.submit(form, &fields).await.expect(200);
    has!(asked, "Give up 4 messages");
    has!(asked, "<strong>4</strong> of acme/bot");
    has!(asked, "Each counts as failed", &messages[3]);
    assert_eq!(unknown(&operator).await, messages, "it has only asked");

    // The messages that the question named, and no other one.
    let named = messages[..3].iter();
    let named: Vec<_> = named.map(|id| ("message", id.as_str())).collect();
    let fields = [&filters[..], &named, &[("verdict", "give-up")]].concat();
    let page = browser.follow(form, &fields).await;
    let text = "3 messages are resolved: 3 failed.";
    has!(page, text);
    assert_eq!(unknown(&operator).await, messages[3..]);
    let audit = operator.get("/audit?act=resolve-messages").await;
    let row = &audit["rows"][0];
    assert_eq!(row["outcome"], "done", "{row}");
    let detail: Value = serde_json::from_str(row["detail"].text()).unwrap();
    let expect = json!({
        "verdict": "give-up", "messages": messages[..3], "states": {"failed": 3}, "refused": 0,
        "left": 0,
    });
    assert_eq!(detail, expect);

    // Nothing is left to do for these: the page does not call that a success.
    let page = browser.follow(form, &fields).await;
    let text = "<p class=\"notice bad\" role=\"status\">No message is resolved. 3 stay as they are";
    has!(page, text);
    let both = json!({"verdict": "give-up", "messages": messages[2..]});
    let answer = operator.post("/outbox/resolve", &both).await.expect(200);
    let answer = answer.json();
    fields!(answer, {"states": {"failed": 1}, "refused": 1});
    let reason = format!(
        "Message {} is failed: its outcome is not unknown.",
        messages[2]
    );
    let refusal = json!([{"id": messages[2], "reason": reason}]);
    assert_eq!(answer["refusals"], refusal);
    let none = json!({"verdict": "give-up", "messages": []});
    let refused = operator.post("/outbox/resolve", &none).await.expect(400);
    has!(refused, "name 1 to 500");
}

async fn a_viewer_resolves_no_messages(on: On) {
    let (operator, report) = sending(on).await;
    let messages = unanswered(&operator, &report, 1).await;
    let browser = Browser::with_role(&operator, "viewer").await;
    lacks!(browser.page("/messages?state=unknown").await, "Give all up");
    let fields = [("message", messages[0].as_str()), ("verdict", "give-up")];
    let page = browser.follow("/messages/resolve", &fields).await;
    has!(page, "needs the role operator");
    assert_eq!(unknown(&operator).await, messages);
}

async fn a_failed_message_has_its_reason_and_is_a_problem(on: On) {
    let (operator, report) = sending(on).await;
    let text = "The recipient cannot receive this message";
    let outcomes = json!([{"category": "recipient", "code": "131026", "text": text}]);
    with_sandbox(&operator, &outcomes).await;
    operator.lead(&report, TOKEN, "1").await.expect(200);
    let id = sent(&operator, "failed").await;
    let list = operator.get("/outbox?state=failed").await;
    let reason = text;
    let browser = Browser::signed_in(&operator).await;
    let page = browser.page("/messages?state=failed").await;
    has!(page, &id, reason; "{reason}");
    has!(page, "<td>acme/bot</td>");
    let conversation = list["messages"][0]["conversationId"].text();
    has!(browser.page(&format!("/conversations/{conversation}")).await, reason; "{reason}");
    let text = "1 message of acme/bot failed within the last day";
    comes_to_show(&operator, &browser, text).await;
}

async fn a_message_that_an_operator_gave_up_is_no_problem(on: On) {
    let (operator, report) = sending(on).await;
    let messages = unanswered(&operator, &report, 1).await;
    let verdict = json!({"verdict": "give-up", "messages": messages});
    let answer = operator.post("/outbox/resolve", &verdict).await.expect(200);
    assert_eq!(answer.json()["states"], json!({"failed": 1}));
    let sum = |counts: &Value| -> u64 {
        let counts = counts.as_array().expect("counts").iter();
        counts.filter_map(Value::as_u64).sum()
    };
    let instance = until("the message is counted", async || {
        operator.host.advance(FRESH).await;
        let activity = operator.get("/activity?period=day").await;
        let mut series = activity["series"].as_array()?.iter();
        let instance = series.find(|one| sum(&one["messages"]) == 1)?;
        Some(instance.clone())
    })
    .await;
    assert_eq!(sum(&instance["failures"]), 0, "{instance}");
    let browser = Browser::signed_in(&operator).await;
    lacks!(browser.page("").await, "failed within the last day");
}

async fn a_waiting_message_says_that_its_instance_is_paused(on: On) {
    let (operator, report) = Operator::with_workspace(on).await;
    with_sandbox(&operator, &json!([])).await;
    let pause = json!({"reason": "a new number"});
    operator.posted("/instances/bot/pause", &pause, 200).await;
    operator.lead(&report, TOKEN, "1").await.expect(200);
    sent(&operator, "waiting").await;
    let browser = Browser::signed_in(&operator).await;
    let page = browser.page("/messages?state=waiting").await;
    has!(page, "its instance is paused: a new number");
}

async fn an_escaped_body_is_read_as_its_sender_wrote_it(on: On) {
    let (operator, report) = Operator::with_workspace(on).await;
    let connection = report["connections"]["form"].text();
    let sent = operator.host.post(&format!("/ingest-lead/{connection}"));
    let body = r#"{"id": "1", "name": "Dispon\u00edvel", "phone": "11 98765-4321"}"#;
    let sent = sent.header("x-token", TOKEN);
    let sent = sent.header("content-type", "application/json");
    let answer = sent.body(body).send().await.expect(200).json();
    let id = answer["deliveryId"].text();
    let browser = Browser::signed_in(&operator).await;
    let page = browser.page(&format!("/deliveries/{id}")).await;
    has!(page, "Disponível");
    // The command sends what came in.
    has!(page, r"Dispon\u00edvel");
}

/// Returns the text of a page, with one blank between its words.
fn text(page: &str) -> String {
    let pieces = page.split('<').map(|piece| match piece.split_once('>') {
        Some((_, text)) => format!(" {text}"),
        None => piece.to_owned(),
    });
    let text: String = pieces.collect();
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").replace(" :", ":")
}

async fn the_audit_has_one_sentence_for_each_act(on: On) {
    let (operator, _) = Operator::with_workspace(on).await;
    let viewer = with_role(&operator, "viewer").await;
    for _ in 0..4 {
        assert_eq!(roll_back(&operator, &viewer, "mapping").await, 403);
    }
    let since = operator.host.now().to_the_second();
    let since = since.replace('T', " ").replace('Z', " UTC");
    operator.host.advance(60).await;
    eventually("the refusals are counted", async || {
        let found = operator.get("/audit?actor=viewer").await;
        found["rows"].as_array().map(Vec::len) == Some(2)
    })
    .await;
    begin(&operator, "elsewhere").await;
    operator.pause("form", "the token ran out").await;
    operator
        .posted("/plugins/mapping/rollback", &json!({}), 409)
        .await;
    let browser = Browser::signed_in(&operator).await;
    let page = browser.page("/audit").await;
    let text = text(&page);
    let now = operator.host.now().to_the_second();
    let now = now.replace('T', " ").replace('Z', " UTC");
    let plugins = operator.get("/plugins").await;
    let version = &plugins["plugins"][0]["versions"][0];
    let [name, digest] = ["version", "digest"].map(|part| version[part].as_str().expect(part));
    let who = operator.get("/audit?act=pause-connection&limit=1").await;
    let who = who["rows"][0]["label"].text().to_owned();
    for part in [
        format!(
            "{now} {who} tried to roll back the plugin mapping: refused: no version of mapping was active"
        ),
        format!("{now} {who} paused the connection form: done Details"),
        format!(
            "{now} service began to pause the connection elsewhere: begun: no outcome is known"
        ),
        format!("viewer tried to roll back the plugin mapping: refused: 3 times since {since}: "),
        format!("{who} created the key viewer: done"),
        format!("{who} applied the workspace file of acme: done"),
        format!(
            "{who} activated the plugin mapping {name} ({}): done",
            &digest[..12]
        ),
        "role admin, from 127.0.0.1 act pause-connection row ".to_owned(),
        "changes 1 kind workspace changes 1 name acme ".to_owned(),
        "needs the role".to_owned(),
    ] {
        has!(text, &part; "{part}");
    }
    assert_eq!(
        text.matches("paused the connection form").count(),
        1,
        "{text}"
    );
    assert_eq!(text.matches("began to").count(), 1, "{text}");
    lacks!(text, "&#34;", "{", "ago ");
}
