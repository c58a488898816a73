//! A send: begun, settled, or decided by an operator. Only the holder of its lease may
//! settle a send; any other settlement is stale. The exception is that the channel
//! accepted the message: that is true no matter who reports it and when, even for a message
//! that an operator has decided on in the meantime. A message that has a status from the
//! channel is out, and is never sent again.

use super::Message;
use super::dialogue::{NewHold, SendState};
use super::known::{Change, Known};
use super::{conversation, idempotency, references, status};
use crate::domain::contact;
use crate::domain::id::{MessageId, WorkspaceId};
use crate::domain::message::{Progress, State};
use crate::domain::time::Micros;
use crate::store::{
    Channel, MessageOutcome, Resolution, SendOutcome, SendSettlement, SendStart, Verdict, Written,
};

/// Returns the word for a send's state in its message.
pub(super) fn state_word(state: SendState) -> State {
    match state {
        SendState::Waiting => State::Waiting,
        SendState::Sending => State::Sending,
        SendState::Unknown => State::Unknown,
    }
}

/// Returns the state that the message records.
pub(super) fn state_of(message: &Message) -> State {
    State::from_text(&message.metadata.status).unwrap_or(State::Unknown)
}

/// Marks the call as about to be made. No other call is made until its outcome is known.
pub(super) fn begin(known: &mut Known, start: &SendStart) -> Written {
    let now = known.now;
    let is_held = known.dialogue.live_send(start.message).is_some_and(|send| {
        send.workspace == start.workspace
            && send.state == SendState::Waiting
            && send.lease == start.lease.0
            && send.lease_until.is_some_and(|until| now < until)
    });
    if !is_held {
        return Written::Stale;
    }
    if let Some(send) = known.dialogue.sends.get_mut(&start.message) {
        send.state = SendState::Sending;
        send.due_at = send.lease_until;
        send.change.touch();
    }
    say(known, start.message, State::Sending, None);
    outcome(known, start.workspace, start.message)
}

pub(super) fn settle(known: &mut Known, new: &SendSettlement) -> Written {
    let id = new.message;
    let was_accepted = matches!(new.outcome, SendOutcome::Accepted { .. });
    let is_held = known
        .dialogue
        .live_send(id)
        .is_some_and(|send| send.lease == new.lease.0 && send.lease_until.is_some());
    let message =
        known.dialogue.messages.get(&id).filter(|message| {
            message.workspace == new.channel.workspace && (is_held || was_accepted)
        });
    let Some(message) = message else {
        return Written::Stale;
    };
    let (contact, workspace) = (message.contact, message.workspace);
    let is_told = message.progress().state().is_some();
    match &new.outcome {
        SendOutcome::Accepted {
            external_ids,
            recipient_id,
            progress,
            word,
        } => {
            accepted(known, new, external_ids, progress);
            if let (Some(word), Some(message)) = (word, known.dialogue.messages.get_mut(&id))
                && message.metadata.channel_status.is_none()
            {
                message.metadata.channel_status = Some(word.clone());
                known.dialogue.touch_message(id);
            }
            if let Some(recipient_id) = recipient_id {
                let keys = contact::channel_keys(&new.channel.channel, recipient_id);
                known.add_contact_keys(workspace, contact, &keys);
                references::name_recipient(known, id, recipient_id);
            }
        }
        SendOutcome::Refused(error) => {
            let now = known.now;
            let progress = Progress::failed(now, error.clone());
            status::tell(known, &new.channel, id, None, &progress, Some(now));
            over(known, &new.channel, id);
        }
        // A status arrived before: the message is out, whatever the answer was.
        _ if is_told => over(known, &new.channel, id),
        SendOutcome::Later { at, error } => {
            wait(known, id, *at, 1);
            say(known, id, State::Waiting, Some(error.in_words()));
        }
        SendOutcome::Held { at } => {
            wait(known, id, *at, 0);
            let reason = known.dialogue.messages.get(&id);
            let reason = reason.and_then(|message| message.metadata.reason.clone());
            say(known, id, State::Waiting, reason);
        }
        SendOutcome::Unknown { reason } => {
            if let Some(send) = known.dialogue.sends.get_mut(&id) {
                send.state = SendState::Unknown;
                send.due_at = None;
                send.lease_until = None;
                send.change.touch();
            }
            say(known, id, State::Unknown, Some(reason.clone()));
        }
    }
    for hold in &new.holds {
        let key = (hold.connection.clone(), hold.contact);
        let until = known.dialogue.holds.entry(key).or_insert(hold.until);
        *until = hold.until.max(*until);
        known.dialogue.new_holds.push(NewHold {
            workspace,
            connection: hold.connection.clone(),
            contact: hold.contact,
            until: hold.until,
        });
    }
    if let Some(pause) = &new.pause {
        let pause = (new.channel.connection.clone(), pause.clone());
        known.pauses.push(pause);
    }
    if let Some((key, answer)) = &new.answer {
        idempotency::answer(known, key, answer);
    }
    outcome(known, workspace, id)
}

