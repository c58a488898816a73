//! Every error of the interface for notifications and the report, and the
//! provider's final refusals.

use leadhost_tests::provider::Misbehaviour;
use leadhost_tests::{Answer, On, until};
use serde_json::{Value, json};

use super::fixture::{OTHER_PHONE, PHONE, WhatsAppFixture, refusal, template};

leadhost_tests::on_every_store! {
    a_wrong_payload_gets_all_of_its_issues,
    a_body_that_is_no_object_is_refused,
    both_formats_or_neither_are_refused,
    an_impossible_phone_is_refused,
    phones_in_every_spelling_are_taken,
    an_unknown_instance_is_refused_with_the_interfaces_words,
    an_instance_without_a_channel_sends_nothing,
    an_instance_of_another_workspace_is_unknown,
    an_unknown_template_is_refused_with_the_interfaces_words,
    an_unapproved_template_is_refused_with_that_reason,
    a_template_that_was_approved_meanwhile_goes_out,
    a_template_that_the_provider_refuses_is_looked_up_again,
    without_a_valid_key_nothing_is_revealed,
    a_recipient_who_cannot_be_reached_is_refused_with_the_providers_words,
    outside_the_window_is_refused,
    a_text_that_the_provider_refuses_is_a_fault_of_the_request,
    unknown_fields_do_no_harm,
    a_conversation_without_a_sent_message_is_pending,
}

fn issues(answer: Answer) -> Vec<Value> {
    let message = refusal(answer, 400);
    let issues: Value = serde_json::from_str(&message).expect("a list of issues");
    issues.as_array().expect("a list").clone()
}

fn issue<'a>(issues: &'a [Value], path: &str) -> &'a Value {
    let found = issues.iter().find(|issue| issue["path"] == json!([path]));
    found.unwrap_or_else(|| panic!("nothing about {path}: {issues:?}"))
}

async fn a_wrong_payload_gets_all_of_its_issues(on: On) {
    let desk = WhatsAppFixture::new(on).await;
    let request = json!({
        "phoneNumber": 5511987650101_u64,
        "email": "no e-mail",
        "instanceId": "first",
        "source": null,
        "ignoreTransferToDeskIfUnanswered": "yes",
        "template": template("aviso", &[]),
    });
    let issues = issues(desk.notify(&request).send().await);
    let name = issue(&issues, "name");
    assert_eq!(name["code"], "invalid_type");
    assert_eq!(name["expected"], "string");
    assert_eq!(name["received"], "undefined");
    assert_eq!(name["message"], "Required");
    assert_eq!(issue(&issues, "phoneNumber")["received"], "number");
    assert_eq!(issue(&issues, "email")["code"], "invalid_string");
    assert_eq!(issue(&issues, "email")["validation"], "email");
    assert_eq!(issue(&issues, "instanceId")["code"], "invalid_type");
    assert_eq!(issue(&issues, "source")["received"], "null");
    assert_eq!(
        issue(&issues, "ignoreTransferToDeskIfUnanswered")["expected"],
        "boolean"
    );
    assert_eq!(issues.len(), 6);
}

async fn a_body_that_is_no_object_is_refused(on: On) {
    let desk = WhatsAppFixture::new(on).await;
    for body in ["", "no JSON", "[]", "\"text\"", "{"] {
        let ask = desk.notify(&json!({})).body(body);
        refusal(ask.send().await, 400);
    }
    let large = json!({"name": "x".repeat(1 << 20)});
    refusal(desk.notify(&large).send().await, 413);
}

async fn both_formats_or_neither_are_refused(on: On) {
    let desk = WhatsAppFixture::new(on).await;
    let mut both = desk.greeting(PHONE);
    both["messageTemplate"] = json!("boas_vindas");
    issues(desk.notify(&both).send().await);
    let mut neither = desk.greeting(PHONE);
    neither
        .as_object_mut()
        .expect("an object")
        .remove("template");
    issues(desk.notify(&neither).send().await);
    assert!(desk.whatsapp.sends().is_empty());
}

async fn an_impossible_phone_is_refused(on: On) {
    let desk = WhatsAppFixture::new(on).await;
    for phone in [
        "",
        "123",
        "Ilda",
        "+0",
        "(00) 12345-6789",
        "99999999999999999999",
    ] {
        let issues = issues(desk.notify(&desk.greeting(phone)).send().await);
        issue(&issues, "phoneNumber");
    }
    assert!(desk.messages().await.is_empty());
}

