//! A send: begun, settled, or decided by an operator. Only the holder of its lease may
//! settle a send; any other settlement is stale. The exception is that the channel
//! accepted the message: that is true no matter who reports it and when, even for a message
//! that an operator has decided on in the meantime. A message that has a status from the
//! channel is out, and is never sent again.

use super::dialogue::{NewHold, SendState};
use super::{conversation, idempotency, people, progress, references, status};
use crate::decide::prelude::*;
use crate::{MessageOutcome, MessageVerdict, Resolution, SendOutcome, SendSettlement, SendStart};

/// Returns the word for a send's state in its message.
pub(super) fn state_word(state: SendState) -> MessageState {
    match state {
        SendState::Waiting => MessageState::Waiting,
        SendState::Sending => MessageState::Sending,
        SendState::Unknown => MessageState::Unknown,
    }
}

/// Marks the call as about to be made. No other call is made until its outcome is known.
pub(super) fn begin(set: &mut WorkingSet, start: &SendStart) -> WriteOutcome {
    let now = set.now;
    let is_held = set.dialogue.live_send(start.message).is_some_and(|send| {
        send.workspace == start.workspace
            && send.state == SendState::Waiting
            && send.lease == start.lease.0
            && send.lease_until.is_some_and(|until| now < until)
    });
    if !is_held {
        return WriteOutcome::Stale;
    }
    if let Some(send) = set.dialogue.sends.get_mut(&start.message) {
        send.state = SendState::Sending;
        send.due_at = send.lease_until;
        send.change.touch();
    }
    say(set, start.message, MessageState::Sending, None);
    outcome(set, start.workspace, start.message)
}

/// Records the outcome of a call to the provider. Returns [`WriteOutcome::Stale`] if the lease is
/// not held and the provider did not accept the message, or if the message is unknown.
pub(super) fn settle(set: &mut WorkingSet, new: &SendSettlement) -> WriteOutcome {
    let id = new.message;
    let was_accepted = matches!(new.outcome, SendOutcome::Accepted { .. });
    if let SendOutcome::Accepted { external_ids, .. } = &new.outcome
        && !set.dialogue.messages.contains_key(&id)
    {
        references::forget(set, &new.channel, external_ids);
    }
    let is_held = set
        .dialogue
        .live_send(id)
        .is_some_and(|send| send.lease == new.lease.0 && send.lease_until.is_some());
    let message =
        set.dialogue.messages.get(&id).filter(|message| {
            message.workspace == new.channel.workspace && (is_held || was_accepted)
        });
    let Some(message) = message else {
        return WriteOutcome::Stale;
    };
    let (contact, workspace) = (message.contact, message.workspace);
    let has_status = message.progress().state().is_some();
    if new.ran.is_some()
        && let Some(message) = set.dialogue.messages.get_mut(&id)
        && message.ran != new.ran
    {
        message.ran.clone_from(&new.ran);
        set.dialogue.touch_message(id);
    }
    match &new.outcome {
        SendOutcome::Accepted {
            external_ids,
            recipient_id,
            progress,
            word,
        } => {
            accepted(set, new, external_ids, progress);
            if let (Some(word), Some(message)) = (word, set.dialogue.messages.get_mut(&id))
                && message.metadata.channel_status.is_none()
            {
                message.metadata.channel_status = Some(word.clone());
                set.dialogue.touch_message(id);
            }
            if let Some(recipient_id) = recipient_id {
                let keys = contact::channel_keys(&new.channel.channel, recipient_id);
                set.add_contact_keys(workspace, contact, &keys);
                references::name_recipient(set, id, recipient_id);
            }
            people::identify(set, workspace, contact, &new.further_keys);
        }
        SendOutcome::Refused(error) => {
            let now = set.now;
            let progress = MessageProgress::failed(now, error.clone());
            progress::apply(set, &new.channel, id, None, &progress, Some(now));
            progress::end_send(set, &new.channel, id);
        }
        // A status arrived before: the message is out, whatever the answer was.
        _ if has_status => progress::end_send(set, &new.channel, id),
        SendOutcome::Later { at, error } => {
            wait(set, id, *at, 1);
            say(set, id, MessageState::Waiting, Some(error.in_words()));
        }
        SendOutcome::Held { at } => {
            wait(set, id, *at, 0);
            let reason = set.dialogue.messages.get(&id);
            let reason = reason.and_then(|message| message.metadata.reason.clone());
            say(set, id, MessageState::Waiting, reason);
        }
        SendOutcome::Unknown { reason } => {
            if let Some(send) = set.dialogue.sends.get_mut(&id) {
                send.state = SendState::Unknown;
                send.due_at = None;
                send.lease_until = None;
                send.change.touch();
            }
            say(set, id, MessageState::Unknown, Some(reason.clone()));
        }
    }
    for hold in &new.holds {
        let key = (hold.connection.clone(), hold.contact);
        let until = set.dialogue.holds.entry(key).or_insert(hold.until);
        *until = hold.until.max(*until);
        set.dialogue.new_holds.push(NewHold {
            workspace,
            connection: hold.connection.clone(),
            contact: hold.contact,
            until: hold.until,
        });
    }
    if let Some(pause) = &new.pause {
        let pause = (new.channel.connection.clone(), pause.clone());
        set.pauses.push(pause);
    }
    if let Some((key, answer)) = &new.answer {
        idempotency::answer(set, key, answer);
    }
    outcome(set, workspace, id)
}