fn accepted(known: &mut Known, new: &SendSettlement, external_ids: &[String], progress: &Progress) {
    let id = new.message;
    let mut progress = progress.clone();
    let at = *progress.accepted_at.get_or_insert(known.now);
    // First, so that earlier statuses do not decide when the conversation began.
    drop_send(known, id);
    if let Some(message) = known.dialogue.messages.get(&id) {
        conversation::taken(known, &new.channel, message.conversation, at);
    }
    for external_id in external_ids {
        references::bind(known, &new.channel, external_id, id);
    }
    let external_id = external_ids.first().map(String::as_str);
    status::tell(known, &new.channel, id, external_id, &progress, Some(at));
    if let Some(message) = known.dialogue.messages.get_mut(&id)
        && message.metadata.reason.take().is_some()
    {
        known.dialogue.touch_message(id);
    }
}

/// Applies an operator's decision about a message that waits or whose outcome is unknown.
pub(super) fn resolve(known: &mut Known, new: &Resolution) -> Written {
    let now = known.now;
    let may = known
        .dialogue
        .live_send(new.message)
        .is_some_and(|send| send.workspace == new.workspace && send.state != SendState::Sending);
    if !may {
        return Written::Stale;
    }
    match new.verdict {
        Verdict::SendAgain { until } => {
            if let Some(send) = known.dialogue.sends.get_mut(&new.message) {
                send.state = SendState::Waiting;
                send.due_at = Some(now);
                send.until = until;
                send.change.touch();
            }
            say(known, new.message, State::Waiting, None);
        }
        Verdict::GiveUp => {
            status::give_up(known, new.message);
            drop_send(known, new.message);
            if let Some(message) = known.dialogue.messages.get(&new.message) {
                let (conversation, stored_at) = (message.conversation, message.created_at);
                conversation::not_taken(known, conversation, stored_at);
            }
        }
    }
    outcome(known, new.workspace, new.message)
}

/// Ends the send. The statuses of the message show whether anything went out.
pub(super) fn over(known: &mut Known, channel: &Channel, id: MessageId) {
    drop_send(known, id);
    let Some(message) = known.dialogue.messages.get(&id) else {
        return;
    };
    let (conversation, stored_at) = (message.conversation, message.created_at);
    match message.progress().taken_at() {
        Some(at) => conversation::taken(known, channel, conversation, at),
        None => conversation::not_taken(known, conversation, stored_at),
    }
}

fn drop_send(known: &mut Known, id: MessageId) {
    if let Some(send) = known.dialogue.sends.get_mut(&id) {
        send.change = Change::Removed;
    }
}

fn wait(known: &mut Known, id: MessageId, at: Micros, attempts: u32) {
    if let Some(send) = known.dialogue.sends.get_mut(&id) {
        send.state = SendState::Waiting;
        send.due_at = Some(at);
        send.attempts += attempts;
        send.lease_until = None;
        send.change.touch();
    }
}

/// Sets the message's state and reason, while no status has arrived.
fn say(known: &mut Known, id: MessageId, state: State, reason: Option<String>) {
    let Some(message) = known.dialogue.messages.get_mut(&id) else {
        return;
    };
    if message.metadata.status != state.as_str() || message.metadata.reason != reason {
        state.as_str().clone_into(&mut message.metadata.status);
        message.metadata.reason = reason;
        known.dialogue.touch_message(id);
    }
}

fn outcome(known: &Known, workspace: WorkspaceId, id: MessageId) -> Written {
    let message = known.dialogue.messages.get(&id);
    match message.filter(|message| message.workspace == workspace) {
        Some(message) => Written::Message(MessageOutcome {
            message: id,
            conversation: message.conversation,
            state: state_of(message),
        }),
        None => Written::Stale,
    }
}

