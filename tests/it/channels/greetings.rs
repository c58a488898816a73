//! A webhook that makes a lead, a deal, a conversation and the first message,
//! and the fate of a greeting without an answer.

use leadhost_domain::limits;
use leadhost_store::OutboxFilter;
use leadhost_tests::otlp::OtlpReceiver;
use leadhost_tests::{Declared, Host, Json, On, Options, eventually, fields, guests, has, lacks};
use serde_json::{Value, json};

use super::{VOICE, events, inbound};

leadhost_tests::on_every_store! {
    a_new_lead_is_greeted_in_the_commit_that_makes_its_deal,
    a_greeting_is_a_step_of_its_leads_trace_which_links_to_the_send,
    a_lead_whose_greeting_cannot_be_composed_is_converted_and_the_reason_noted,
    a_person_who_shares_an_office_phone_with_another_is_not_greeted_there,
    a_greeting_with_a_template_that_its_instance_lacks_is_refused_or_its_absence_said,
    a_greeting_longer_than_a_parameter_may_be_is_cut,
    an_unanswered_conversation_is_handed_to_people,
}

const GREETED: &str = r#"
[[connections]]
name = "form"
partner = "acme"
plugin = "mapping"
config = { fields = { externalId = "id", name = "name", phones = "phone", listings = "unit", message = "text", isTest = "test" } }
[connections.greeting]
instance = "voice"
template = "welcome"
parameters = ["{firstName}", "{listing}"]
"#;

async fn greeted(on: On, more: &str) -> (Host, Declared) {
    greeted_on(Host::working(on).await, more).await
}

async fn greeted_on(host: Host, more: &str) -> (Host, Declared) {
    host.converter(guests::sandbox()).await;
    host.converter(guests::rust_component("converter-mapping"))
        .await;
    let file = format!("{VOICE}{GREETED}{more}");
    let declared = host.declare(&file).await;
    // A list of templates that was never requested is empty.
    let list = host.list_templates(&declared.channel("voice")).await;
    assert_eq!(list.templates.len(), 1);
    (host, declared)
}

async fn lead(host: &Host, declared: &Declared, lead: &Value) -> leadhost_tests::Answer {
    let ask = host.post(&declared.address("form")).json(lead);
    ask.send().await.expect(200)
}

/// Returns the messages, once there are this many and none is in flight.
async fn settled(host: &Host, declared: &Declared, count: usize) -> Vec<Value> {
    let filter = OutboxFilter {
        limit: 100,
        ..OutboxFilter::default()
    };
    eventually("the messages are out", async || {
        let found = host.store().outbox(&filter).await.expect("a store");
        let under_way = found.iter().any(|message| {
            let status = message.metadata.status.as_str();
            matches!(status, "waiting" | "sending")
        });
        found.len() == count && !under_way
    })
    .await;
    host.rows(declared, "messages").await
}

async fn pass(host: &Host, seconds: i64) {
    host.pass(seconds).await;
    eventually("time has passed for every conversation", async || {
        let due = host.store().conversations_due(host.now(), 1).await;
        due.expect("a store").is_empty()
    })
    .await;
}

fn ana(id: &str) -> Value {
    json!({ "id": id, "name": "Ana Prado", "phone": "11 90000-0001", "unit": "AP-7", "text": "Oi" })
}

async fn conversation(host: &Host, declared: &Declared) -> Value {
    let mut found = host.rows(declared, "conversations").await;
    assert_eq!(found.len(), 1, "{found:?}");
    found.remove(0)
}

async fn a_new_lead_is_greeted_in_the_commit_that_makes_its_deal(on: On) {
    let (host, declared) = greeted(on, "").await;
    let answer = lead(&host, &declared, &ana("1")).await;
    let deal = answer.json()["leads"][0]["dealId"].clone();
    // It was stored with the lead; the worker sends it.
    let conversation = conversation(&host, &declared).await;
    fields!(conversation, {"deal_id": deal, "agent_id": declared.instance("voice")});
    let messages = settled(&host, &declared, 1).await;
    let message = &messages[0];
    fields!(message, {
        "type": "template", "actor": "agent", "content": "Olá Ana, podemos conversar sobre AP-7?",
        "metadata.status": "delivered", "metadata.template.name": "welcome",
    });
    assert!(message["delivered_at"].is_string());

    events(&host, &declared, &[inbound("5511900000001", "Pode ser!")])
        .await
        .expect(200);
    let conversation = self::conversation(&host, &declared).await;
    assert_eq!(conversation["status"], "answered");
}

