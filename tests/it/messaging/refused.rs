//! Templates whose state at the provider has changed since they were listed.

use leadhost_tests::{On, eventually, until};

use super::fixture::{PHONE, WhatsAppFixture, refusal, template};

leadhost_tests::on_every_store! {
    a_template_that_was_approved_meanwhile_goes_out,
    a_template_that_the_provider_refuses_is_looked_up_again,
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
    assert_eq!(desk.whatsapp.sends().len(), 1);
    eventually("the list says it", async || {
        let message = refusal(desk.notify(&desk.greeting(PHONE)).send().await, 500);
        message == "Template 'boas_vindas' is paused"
    })
    .await;
}