#[cfg(test)]
mod tests {
    use super::super::sample::{accepted, conversation, decide, error, known, message};
    use super::super::sample::{notification, notify, settle, time};
    use super::*;
    use crate::store::{Lease, Notification, Write};

    fn claimed(known: &mut Known, lease: i64) -> MessageId {
        let waiting = Notification {
            lease_until: None,
            ..notification()
        };
        let id = notify(known, waiting);
        let send = known.dialogue.sends.get_mut(&id).expect("it waits");
        send.lease = lease;
        send.lease_until = Some(time(60));
        id
    }

    fn start(known: &mut Known, message: MessageId, lease: i64) -> bool {
        let start = SendStart {
            workspace: super::super::sample::channel().workspace,
            message,
            lease: Lease(lease),
        };
        matches!(decide(known, Write::Begin(start)), Written::Message(_))
    }

    #[test]
    fn only_the_holder_begins_a_call_and_only_while_its_lease_lasts() {
        let known = &mut known();
        let id = claimed(known, 7);
        assert!(!start(known, id, 6));
        known.now = time(60);
        assert!(!start(known, id, 7), "another may take it at any moment");
        known.now = time(59);
        assert!(start(known, id, 7));
        assert!(!start(known, id, 7), "it is under way");
    }

    #[test]
    fn only_an_acceptance_is_taken_from_any_host() {
        let known = &mut known();
        let id = claimed(known, 7);
        start(known, id, 7);
        let unknown = || SendOutcome::Unknown {
            reason: "no answer".to_owned(),
        };
        assert_eq!(settle(known, id, 6, unknown()), None);
        assert_eq!(settle(known, id, 7, unknown()), Some(State::Unknown));
        let late = settle(known, id, 6, accepted("w1", 1));
        assert_eq!(late, Some(State::Accepted));
        assert!(known.dialogue.live_send(id).is_none());
    }

    fn resolved(known: &mut Known, message: MessageId, verdict: Verdict) {
        let resolution = Resolution {
            workspace: super::super::sample::channel().workspace,
            message,
            verdict,
        };
        let written = decide(known, Write::Resolve(resolution));
        assert!(matches!(written, Written::Message(_)), "{written:?}");
    }

    #[test]
    fn an_accepted_message_is_not_sent_again_even_if_an_operator_asked_for_it() {
        let known = &mut known();
        let id = notify(known, notification());
        let unknown = SendOutcome::Unknown {
            reason: "its host was stopped".to_owned(),
        };
        settle(known, id, 0, unknown);
        resolved(known, id, Verdict::SendAgain { until: time(99) });
        let send = known.dialogue.sends.get_mut(&id).expect("it waits");
        (send.lease, send.lease_until) = (8, Some(time(60)));
        // Now the first host continues with the provider's answer.
        let late = settle(known, id, 0, accepted("w1", 1));
        assert_eq!(late, Some(State::Accepted));
        assert!(!start(known, id, 8), "it is out");
    }

    #[test]
    fn a_message_given_up_too_soon_still_gets_the_channels_id() {
        let known = &mut known();
        let id = claimed(known, 7);
        start(known, id, 7);
        let unknown = SendOutcome::Unknown {
            reason: "its host was stopped".to_owned(),
        };
        settle(known, id, 7, unknown);
        resolved(known, id, Verdict::GiveUp);
        assert!(settle(known, id, 7, accepted("w1", 1)).is_some());
        let read = Progress {
            read_at: Some(time(2)),
            ..Progress::default()
        };
        let said = super::super::sample::status("w1", None, read, 2);
        super::super::event::decide(known, &said);
        assert_eq!(message(known, id).metadata.external_ids, ["w1"]);
        assert_eq!(state_of(message(known, id)), State::Read);
    }

    #[test]
    fn a_message_with_a_status_stays_out_despite_a_refusal() {
        let known = &mut known();
        let id = notify(known, notification());
        let told = Progress {
            delivered_at: Some(time(1)),
            ..Progress::default()
        };
        let said = super::super::sample::status("w1", Some(id), told, 1);
        super::super::event::decide(known, &said);
        let state = settle(known, id, 0, SendOutcome::Refused(error("131000", "")));
        assert_eq!(state, Some(State::Delivered));
        assert_eq!(message(known, id).metadata.errors.len(), 1);
        assert_eq!(conversation(known, id).first_message_at, Some(time(1)));
    }
}
