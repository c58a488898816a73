//! Timeouts of conversations: no answer, and no activity.

use super::*;

pub async fn an_unanswered_conversation_is_handed_to_people_unless_the_notification_forbids_it(
    world: &World,
) {
    let first = out(world, "w1").await;
    let mut quiet = urgent(world, "+5511987650001");
    quiet.details.transfer = false;
    let quiet = store(world, quiet).await;
    accept_send(world, &quiet, "w2").await;
    world.advance(DAY - 1).await;
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
        let handed_over = (status == "transferred").then_some(world.now());
        fields!(row, {
            "status": status, "no_response_at": world.now(), "transferred_at": handed_over,
        });
    }
    assert!(due(world).await.is_empty());
    // It is settled: another message of ours does not start the timeout again.
    out(world, "w3").await;
    world.advance(DAY).await;
    assert!(due(world).await.is_empty());
}

pub async fn each_message_of_ours_gives_the_contact_new_time(world: &World) {
    let first = out(world, "w1").await.conversation;
    world.advance(3_600).await;
    assert_eq!(out(world, "w2").await.conversation, first);
    world.advance(DAY - 1).await;
    assert!(due(world).await.is_empty());
    world.advance(1).await;
    assert_eq!(due(world).await, [first]);
    let row = conversation_row(world, first).await;
    assert_eq!(row["first_message_at"], json!(START));
}

pub async fn an_idle_conversation_closes_and_the_next_message_opens_another(world: &World) {
    let due_after_a_month = async || {
        world.advance(30 * DAY).await;
        let [conversation] = due(world).await.try_into().expect("one is due");
        conversation
    };
    receive(world, inbound(world, "in1")).await;
    let first = due_after_a_month().await;
    assert!(elapse(world, first).await);
    let row = conversation_row(world, first).await;
    fields!(row, {"status": "closed", "closed_at": world.now()});
    assert!(due(world).await.is_empty());
    assert!(!elapse(world, first).await, "it is over");
    receive(world, inbound(world, "in2")).await;
    let second = due_after_a_month().await;
    assert_ne!(second, first);
    // It closes and the next one opens in one commit.
    let next = notify_write(notification(world, PHONE));
    let mut written = world.commit(&[elapse_write(world, second), next]).await;
    assert_ne!(stored(written.remove(1)).conversation, second);
    assert!(outcome!(written.remove(0), Elapsed));
}

pub async fn a_conversation_that_is_unanswered_and_idle_is_handed_over_and_closed(world: &World) {
    let new = out(world, "w1").await;
    world.advance(40 * DAY).await;
    assert!(elapse(world, new.conversation).await);
    let row = conversation_row(world, new.conversation).await;
    assert_eq!(row["status"], "closed");
    assert!(row["no_response_at"].is_string() && row["transferred_at"].is_string());
    assert!(due(world).await.is_empty());
}

pub async fn a_timeout_of_an_unknown_conversation_changes_nothing(world: &World) {
    let new = out(world, "w1").await;
    world.advance(40 * DAY).await;
    assert!(!elapse(world, ConversationId::new(world.now())).await);
    assert_eq!(due(world).await, [new.conversation]);
}
