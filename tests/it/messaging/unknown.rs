//! Sends with an unknown outcome: they are never repeated automatically, until a
//! status or an operator settles them.

use leadhost_tests::provider::{BEGINNING, Misbehaviour, Taken};
use leadhost_tests::whatsapp::WhatsApp;
use leadhost_tests::{On, Options};

use super::fixture::{PHONE, WA_ID, WhatsAppFixture, ids};

leadhost_tests::on_every_store! {
    a_send_that_hangs_is_not_repeated,
    a_send_whose_connection_breaks_is_not_repeated,
    a_send_whose_connection_ends_is_not_repeated,
    a_page_of_html_in_place_of_an_answer_is_not_repeated,
    a_send_with_an_empty_answer_is_not_repeated,
    a_success_without_an_id_is_not_repeated,
    a_send_that_was_never_read_is_not_repeated,
}

/// The provider accepts the message but gives no valid answer: the message is
/// unknown, and stays so for any time, until a status arrives.
async fn settled_by_a_status(on: On, what: Misbehaviour) {
    let mut options = Options::patient(on);
    if matches!(what, Misbehaviour::Hang(_)) {
        // The wait for a hanging call runs on the machine's clock: short, but
        // long enough for all that does not hang.
        options = options
            .with("messages.answer_seconds", 1)
            .with("worker.fetch_seconds", 8);
    }
    let desk = WhatsAppFixture::with(options, WhatsApp::start()).await;
    desk.whatsapp.next_sends(1, what);
    let answer = desk.notify(&desk.greeting(PHONE)).send().await.expect(200);
    let (conversation, message) = ids(&answer);
    assert_eq!(answer.json()["success"], true);
    desk.becomes(&message, "unknown").await;
    for (hours, other) in [(1, "(11) 98765-0601"), (100, "(11) 98765-0602")] {
        desk.host.pass(hours * 3_600).await;
        // Other messages go out, so this one had time to go out too.
        desk.greets(other).await;
    }
    assert_eq!(desk.state(&message).await, "unknown");
    assert_eq!(desk.whatsapp.accepted_for(WA_ID), 1);

    let accepted = desk.whatsapp.accepted();
    let taken = accepted
        .iter()
        .find(|taken| taken.send.opaque.as_deref() == Some(&message))
        .expect("it was taken");
    desk.whatsapp.set_time(BEGINNING + 10);
    desk.whatsapp.status(&taken.id, "delivered");
    desk.flush().await;
    let row = desk.row("messages", &message).await;
    assert_eq!(row["metadata"]["status"], "delivered");
    assert_eq!(row["conversation_id"], conversation);
    assert_eq!(row["metadata"]["externalIds"][0], taken.id);
    desk.host.pass(100 * 3_600).await;
    desk.greets("(11) 98765-0699").await;
    assert_eq!(desk.whatsapp.accepted_for(WA_ID), 1);
}

async fn a_send_that_hangs_is_not_repeated(on: On) {
    settled_by_a_status(on, Misbehaviour::Hang(Taken::Yes)).await;
}

async fn a_send_whose_connection_breaks_is_not_repeated(on: On) {
    settled_by_a_status(on, Misbehaviour::Reset(Taken::Yes)).await;
}

async fn a_send_whose_connection_ends_is_not_repeated(on: On) {
    settled_by_a_status(on, Misbehaviour::Close(Taken::Yes)).await;
}

async fn a_page_of_html_in_place_of_an_answer_is_not_repeated(on: On) {
    settled_by_a_status(on, Misbehaviour::Html(502, Taken::Yes)).await;
}

async fn a_send_with_an_empty_answer_is_not_repeated(on: On) {
    settled_by_a_status(on, Misbehaviour::Empty(503, Taken::Yes)).await;
}

async fn a_success_without_an_id_is_not_repeated(on: On) {
    settled_by_a_status(on, Misbehaviour::NoId).await;
}

/// A message with an unknown outcome: the provider did not even read it, which
/// cannot be seen from outside.
async fn unknown(on: On) -> (WhatsAppFixture, String) {
    let desk = WhatsAppFixture::new(on).await;
    desk.whatsapp.next_sends(1, Misbehaviour::ResetUnread);
    let answer = desk.notify(&desk.greeting(PHONE)).send().await.expect(200);
    let (_, message) = ids(&answer);
    desk.becomes(&message, "unknown").await;
    assert_eq!(answer.header("x-message-status"), "unknown");
    (desk, message)
}

async fn a_send_that_was_never_read_is_not_repeated(on: On) {
    let (desk, message) = unknown(on).await;
    desk.host.pass(100 * 3_600).await;
    desk.greets("(11) 98765-0699").await;
    assert_eq!(desk.state(&message).await, "unknown");
    assert_eq!(desk.whatsapp.accepted_for(WA_ID), 0);
}
