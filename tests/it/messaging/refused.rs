//! Every error of the interface for notifications and the report, and the
//! provider's final refusals.

use leadhost_tests::provider::Misbehaviour;
use leadhost_tests::{Json, On, fields, has, until};

use super::fixture::{OTHER_PHONE, PHONE, WhatsAppFixture, refusal, template};

leadhost_tests::on_every_store! {
    phones_in_every_spelling_are_taken,
    an_unapproved_template_is_refused_with_that_reason,
    a_template_that_was_approved_meanwhile_goes_out,
    a_template_that_the_provider_refuses_is_looked_up_again,
    without_a_valid_key_nothing_is_revealed,
    a_recipient_who_cannot_be_reached_is_refused_with_the_providers_words,
    a_text_that_the_provider_refuses_is_a_fault_of_the_request,
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
        has!(message, name, say);
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
    has!(message, "The recipient cannot receive this message");
    let errors = desk.errors("").await;
    assert_eq!(errors.len(), 1);
    fields!(errors, {
        "0.error_code": "131026", "0.recipient_id": format!("+{}", super::fixture::WA_ID),
        "0.template_name": "boas_vindas", "0.external_id": null,
    });
    let conversation = desk.only("conversations").await;
    fields!(conversation, {"status": "pending", "first_message_at": null});
    let message = errors[0]["message_id"].text();
    assert_eq!(desk.state(message).await, "failed");
    desk.host.pass(24 * 3_600).await;
    desk.greets(OTHER_PHONE).await;
    assert_eq!(desk.whatsapp.accepted_for(super::fixture::WA_ID), 0);
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
