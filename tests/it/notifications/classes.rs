//! The classes of a provider's refusals: the answer, the failed or waiting
//! message, and which other messages have to wait.

use leadhost_tests::{Answer, Json, Log, On, fields, has};
use serde_json::{Value, json};

use super::{Bot, instance, refusal};

leadhost_tests::on_every_store! {
    final_refusals_fail_the_message_and_are_answered_to_the_partner,
    passing_refusals_keep_the_message_and_it_goes_out_later,
    a_throttled_recipient_waits_alone,
    a_throttled_number_waits_as_a_whole,
    a_throttled_account_holds_the_instances_that_share_it,
    a_fault_that_the_operator_has_to_correct_pauses_the_instance,
    an_unknown_outcome_is_never_repeated,
    a_message_that_waited_too_long_is_given_up,
    a_message_is_given_up_at_its_time_though_the_provider_asks_to_wait_longer,
    a_contact_who_opted_out_gets_no_further_message,
    a_waiting_message_is_given_up_when_its_contact_opts_out,
}

/// A sandbox that refuses messages to this phone in this way.
fn refuses(phone: &str, category: &str, retry_after: u32) -> Value {
    json!({"outcomes": [{
        "recipient": phone,
        "category": category,
        "code": "77",
        "text": "the provider says no",
        "retryAfterSeconds": retry_after,
    }]})
}

const ANA: &str = "+5511987654321";
const BIA: &str = "+5521998765432";

impl Bot {
    async fn send_to(&self, instance: &str, phone: &str) -> Answer {
        let mut body = self.body();
        body["phoneNumber"] = json!(phone);
        body["instanceId"] = json!(self.instance(instance));
        body.as_object_mut().expect("an object").remove("email");
        self.send(&body).await
    }

    async fn errors(&self) -> Vec<Value> {
        let ask = self
            .host
            .get("/v1/reports/message_errors?updated_since=2030-01-01");
        let key = format!("Bearer {}", self.declared.key("workspace"));
        let page = ask.header("authorization", &key).send().await;
        page.expect(200).json()["data"].list().clone()
    }
}

async fn final_refusals_fail_the_message_and_are_answered_to_the_partner(on: On) {
    let mut bot = Bot::new(on, json!({})).await;
    let no = "the provider says no (code 77)";
    let unusable = format!("Template 'welcome': {no}");
    for (category, code, status, message) in [
        ("request", "provider_refused", 400, no),
        ("recipient", "provider_refused", 400, no),
        ("window", "provider_refused", 400, no),
        (
            "unknown-template",
            "template_not_found",
            500,
            "Template 'welcome' not found",
        ),
        ("template", "template_unusable", 500, &unusable),
    ] {
        bot.configure(refuses(ANA, category, 0)).await;
        let answer = bot.send_to("bot", ANA).await;
        assert_eq!(refusal(&answer, status), message, "{category}");
        assert_eq!(answer.json()["code"], code, "{category}");
        assert_eq!(answer.header("x-message-status"), "failed");
        let message = bot.message(answer.header("x-message-id")).await;
        assert_eq!(message["metadata"]["status"], "failed", "{category}");
        fields!(&message["metadata"]["errors"][0], {"code": "77", "category": category});
    }
}

async fn passing_refusals_keep_the_message_and_it_goes_out_later(on: On) {
    let mut bot = Bot::new(on, refuses(ANA, "transient", 0)).await;
    let answer = bot.send_to("bot", ANA).await.expect(200);
    assert_eq!(answer.header("x-message-status"), "waiting");
    let message = bot.message(answer.header("x-message-id")).await;
    let reason = message["metadata"]["reason"].as_str().unwrap_or_default();
    has!(reason, "the provider says no"; "{message}");
    // Not before its time.
    bot.stays(&answer, "waiting").await;
    bot.host.pass(4).await;
    bot.stays(&answer, "waiting").await;
    bot.configure(json!({})).await;
    bot.host.pass(1).await;
    bot.becomes(&answer, "delivered").await;
}

async fn a_throttled_recipient_waits_alone(on: On) {
    let mut bot = Bot::new(on, refuses(ANA, "throttled-recipient", 3_600)).await;
    let first = bot.send_to("bot", ANA).await.expect(200);
    bot.configure(json!({})).await;
    let second = bot.send_to("bot", ANA).await.expect(200);
    let other = bot.send_to("bot", BIA).await.expect(200);
    assert_eq!(first.header("x-message-status"), "waiting");
    assert_eq!(second.header("x-message-status"), "waiting");
    assert_eq!(other.header("x-message-status"), "delivered");
    bot.host.pass(3_599).await;
    bot.stays(&first, "waiting").await;
    bot.stays(&second, "waiting").await;
    bot.host.pass(1).await;
    bot.becomes(&first, "delivered").await;
    bot.becomes(&second, "delivered").await;
}

async fn a_throttled_number_waits_as_a_whole(on: On) {
    let mut bot = Bot::new(on, refuses(ANA, "throttled-number", 600)).await;
    bot.send_to("bot", ANA).await.expect(200);
    let other = bot.send_to("bot", BIA).await.expect(200);
    assert_eq!(other.header("x-message-status"), "waiting");
    bot.configure(json!({})).await;
    bot.host.pass(599).await;
    bot.stays(&other, "waiting").await;
    bot.host.pass(1).await;
    bot.becomes(&other, "delivered").await;
}