async fn a_greeting_is_a_step_of_its_leads_trace_which_links_to_the_send(on: On) {
    let receiver = OtlpReceiver::start().await;
    let options = Options::patient(on)
        .with("telemetry.otlp_endpoint", receiver.url())
        .with("telemetry.traces_per_mille", 1_000);
    let (host, declared) = greeted_on(Host::working_with(options).await, "").await;
    let answer = lead(&host, &declared, &ana("1")).await.json();
    let delivery = answer["deliveryId"].text();
    let request = "POST /ingest-lead/{partnerConnectionId}";
    let trace = delivery.replace('-', "");
    let spans = receiver.trace(&host, &trace, request).await;
    let found = |name: &str| {
        let found = spans.iter().find(|span| span.name == name);
        found.unwrap_or_else(|| panic!("no {name} in {spans:?}"))
    };
    let accepted = found("accept message");
    let process = found("process delivery");
    assert_eq!((accepted.kind, &accepted.parent), (4, &process.id));
    assert_eq!(accepted.attribute("messaging.system"), "sandbox");
    assert_eq!(accepted.attribute("messaging.destination.name"), "voice");
    let message = accepted.attribute("leadhost.message.id").replace('-', "");
    assert_eq!(accepted.links, std::slice::from_ref(&message));
    let job = "send waiting message";
    let spans = receiver.trace(&host, &message, job).await;
    let sent = spans.iter().find(|span| span.name == job).expect("a job");
    assert_eq!(sent.parent, accepted.id);
    // A repeat stores no greeting.
    let again = lead(&host, &declared, &ana("1")).await.json();
    let delivery = again["deliveryId"].text();
    let trace = delivery.replace('-', "");
    let spans = receiver.trace(&host, &trace, request).await;
    assert!(spans.iter().all(|span| span.name != "accept message"));
    for personal in ["Ana", "Prado", "90000-0001", "900000001", "AP-7"] {
        assert!(!receiver.holds(personal), "{personal} was exported");
    }
}

async fn a_person_who_shares_an_office_phone_with_another_is_not_greeted_there(on: On) {
    let (host, declared) = greeted(on, "").await;
    let phones = |id: &str, name: &str, mobile: &str| {
        let all = json!([mobile, "11 3000-0001"]);
        json!({ "id": id, "name": name, "phone": all, "unit": "AP-7" })
    };
    lead(&host, &declared, &phones("1", "Ana Prado", "11 90000-0001")).await;
    let other = phones("2", "Davi Melo", "11 90000-0002");
    let answer = lead(&host, &declared, &other).await;
    has!(
        host.delivery(&answer).await.notes.join("; "),
        "no greeting `welcome`: its person was found by a phone"
    );
    // The same person in other words is greeted.
    lead(
        &host,
        &declared,
        &phones("3", "ana prado lima", "11 90000-0003"),
    )
    .await;
    let messages = settled(&host, &declared, 2).await;
    for message in &messages {
        has!(message["content"].text().to_lowercase(), "olá ana");
    }
}