async fn phones_in_every_spelling_are_taken(on: On) {
    let desk = WhatsAppFixture::new(on).await;
    for (phone, expect) in [
        ("11987650101", "5511987650101"),
        ("(11) 98765-0101", "5511987650101"),
        ("+55 11 98765-0101", "5511987650101"),
        ("5511987650101", "5511987650101"),
        ("0055 11 98765-0101", "5511987650101"),
        ("p:+5511987650101", "5511987650101"),
        ("whatsapp:+5511987650101", "5511987650101"),
        ("tel:011987650101", "5511987650101"),
        ("(55) 99876-0101", "5555998760101"),
        ("+351 912 345 678", "351912345678"),
    ] {
        let before = desk.whatsapp.accepted_for(expect);
        let answer = desk.notify(&desk.greeting(phone)).send().await;
        assert_eq!(answer.status, 200, "{phone}: {:?}", answer.body);
        assert_eq!(desk.whatsapp.accepted_for(expect), before + 1, "{phone}");
    }
}

async fn an_unknown_instance_is_refused_with_the_interfaces_words(on: On) {
    let desk = WhatsAppFixture::new(on).await;
    for instance in [json!(desk.instance() + 1_000), json!(0), json!(-1)] {
        let mut request = desk.greeting(PHONE);
        request["instanceId"] = instance;
        let message = refusal(desk.notify(&request).send().await, 400);
        assert_eq!(message, "Instance not found");
    }
}

async fn an_instance_without_a_channel_sends_nothing(on: On) {
    let desk = WhatsAppFixture::new(on).await;
    let mut request = desk.greeting(PHONE);
    request["instanceId"] = json!(desk.declared.report.instances["desk"].0);
    refusal(desk.notify(&request).send().await, 400);
    assert!(desk.messages().await.is_empty());
}

async fn an_instance_of_another_workspace_is_unknown(on: On) {
    let desk = WhatsAppFixture::new(on).await;
    let other = desk.host.workspace("other").await;
    let request = desk.greeting(PHONE);
    let ask = desk.host.post("/send-notification").json(&request);
    let answer = ask.partner(&other.partner_key).send().await;
    assert_eq!(refusal(answer, 400), "Instance not found");
}

async fn an_unknown_template_is_refused_with_the_interfaces_words(on: On) {
    let desk = WhatsAppFixture::new(on).await;
    let mut request = desk.notification(PHONE, template("nenhum", &["Ilda"]));
    let message = refusal(desk.notify(&request).send().await, 500);
    assert_eq!(message, "Template 'nenhum' not found");
    // In a language that it does not have, the template is unknown too.
    request["template"] = json!({"name": "boas_vindas", "language": {"code": "fr"}});
    let message = refusal(desk.notify(&request).send().await, 500);
    assert_eq!(message, "Template 'boas_vindas' not found");
    let fields = request.as_object_mut().expect("an object");
    fields.remove("template");
    fields.insert("messageTemplate".to_owned(), json!("nenhum"));
    let message = refusal(desk.notify(&request).send().await, 500);
    assert_eq!(message, "Template 'nenhum' not found");
    assert!(desk.whatsapp.sends().is_empty());
    assert!(desk.messages().await.is_empty());
    assert!(
        desk.host
            .rows(&desk.declared, "conversations")
            .await
            .is_empty()
    );
}

async fn an_unapproved_template_is_refused_with_that_reason(on: On) {
    let desk = WhatsAppFixture::new(on).await;
    for (name, say) in [
        ("pausado", "paused"),
        ("recusado", "rejected"),
        ("em_analise", "pending"),
        ("desligado", "disabled"),
    ] {
        let request = desk.notification(PHONE, template(name, &["Ilda"]));
        let message = refusal(desk.notify(&request).send().await, 500);
        assert!(message.contains(name) && message.contains(say), "{message}");
    }
    assert!(desk.whatsapp.sends().is_empty());
}

async fn a_template_that_was_approved_meanwhile_goes_out(on: On) {
    let desk = WhatsAppFixture::new(on).await;
    let request = desk.notification(PHONE, template("pausado", &["Ilda"]));
    let answered = async |status: u16| {
        until("the list follows the provider", async || {
            let answer = desk.notify(&request).send().await;
            (answer.status == status).then_some(answer)
        })
        .await
    };
    refusal(answered(500).await, 500);
    for (state, status) in [("APPROVED", 200), ("PAUSED", 500)] {
        desk.whatsapp.set_template_status("pausado", "pt_BR", state);
        desk.flush().await;
        answered(status).await;
    }
    assert_eq!(desk.whatsapp.accepted()[0].send.template, "pausado");
}

