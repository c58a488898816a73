//! Idempotency keys: a request with a key is done once, and its repeats get the
//! same answer.

use std::time::Duration;

use leadhost_domain::contact;
use leadhost_domain::id::{AgentId, MessageId};
use leadhost_domain::key::KeyKind;
use leadhost_domain::message::TemplateName;
use leadhost_domain::phone;
use leadhost_store::{
    IdempotencyClaim, IdempotencyKey, NewMessage, Notification, NotificationDetails, Notified,
    Write, WriteOutcome,
};
use leadhost_tests::{Answer, Host, On, Options, guests};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::answers::templates;
use super::{Bot, instance, issues, refusal};

leadhost_tests::on_every_store! {
    the_same_notification_twice_is_one_message,
    a_key_belongs_to_its_partner,
    a_refusal_of_the_provider_is_replayed,
    an_unknown_template_is_replayed_and_a_mistake_is_not,
    a_repeat_gets_the_same_answer_even_after_the_template_has_changed,
    a_repeat_while_the_first_one_runs_is_asked_to_retry,
}

impl Bot {
    async fn send_as(&self, key: &str, body: &Value) -> Answer {
        let ask = self.ask().header("idempotency-key", key);
        ask.json(body).send().await
    }
}

#[track_caller]
fn same(first: &Answer, again: &Answer) {
    assert_eq!(first.status, again.status);
    assert_eq!(first.json(), again.json());
    for header in ["x-message-id", "x-message-status"] {
        assert_eq!(first.header(header), again.header(header));
    }
    assert_eq!(first.header("idempotency-replayed"), "");
    assert_eq!(again.header("idempotency-replayed"), "true");
}

async fn the_same_notification_twice_is_one_message(on: On) {
    let bot = Bot::new(on, json!({})).await;
    let body = bot.body();
    let first = bot.send_as("k-1", &body).await.expect(200);
    bot.host.advance(3_600).await;
    for _ in 0..2 {
        same(&first, &bot.send_as("k-1", &body).await);
    }
    assert_eq!(bot.host.rows(&bot.declared, "messages").await.len(), 1);
    // The same request in another form: other blanks, and the members in reverse
    // order.
    let members = body.as_object().expect("an object").iter().rev();
    let members: Vec<_> = members
        .map(|(name, value)| format!("\n  {}: {value}", json!(name)))
        .collect();
    let reformatted = format!("{{{}\n}}", members.join(" ,"));
    let ask = bot.ask().header("idempotency-key", "k-1").json(&body);
    same(&first, &ask.body(reformatted).send().await);
    let mut other = body.clone();
    other["name"] = json!("Bia");
    let reused = bot.send_as("k-1", &other).await;
    assert!(refusal(&reused, 422).contains("Idempotency-Key"));
    bot.send_as(&"k".repeat(255), &body).await.expect(200);
    bot.send(&body).await.expect(200);
    assert_eq!(bot.host.rows(&bot.declared, "messages").await.len(), 3);
}

async fn a_key_belongs_to_its_partner(on: On) {
    let mut bot = Bot::new(on, json!({})).await;
    let file = format!(
        "{}\n[[partners]]\nname = \"other\"\n",
        instance("bot", &json!({}))
    );
    bot.declare(&file).await;
    let report = &bot.declared.report;
    let (workspace, other) = (report.workspace_id, report.partners["other"]);
    let (key, _) = bot
        .host
        .key(KeyKind::Partner, Some(workspace), Some(other))
        .await;
    let first = bot.send_as("k-1", &bot.body()).await.expect(200);
    let ask = bot.host.post("/send-notification").partner(&key);
    let second = ask.header("idempotency-key", "k-1").json(&bot.body());
    let second = second.send().await.expect(200);
    assert_ne!(first.header("x-message-id"), second.header("x-message-id"));
}

async fn a_refusal_of_the_provider_is_replayed(on: On) {
    let outcome = json!({"outcomes": [{"category": "recipient", "text": "not there"}]});
    let bot = Bot::new(on, outcome).await;
    let first = bot.send_as("k-1", &bot.body()).await.expect(400);
    same(&first, &bot.send_as("k-1", &bot.body()).await);
    assert_eq!(bot.host.rows(&bot.declared, "messages").await.len(), 1);
}