fn accepted(
    set: &mut WorkingSet,
    new: &SendSettlement,
    external_ids: &[String],
    progress: &MessageProgress,
) {
    let id = new.message;
    let mut progress = progress.clone();
    let at = *progress.accepted_at.get_or_insert(set.now);
    // First, so that earlier statuses do not decide when the conversation began.
    progress::drop_send(set, id);
    if let Some(message) = set.dialogue.messages.get(&id) {
        conversation::taken(set, &new.channel, message.conversation, at);
    }
    for external_id in external_ids {
        references::bind(set, &new.channel, external_id, id);
    }
    let external_id = external_ids.first().map(String::as_str);
    progress::apply(set, &new.channel, id, external_id, &progress, Some(at));
    if let Some(message) = set.dialogue.messages.get_mut(&id)
        && message.metadata.reason.take().is_some()
    {
        set.dialogue.touch_message(id);
    }
}

/// Applies an operator's decision about a message that waits or whose outcome is unknown.
pub(super) fn resolve(set: &mut WorkingSet, new: &Resolution) -> WriteOutcome {
    let now = set.now;
    let may = set
        .dialogue
        .live_send(new.message)
        .is_some_and(|send| send.workspace == new.workspace && send.state != SendState::Sending);
    if !may {
        return WriteOutcome::Stale;
    }
    match new.verdict {
        MessageVerdict::SendAgain { until } => {
            if let Some(send) = set.dialogue.sends.get_mut(&new.message) {
                send.state = SendState::Waiting;
                send.due_at = Some(now);
                send.until = until;
                send.change.touch();
            }
            say(set, new.message, MessageState::Waiting, None);
        }
        MessageVerdict::GiveUp => {
            status::give_up(set, new.message);
            progress::drop_send(set, new.message);
            if let Some(message) = set.dialogue.messages.get(&new.message) {
                let (conversation, stored_at) = (message.conversation, message.created_at);
                conversation::not_taken(set, conversation, stored_at);
            }
        }
    }
    outcome(set, new.workspace, new.message)
}

fn wait(set: &mut WorkingSet, id: MessageId, at: Micros, attempts: u32) {
    if let Some(send) = set.dialogue.sends.get_mut(&id) {
        send.state = SendState::Waiting;
        send.due_at = Some(at);
        send.attempts += attempts;
        send.lease_until = None;
        send.change.touch();
    }
}

fn say(set: &mut WorkingSet, id: MessageId, state: MessageState, reason: Option<String>) {
    let Some(message) = set.dialogue.messages.get_mut(&id) else {
        return;
    };
    if message.metadata.status != state.as_str() || message.metadata.reason != reason {
        state.as_str().clone_into(&mut message.metadata.status);
        message.metadata.reason = reason;
        set.dialogue.touch_message(id);
    }
}

fn outcome(set: &WorkingSet, workspace: WorkspaceId, id: MessageId) -> WriteOutcome {
    let message = set.dialogue.messages.get(&id);
    match message.filter(|message| message.workspace == workspace) {
        Some(message) => WriteOutcome::Message(MessageOutcome {
            message: id,
            conversation: message.conversation,
            state: message.state(),
        }),
        None => WriteOutcome::Stale,
    }
}

#[cfg(test)]
mod tests {
    use super::super::sample::{accepted, conversation, decide, error, message, working_set};
    use super::super::sample::{notification, notify, settle, time};
    use super::*;
    use crate::{Lease, Notification, Write};

    fn claimed(set: &mut WorkingSet, lease: i64) -> MessageId {
        let waiting = Notification {
            lease_until: None,
            ..notification()
        };
        let id = notify(set, waiting);
        let send = set.dialogue.sends.get_mut(&id).expect("it waits");
        send.lease = lease;
        send.lease_until = Some(time(60));
        id
    }