async fn a_template_that_the_provider_refuses_is_looked_up_again(on: On) {
    let desk = WhatsAppFixture::new(on).await;
    // No webhook about the change arrives: it stays with the provider.
    desk.whatsapp
        .set_template_status("boas_vindas", "pt_BR", "PAUSED");
    desk.host.advance(61).await;
    let first = refusal(desk.notify(&desk.greeting(PHONE)).send().await, 500);
    assert!(first.starts_with("Template 'boas_vindas': "), "{first}");
    let asked = desk.whatsapp.sends().len();
    assert_eq!(asked, 1);
    until("the list says it", async || {
        let message = refusal(desk.notify(&desk.greeting(PHONE)).send().await, 500);
        (message == "Template 'boas_vindas' is paused").then_some(())
    })
    .await;
}

async fn without_a_valid_key_nothing_is_revealed(on: On) {
    let desk = WhatsAppFixture::new(on).await;
    let ask = || {
        desk.host
            .post("/send-notification")
            .json(&desk.greeting(PHONE))
    };
    let workspace = desk.declared.key("workspace");
    for ask in [
        ask(),
        ask().header("x-service-api-key", "pk_nonsense"),
        ask().header("x-service-api-key", &workspace),
        ask().header("authorization", &format!("Bearer {workspace}")),
    ] {
        refusal(ask.send().await, 401);
    }
    assert!(desk.whatsapp.sends().is_empty());
}

async fn a_recipient_who_cannot_be_reached_is_refused_with_the_providers_words(on: On) {
    let desk = WhatsAppFixture::new(on).await;
    desk.whatsapp.absent(super::fixture::WA_ID);
    let answer = desk.notify(&desk.greeting(PHONE)).send().await;
    let message = refusal(answer, 400);
    assert!(
        message.contains("The recipient cannot receive this message"),
        "{message}"
    );
    let errors = desk.errors("").await;
    assert_eq!(errors.len(), 1);
    assert_eq!(errors[0]["error_code"], "131026");
    assert_eq!(
        errors[0]["recipient_id"],
        format!("+{}", super::fixture::WA_ID)
    );
    assert_eq!(errors[0]["template_name"], "boas_vindas");
    assert!(errors[0]["external_id"].is_null());
    let message = errors[0]["message_id"].as_str().expect("a message");
    assert_eq!(desk.state(message).await, "failed");
    desk.host.pass(24 * 3_600).await;
    desk.greets(OTHER_PHONE).await;
    assert_eq!(desk.whatsapp.accepted_for(super::fixture::WA_ID), 0);
}

async fn outside_the_window_is_refused(on: On) {
    let desk = WhatsAppFixture::new(on).await;
    desk.whatsapp.next_sends(1, Misbehaviour::Code(131_047));
    let message = refusal(desk.notify(&desk.greeting(PHONE)).send().await, 400);
    assert!(message.contains("24 hours"), "{message}");
}

async fn a_text_that_the_provider_refuses_is_a_fault_of_the_request(on: On) {
    let desk = WhatsAppFixture::new(on).await;
    for code in [100, 132_018] {
        desk.whatsapp.next_sends(1, Misbehaviour::Code(code));
        refusal(desk.notify(&desk.greeting(PHONE)).send().await, 400);
        let errors = desk.errors(&format!("&error_code={code}")).await;
        assert_eq!(errors.len(), 1, "{code}");
    }
}

async fn unknown_fields_do_no_harm(on: On) {
    let desk = WhatsAppFixture::new(on).await;
    let mut request = desk.greeting(PHONE);
    request["campaign"] = json!({"id": 7});
    request["template"]["namespace"] = json!("x");
    let answer = desk.notify(&request).send().await.expect(200);
    desk.sent(&answer);
}

async fn a_conversation_without_a_sent_message_is_pending(on: On) {
    let desk = WhatsAppFixture::new(on).await;
    desk.whatsapp.absent(super::fixture::WA_ID);
    refusal(desk.notify(&desk.greeting(PHONE)).send().await, 400);
    let conversations = desk.host.rows(&desk.declared, "conversations").await;
    assert_eq!(conversations.len(), 1);
    assert_eq!(conversations[0]["status"], "pending");
    assert!(conversations[0]["first_message_at"].is_null());
}