async fn an_unknown_template_is_replayed_and_a_mistake_is_not(on: On) {
    let bot = Bot::new(on, templates()).await;
    let mut unknown = bot.body();
    unknown["template"]["name"] = json!("later");
    let first = bot.send_as("k-1", &unknown).await;
    assert_eq!(refusal(&first, 500), "Template 'later' not found");
    same(&first, &bot.send_as("k-1", &unknown).await);
    assert!(bot.host.rows(&bot.declared, "contacts").await.is_empty());

    let mut wrong = bot.body();
    wrong["source"] = json!(7);
    issues(&bot.send_as("k-2", &wrong).await);
    bot.send_as("k-2", &bot.body()).await.expect(200);
}

async fn a_repeat_gets_the_same_answer_even_after_the_template_has_changed(on: On) {
    let mut bot = Bot::new(on, templates()).await;
    let first = bot.send_as("k-1", &bot.body()).await.expect(200);
    let text = "Olá {{1}}, sou {{2}}";
    let welcome = json!({"name": "welcome", "language": "pt_BR", "text": text});
    bot.configure(json!({"templates": [welcome]})).await;
    let app = &bot.host.app;
    let (workspace, instance) = (bot.declared.report.workspace_id, bot.instance("bot"));
    let connections = &app.pipeline.connections;
    let live = connections.for_instance(workspace, AgentId(instance)).await;
    let live = live.expect("a store").expect("a channel");
    let list = leadhost_pipeline::templates::sync(&app.pipeline, &live).await;
    assert_eq!(list.expect("a store").error, None);
    same(&first, &bot.send_as("k-1", &bot.body()).await);
    issues(&bot.send_as("k-2", &bot.body()).await);
    assert_eq!(bot.host.rows(&bot.declared, "messages").await.len(), 1);
}

/// A request whose host has stored its message and got no further.
async fn begun(bot: &Bot, body: &Value) -> MessageId {
    let host = &bot.host;
    let report = &bot.declared.report;
    let instance = AgentId(bot.instance("bot"));
    let connections = &host.app.pipeline.connections;
    let live = connections
        .for_instance(report.workspace_id, instance)
        .await;
    let live = live.expect("a store").expect("a channel");
    let phone = phone::normalise("+55 11 98765-4321", "BR");
    let now = host.now();
    let message = MessageId::new(now);
    let digest = Sha256::digest(body.to_string());
    let write = Write::Notify(Box::new(Notification {
        by: leadhost_domain::id::PartnerId(uuid::Uuid::nil()),
        channel: live.channel().expect("a channel"),
        message: NewMessage {
            id: message,
            template: TemplateName::default(),
            payload: "{}".to_owned(),
            content: None,
            until: now.plus(Duration::from_secs(86_400)),
        },
        details: NotificationDetails {
            name: "Ana".to_owned(),
            email: None,
            source: Some("test".to_owned()),
            transfer: true,
            special_instructions: None,
        },
        contact_keys: contact::keys(std::slice::from_ref(&phone), &[]),
        phone,
        deal: None,
        idempotency: Some(IdempotencyClaim {
            key: IdempotencyKey {
                workspace: report.workspace_id,
                partner: report.partners["acme"],
                route: "send-notification".to_owned(),
                key: "k-1".to_owned(),
            },
            fingerprint: digest.iter().map(|byte| format!("{byte:02x}")).collect(),
            retention: Duration::from_hours(72),
        }),
        lease_until: Some(now.plus(Duration::from_secs(60))),
    }));
    let written = host.store().commit(&[write]).await.expect("a commit");
    let stored = matches!(written[0], WriteOutcome::Notified(Notified::Stored { .. }));
    assert!(stored, "{written:?}");
    message
}

async fn a_repeat_while_the_first_one_runs_is_asked_to_retry(on: On) {
    // No background work runs: the first request stays where it is.
    let host = Host::start(Options::patient(on)).await;
    host.converter(guests::rust_component("adapter-sandbox"))
        .await;
    let declared = host.declare(&instance("bot", &json!({}))).await;
    let bot = Bot { host, declared };
    let body = bot.body();
    let message = begun(&bot, &body).await;
    let running = bot.send_as("k-1", &body).await;
    assert!(refusal(&running, 409).contains("under way"));
    assert_eq!(running.header("retry-after"), "1");
    // Its host is gone: the answer is the known state of the message.
    bot.host.advance(61).await;
    let answer = bot.send_as("k-1", &body).await.expect(200);
    assert_eq!(answer.header("idempotency-replayed"), "true");
    assert_eq!(answer.header("x-message-id"), message.to_string());
    assert_eq!(answer.header("x-message-status"), "sending");
    bot.host.work();
    bot.becomes(&answer, "unknown").await;
    let answer = bot.send_as("k-1", &body).await.expect(200);
    assert_eq!(answer.header("x-message-status"), "unknown");
}