    #[test]
    fn an_accepted_send_gives_the_contact_the_recipients_further_ids() {
        let set = &mut working_set();
        let id = notify(set, notification());
        let channel = super::super::sample::channel();
        let key = contact::channel_key(&channel.channel, "BR.1");
        let write = Write::Sent(Box::new(SendSettlement {
            channel: channel.clone(),
            message: id,
            lease: Lease(0),
            outcome: accepted("w1", 1),
            further_keys: vec![key.clone()],
            ran: None,
            holds: Vec::new(),
            pause: None,
            answer: None,
        }));
        decide(set, write);
        let owner = set.contact_keys.get(&(channel.workspace, key));
        assert_eq!(owner, Some(&message(set, id).contact));
    }

    fn start(set: &mut WorkingSet, message: MessageId, lease: i64) -> bool {
        let start = SendStart {
            workspace: super::super::sample::channel().workspace,
            message,
            lease: Lease(lease),
        };
        matches!(decide(set, Write::Begin(start)), WriteOutcome::Message(_))
    }

    #[test]
    fn only_the_holder_begins_a_call_and_only_while_its_lease_lasts() {
        let set = &mut working_set();
        let id = claimed(set, 7);
        assert!(!start(set, id, 6));
        set.now = time(60);
        assert!(!start(set, id, 7), "another may take it at any moment");
        set.now = time(59);
        assert!(start(set, id, 7));
        assert!(!start(set, id, 7), "it is under way");
    }

    #[test]
    fn only_an_acceptance_is_taken_from_any_host() {
        let set = &mut working_set();
        let id = claimed(set, 7);
        start(set, id, 7);
        let unknown = || SendOutcome::Unknown {
            reason: "no answer".to_owned(),
        };
        assert_eq!(settle(set, id, 6, unknown()), None);
        assert_eq!(settle(set, id, 7, unknown()), Some(MessageState::Unknown));
        let late = settle(set, id, 6, accepted("w1", 1));
        assert_eq!(late, Some(MessageState::Accepted));
        assert!(set.dialogue.live_send(id).is_none());
    }

    fn resolved(set: &mut WorkingSet, message: MessageId, verdict: MessageVerdict) {
        let resolution = Resolution {
            workspace: super::super::sample::channel().workspace,
            message,
            verdict,
        };
        let written = decide(set, Write::Resolve(resolution));
        assert!(matches!(written, WriteOutcome::Message(_)), "{written:?}");
    }

    #[test]
    fn an_accepted_message_is_not_sent_again_even_if_an_operator_asked_for_it() {
        let set = &mut working_set();
        let id = notify(set, notification());
        let unknown = SendOutcome::Unknown {
            reason: "its host was stopped".to_owned(),
        };
        settle(set, id, 0, unknown);
        resolved(set, id, MessageVerdict::SendAgain { until: time(99) });
        let send = set.dialogue.sends.get_mut(&id).expect("it waits");
        (send.lease, send.lease_until) = (8, Some(time(60)));
        // Now the first host continues with the provider's answer.
        let late = settle(set, id, 0, accepted("w1", 1));
        assert_eq!(late, Some(MessageState::Accepted));
        assert!(!start(set, id, 8), "it is out");
    }

    #[test]
    fn a_message_given_up_too_soon_still_gets_the_channels_id() {
        let set = &mut working_set();
        let id = claimed(set, 7);
        start(set, id, 7);
        let unknown = SendOutcome::Unknown {
            reason: "its host was stopped".to_owned(),
        };
        settle(set, id, 7, unknown);
        resolved(set, id, MessageVerdict::GiveUp);
        assert!(settle(set, id, 7, accepted("w1", 1)).is_some());
        let read = MessageProgress {
            read_at: Some(time(2)),
            ..MessageProgress::default()
        };
        let said = super::super::sample::status("w1", None, read, 2);
        super::super::event::decide(set, &said, None);
        assert_eq!(message(set, id).metadata.external_ids, ["w1"]);
        assert_eq!(message(set, id).state(), MessageState::Read);
    }

    #[test]
    fn a_message_with_a_status_counts_as_sent_despite_a_later_refusal() {
        let set = &mut working_set();
        let id = notify(set, notification());
        let delivered = MessageProgress {
            delivered_at: Some(time(1)),
            ..MessageProgress::default()
        };
        let said = super::super::sample::status("w1", Some(id), delivered, 1);
        super::super::event::decide(set, &said, None);
        let state = settle(set, id, 0, SendOutcome::Refused(error("131000", "")));
        assert_eq!(state, Some(MessageState::Delivered));
        assert_eq!(message(set, id).metadata.errors.len(), 1);
        assert_eq!(conversation(set, id).first_message_at, Some(time(1)));
    }
}
