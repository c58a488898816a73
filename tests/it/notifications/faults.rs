//! Faults of an adapter are the operator's to correct: a message that fails
//! before the call is retried; one that fails after it has an unknown outcome.

use leadhost_tests::{Host, On, eventually, guests, has};
use serde_json::{Value, json};

use super::{Bot, instance_of, refusal};

leadhost_tests::on_every_store! {
    a_message_is_retried_after_its_adapter_failed_before_the_call,
    a_call_off_the_allow_list_pauses_the_instance,
    a_list_that_cannot_be_read_is_no_list_and_an_old_one_stays,
}

/// A bot whose adapter misbehaves like this in this function.
async fn harm(on: On, function: &str, word: &str) -> Bot {
    let host = Host::working(on).await;
    host.converter(guests::misbehave_adapter()).await;
    let declared = host.declare(&instance_with(function, word)).await;
    Bot { host, declared }
}

fn instance_with(function: &str, word: &str) -> String {
    let config: Value = json!({"in": function, "do": word, "size": 2});
    instance_of("misbehave-adapter", "bot", &config)
}

/// The adapter's list has this template without a placeholder.
fn body(bot: &Bot) -> Value {
    let mut body = bot.body();
    body["template"]["components"] = json!([]);
    body
}

async fn a_message_is_retried_after_its_adapter_failed_before_the_call(on: On) {
    let mut bot = harm(on, "send", "trap").await;
    let answer = bot.send(&body(&bot)).await.expect(200);
    assert_eq!(answer.header("x-message-status"), "waiting");
    assert_eq!(bot.paused().await, None);
    bot.declare(&instance_with("send", "slot")).await;
    bot.host.pass(5).await;
    // Its next attempt counts from the last one, and the clock stands.
    bot.waits_again(&answer).await;
    bot.declare(&instance_with("send", "accept")).await;
    bot.host.pass(10).await;
    bot.becomes(&answer, "accepted").await;
}

async fn a_call_off_the_allow_list_pauses_the_instance(on: On) {
    let mut bot = harm(on, "send", "call").await;
    let answer = bot.send(&body(&bot)).await.expect(200);
    assert_eq!(answer.header("x-message-status"), "waiting");
    let reason = bot.paused().await.expect("the instance is paused");
    has!(reason, "not on the allow-list");
    bot.declare(&instance_with("send", "accept")).await;
    bot.resume().await;
    bot.becomes(&answer, "accepted").await;
}

async fn a_list_that_cannot_be_read_is_no_list_and_an_old_one_stays(on: On) {
    let mut bot = harm(on, "list-templates", "trap").await;
    let mut unknown = body(&bot);
    unknown["template"]["name"] = json!("nothing");
    // The provider would decide, but the allow-list does not permit asking it.
    let answer = bot.send(&unknown).await.expect(200);
    assert_eq!(answer.header("x-message-status"), "waiting");
    bot.declare(&instance_with("send", "accept")).await;
    bot.resume().await;
    bot.host.advance(61).await;
    let refused = async |bot: &Bot| {
        let answer = bot.send(&unknown).await;
        assert_eq!(refusal(&answer, 500), "Template 'nothing' not found");
    };
    eventually("the list is read", async || {
        let answer = bot.send(&unknown).await;
        answer.status == 500
    })
    .await;
    bot.declare(&instance_with("list-templates", "refuse"))
        .await;
    refused(&bot).await;
}
