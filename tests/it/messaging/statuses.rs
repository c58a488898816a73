//! Statuses that come before the answer to the send.

use leadhost_tests::provider::BEGINNING;
use leadhost_tests::{On, fields};

use super::fixture::{OTHER_PHONE, PHONE, WhatsAppFixture};

leadhost_tests::on_every_store! {
    a_status_before_the_answer_is_not_lost,
}

/// The provider accepts the message, sends its status, and only then answers
/// the send.
async fn a_status_before_the_answer_is_not_lost(on: On) {
    let desk = WhatsAppFixture::new(on).await;
    for (number, phone) in [PHONE, OTHER_PHONE].into_iter().enumerate() {
        let (sending, wamid) = desk.hanging(phone).await;
        let mut status = desk.whatsapp.status_of(&wamid, "delivered");
        if phone == OTHER_PHONE {
            status = status.without_opaque();
        }
        desk.whatsapp.queue(status.at(BEGINNING + 1));
        desk.flush().await;
        desk.whatsapp.release();
        let answer = sending.await.expect("no panic").expect(200);
        let sent = desk.sent(&answer);
        desk.becomes(&sent.message, "delivered").await;
        let row = desk.row("messages", &sent.message).await;
        let delivered_at = "2030-01-15T12:00:01.000000Z";
        fields!(row, {"delivered_at": delivered_at, "metadata.externalIds": [wamid]});
        assert_eq!(desk.whatsapp.sends().len(), number + 1);
    }
}
