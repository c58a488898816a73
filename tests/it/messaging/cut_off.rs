//! Sends that are cut off at one end: the partner disconnects, or the lease
//! expires in the middle of the call.

use leadhost_tests::provider::{Misbehaviour, Taken, WhatsApp};
use leadhost_tests::{On, Options, until};
use tokio::io::AsyncWriteExt as _;

use super::fixture::{PHONE, WA_ID, WhatsAppFixture, ids};

leadhost_tests::on_every_store! {
    a_partner_that_hangs_up_loses_nothing,
    a_lease_that_ends_in_the_middle_of_a_call_makes_no_second_call,
}

async fn a_partner_that_hangs_up_loses_nothing(on: On) {
    let desk = WhatsAppFixture::new(on).await;
    desk.whatsapp.next_sends(1, Misbehaviour::Hang(Taken::Yes));
    let body = desk.greeting(PHONE).to_string();
    let request = format!(
        "POST /send-notification HTTP/1.1\r\nhost: a\r\nx-service-api-key: {}\r\ncontent-length: {}\r\n\r\n{body}",
        desk.declared.key("partner"),
        body.len()
    );
    let mut partner = desk.host.raw().await;
    partner
        .write_all(request.as_bytes())
        .await
        .expect("it is open");
    desk.whatsapp.hangs(1).await;
    drop(partner);
    desk.whatsapp.release();
    until("the message is accepted", async || {
        let messages = desk.messages().await;
        let message = messages.first()?;
        (message.metadata.status == "accepted").then_some(())
    })
    .await;
    assert_eq!(desk.whatsapp.accepted_for(WA_ID), 1);
}

async fn a_lease_that_ends_in_the_middle_of_a_call_makes_no_second_call(on: On) {
    // The wait for a hanging call runs on the machine's clock.
    let options = Options::patient(on).with("messages.answer_seconds", 1);
    let options = options.with("worker.fetch_seconds", 600);
    let desk = WhatsAppFixture::with(options, WhatsApp::start()).await;
    desk.whatsapp.next_sends(1, Misbehaviour::Hang(Taken::Yes));
    let answer = desk.notify(&desk.greeting(PHONE)).send().await.expect(200);
    assert_eq!(answer.header("x-message-status"), "sending");
    let (_, message) = ids(&answer);
    desk.whatsapp.hangs(1).await;
    // By the store's clock the lease of its holder has expired.
    desk.host.pass(61).await;
    desk.becomes(&message, "unknown").await;
    desk.host.pass(3_600).await;
    desk.greets("(11) 98765-0699").await;
    assert_eq!(desk.state(&message).await, "unknown");
    // The holder was only slow: the provider's answer still counts.
    desk.whatsapp.release();
    desk.becomes(&message, "accepted").await;
    assert_eq!(desk.whatsapp.accepted_for(WA_ID), 1);
}
