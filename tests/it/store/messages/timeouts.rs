//! Timeouts of conversations: no answer, and no activity.

use leadhost_store::*;
use leadhost_tests::fields;
use serde_json::json;

use super::super::world::*;
use super::*;

pub async fn an_unanswered_conversation_is_handed_to_people_unless_the_notification_forbids_it(
    world: &World,
) {
    let first = out(world, "w1").await;
    let to = "+5511987650001";
    let mut quiet = urgent(world, to);
    quiet.details.transfer = false;
    let quiet = store(world, quiet).await;
    settle_send(world, quiet.message, 0, accepted(world, "w2")).await;
    world.advance(86_399).await;
    assert!(!elapse(world, first.conversation).await, "not yet");
    world.advance(1).await;
    assert_eq!(due(world).await.len(), 2);
    for (conversation, status) in [
        (first.conversation, "transferred"),
        (quiet.conversation, "no_response"),
    ] {
        assert!(elapse(world, conversation).await);
        assert!(!elapse(world, conversation).await, "once");
        let row = conversation_row(world, conversation).await;
        fields!(row, {"status": status, "no_response_at": world.now()});
        let handed_over = (status == "transferred").then_some(world.now());
        assert_eq!(row["transferred_at"], json!(handed_over));
    }
    assert!(due(world).await.is_empty());
    // It is settled: another message of ours does not start the timeout again.
    out(world, "w3").await;
    world.advance(86_400).await;
    assert!(due(world).await.is_empty());
}

pub async fn each_message_of_ours_gives_the_contact_new_time(world: &World) {
    let first = out(world, "w1").await;
    world.advance(3_600).await;
    let second = out(world, "w2").await;
    assert_eq!(first.conversation, second.conversation);
    world.advance(86_400 - 1).await;
    assert!(due(world).await.is_empty());
    world.advance(1).await;
    assert_eq!(due(world).await, [first.conversation]);
    let row = conversation_row(world, first.conversation).await;
    assert_eq!(row["first_message_at"], json!(START));
}

pub async fn an_idle_conversation_closes_and_the_next_message_opens_another(world: &World) {
    receive(world, inbound(world, "in1")).await;
    let first = due_after(world, 30 * 86_400).await;
    assert!(elapse(world, first).await);
    let row = conversation_row(world, first).await;
    fields!(row, {"status": "closed", "closed_at": world.now()});
    assert!(due(world).await.is_empty());
    assert!(!elapse(world, first).await, "it is over");
    receive(world, inbound(world, "in2")).await;
    let second = due_after(world, 30 * 86_400).await;
    assert_ne!(second, first);
    // It closes and the next one opens in one commit.
    let close = Write::Elapse(Elapse {
        workspace: world.workspace,
        conversation: second,
    });
    let notify = Write::Notify(Box::new(notification(world, PHONE)));
    let written = world.commit(&[close, notify]).await;
    assert!(matches!(written[0], WriteOutcome::Elapsed(true)));
    assert_ne!(stored(notified(written[1].clone())).conversation, second);
}

async fn due_after(world: &World, seconds: i64) -> ConversationId {
    world.advance(seconds).await;
    let [conversation] = due(world).await.try_into().expect("one is due");
    conversation
}

pub async fn a_conversation_that_is_unanswered_and_idle_is_handed_over_and_closed(world: &World) {
    let new = out(world, "w1").await;
    world.advance(40 * 86_400).await;
    assert!(elapse(world, new.conversation).await);
    let row = conversation_row(world, new.conversation).await;
    assert_eq!(row["status"], "closed");
    assert!(row["no_response_at"].is_string() && row["transferred_at"].is_string());
    assert!(due(world).await.is_empty());
}

pub async fn a_timeout_of_an_unknown_conversation_changes_nothing(world: &World) {
    let new = out(world, "w1").await;
    world.advance(40 * 86_400).await;
    let unknown = Write::Elapse(Elapse {
        workspace: world.workspace,
        conversation: ConversationId::new(world.now()),
    });
    let written = world.commit(&[unknown]).await;
    assert!(matches!(written[0], WriteOutcome::Elapsed(false)));
    assert_eq!(due(world).await, [new.conversation]);
}