async fn a_lead_whose_greeting_cannot_be_composed_is_converted_and_the_reason_noted(on: On) {
    let other = GREETED.replace("\"form\"", "\"other\"");
    let other = other.replace("\"welcome\"", "\"farewell\"");
    let (host, declared) = greeted(on, &other).await;
    let notes = async |address: String, lead: &Value| {
        let answer = host.post(&address).json(lead).send().await.expect(200);
        assert_eq!(answer.json()["status"], "converted");
        host.delivery(&answer).await.notes.join("; ")
    };
    let form = declared.address("form");
    let given = json!({ "id": "1", "phone": "11 90000-0001" });
    let found = notes(form.clone(), &given).await;
    has!(found, "`welcome`: the lead has no firstName");
    let mut nameless = ana("2");
    nameless["phone"] = json!("");
    has!(notes(form, &nameless).await, "no phone");
    let found = notes(declared.address("other"), &ana("3")).await;
    has!(found, "Template 'farewell' not found");
    assert!(host.rows(&declared, "messages").await.is_empty());
    // Operators learn of it without looking at a delivery, until a lead is greeted.
    let key = host.admin_key().await;
    let troubles = async || {
        let ask = host.admin("GET", "/admin/v1/status").bearer(&key);
        ask.send().await.expect(200).json()["troubles"].clone()
    };
    let found = troubles().await.to_string();
    has!(
        found,
        r#""kind":"greeting""#,
        "farewell: Template 'farewell' not found",
        "welcome: the lead has no firstName"
    );
    lead(&host, &declared, &ana("4")).await;
    lacks!(troubles().await.to_string(), "no firstName");
    has!(troubles().await.to_string(), "farewell");
}

async fn a_greeting_with_a_template_that_its_instance_lacks_is_refused_or_its_absence_said(on: On) {
    let host = Host::working(on).await;
    host.converter(guests::sandbox()).await;
    host.converter(guests::rust_component("converter-mapping"))
        .await;
    // Nothing knows the templates of an instance that the file makes.
    let declared = host.declare(&format!("{VOICE}{GREETED}")).await;
    let unknown = "the templates of `voice` are not known yet";
    let warnings = declared.report.warnings.iter();
    assert!(
        warnings.clone().any(|one| one.message.contains(unknown)),
        "{warnings:?}"
    );
    let known = host.declare(&format!("{VOICE}{GREETED}")).await;
    assert!(
        !known
            .report
            .warnings
            .iter()
            .any(|one| one.message.contains("templates"))
    );
    for (wrong, expect) in [
        (
            GREETED.replace("\"welcome\"", "\"farewell\""),
            "Template 'farewell' not found",
        ),
        (
            GREETED.replace(", \"{listing}\"", ""),
            "`voice` cannot send it: ",
        ),
    ] {
        let refused = host.try_declare(&format!("{VOICE}{wrong}")).await;
        has!(
            refused.err().expect("refused").to_string(),
            "greeting.template",
            expect
        );
    }
}

async fn a_greeting_longer_than_a_parameter_may_be_is_cut(on: On) {
    let host = Host::working(on).await;
    host.converter(guests::sandbox()).await;
    host.converter(guests::rust_component("converter-mapping"))
        .await;
    let three = GREETED.replace("{listing}", "{message} {message} {message}");
    let declared = host.declare(&format!("{VOICE}{three}")).await;
    host.list_templates(&declared.channel("voice")).await;
    let mut ana = ana("1");
    ana["text"] = json!("é".repeat(2_000));
    lead(&host, &declared, &ana).await;
    let messages = settled(&host, &declared, 1).await;
    assert_eq!(messages[0]["metadata"]["status"], "delivered");
    let parameters = &messages[0]["metadata"]["template"]["parameters"];
    let content = messages[0]["content"].text();
    let expect = limits::PARAMETER_CHARACTERS;
    assert_eq!(content.matches('é').count() + 2, expect, "{parameters}");
}

async fn an_unanswered_conversation_is_handed_to_people(on: On) {
    let (host, declared) = greeted(on, "").await;
    lead(&host, &declared, &ana("1")).await;
    settled(&host, &declared, 1).await;
    pass(&host, 2 * 3_600 - 60).await;
    assert_eq!(conversation(&host, &declared).await["status"], "open");
    pass(&host, 120).await;
    let row = conversation(&host, &declared).await;
    assert_eq!(row["status"], "transferred");
    assert!(row["no_response_at"].is_string());
    // A late answer clears it.
    events(&host, &declared, &[inbound("+5511900000001", "Desculpe")])
        .await
        .expect(200);
    let row = conversation(&host, &declared).await;
    assert!(row["no_response_at"].is_null());
    assert!(row["answered_at"].is_string());
}