async fn a_throttled_account_holds_the_instances_that_share_it(on: On) {
    let mut bot = Bot::new(on, json!({})).await;
    let of = |name: &str, account: &str, config: Value| {
        let text = instance(name, &config);
        let routes = format!("adapter = \"sandbox\"\nroutes = {{ account = [\"{account}\"] }}");
        text.replace("adapter = \"sandbox\"", &routes)
    };
    let file = [
        of("bot", "one", refuses(ANA, "throttled-account", 600)),
        of("twin", "one", json!({})),
        of("stranger", "two", json!({})),
    ];
    bot.declare(&file.concat()).await;
    bot.send_to("bot", ANA).await.expect(200);
    let status = async |name: &str| {
        let answer = bot.send_to(name, BIA).await.expect(200);
        answer.header("x-message-status").to_owned()
    };
    assert_eq!(status("bot").await, "waiting");
    assert_eq!(status("twin").await, "waiting");
    assert_eq!(status("stranger").await, "delivered");
}

async fn a_fault_that_the_operator_has_to_correct_pauses_the_instance(on: On) {
    let log = Log::capture();
    let mut bot = Bot::new(on, json!({})).await;
    for category in ["account", "connection"] {
        bot.configure(refuses(ANA, category, 0)).await;
        let first = bot.send_to("bot", ANA).await.expect(200);
        assert_eq!(first.header("x-message-status"), "waiting");
        let reason = bot.paused().await.expect("the instance is paused");
        has!(reason, "the provider says no");
        let logged = log.take();
        assert_eq!(logged.matches("instance paused: ").count(), 1, "{logged}");
        let other = bot.send_to("bot", BIA).await.expect(200);
        assert_eq!(other.header("x-message-status"), "waiting");
        bot.host.pass(7_200).await;
        bot.stays(&other, "waiting").await;
        bot.configure(json!({})).await;
        bot.resume().await;
        bot.becomes(&first, "delivered").await;
        bot.becomes(&other, "delivered").await;
    }
}

async fn an_unknown_outcome_is_never_repeated(on: On) {
    let mut bot = Bot::new(on, refuses(ANA, "unknown", 0)).await;
    let answer = bot.send_to("bot", ANA).await.expect(200);
    assert_eq!(answer.header("x-message-status"), "unknown");
    bot.configure(json!({})).await;
    for _ in 0..3 {
        bot.host.pass(50_000).await;
        bot.stays(&answer, "unknown").await;
    }
    assert!(bot.errors().await.is_empty());
}

async fn a_message_that_waited_too_long_is_given_up(on: On) {
    let mut bot = Bot::new(on, refuses(ANA, "transient", 0)).await;
    let file = instance("bot", &refuses(ANA, "transient", 0));
    let file = file.replace("adapter =", "keep_for = \"1h\"\nadapter =");
    bot.declare(&file).await;
    let answer = bot.send_to("bot", ANA).await.expect(200);
    assert_eq!(answer.header("x-message-status"), "waiting");
    bot.host.pass(3_600).await;
    bot.becomes(&answer, "failed").await;
    let errors = bot.errors().await;
    assert_eq!(errors.len(), 1);
    fields!(errors, {"0.error_code": "expired", "0.message_id": answer.header("x-message-id")});
}

async fn a_message_is_given_up_at_its_time_though_the_provider_asks_to_wait_longer(on: On) {
    let mut bot = Bot::new(on, json!({})).await;
    let file = instance("bot", &refuses(ANA, "transient", 7_200));
    let file = file.replace("adapter =", "keep_for = \"1h\"\nadapter =");
    bot.declare(&file).await;
    let answer = bot.send_to("bot", ANA).await.expect(200);
    bot.host.pass(3_599).await;
    bot.stays(&answer, "waiting").await;
    bot.host.pass(1).await;
    bot.becomes(&answer, "failed").await;
}

async fn opts_out(bot: &Bot, phone: &str) {
    let address = &bot.declared.report.channels["bot"];
    let event = json!({"events": [{"optOut": {"from": phone}}]});
    let response = bot.host.post(address).json(&event).send().await;
    response.expect(200);
}

async fn a_waiting_message_is_given_up_when_its_contact_opts_out(on: On) {
    let mut bot = Bot::new(on, refuses(ANA, "transient", 0)).await;
    let answer = bot.send_to("bot", ANA).await.expect(200);
    opts_out(&bot, ANA).await;
    bot.configure(json!({})).await;
    bot.host.pass(5).await;
    bot.becomes(&answer, "failed").await;
    assert_eq!(bot.errors().await[0]["error_code"], "opted-out");
}

async fn a_contact_who_opted_out_gets_no_further_message(on: On) {
    let bot = Bot::new(on, json!({})).await;
    bot.send_to("bot", ANA).await.expect(200);
    opts_out(&bot, ANA).await;
    let answer = bot.send_to("bot", ANA).await;
    assert!(refusal(&answer, 400).contains("does not want"));
    assert_eq!(answer.json()["code"], "contact_opted_out");
    assert_eq!(bot.host.rows(&bot.declared, "messages").await.len(), 1);
    bot.send_to("bot", BIA).await.expect(200);
}
