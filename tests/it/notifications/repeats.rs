//! Idempotency keys: a request with a key is done once, and its repeats get the
//! same answer.

use leadhost_domain::id::AgentId;
use leadhost_domain::key::KeyKind;
use leadhost_tests::{Answer, On};
use serde_json::{Value, json};

use super::answers::templates;
use super::{Bot, instance, issues, refusal};

leadhost_tests::on_every_store! {
    the_same_notification_twice_is_one_message,
    a_key_belongs_to_its_partner,
    a_refusal_of_the_provider_is_replayed,
    an_unknown_template_is_replayed_and_a_mistake_is_not,
    a_repeat_gets_the_same_answer_even_after_the_template_has_changed,
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
