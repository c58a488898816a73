//! The progress of a message, as its channel reports it: added to the message, to the report of
//! failures and to the contact, and the end of the message's send.

use super::dialogue::SendState;
use super::failure_report::{self, FailureSource, ReportedFailure};
use super::{conversation, people};
use crate::decide::prelude::*;
use leadhost_domain::channel::Category;

/// Adds a status to a message, under the channel's id or its own. Returns whether it was
/// new. The message is out from then on. Without a time, the status was reported before,
/// and the report has its own times.
pub(super) fn apply(
    set: &mut WorkingSet,
    channel: &Channel,
    id: MessageId,
    external_id: Option<&str>,
    said: &MessageProgress,
    at: Option<Micros>,
) -> bool {
    let Some(message) = set.dialogue.messages.get_mut(&id) else {
        return false;
    };
    let contact = message.contact;
    let before = message.metadata.errors.clone();
    let mut news = message.absorb(said);
    if news {
        set.dialogue.touch_message(id);
    }
    let of = external_id.map_or_else(|| id.to_string(), str::to_owned);
    for error in &said.errors {
        let failure = ReportedFailure {
            of: &of,
            external_id,
            error,
            at: at.or(said.failed_at),
            is_reported_again: at.is_none(),
            phone: None,
        };
        let (is_news, since) =
            failure_report::add(set, &FailureSource::from(channel), Some(id), &failure);
        news |= is_news;
        let is_first = !before.iter().any(|set| set.code == error.code);
        // A repeat does not ban a contact again who has opted in since. For a contact who
        // is still banned, an earlier time of the same error counts.
        if error.category == Category::OptOut
            && (is_first || (is_news && people::is_banned(set, contact)))
        {
            people::ban(set, contact, since);
        }
    }
    // A send whose call is under way is settled by its holder, which has the answer.
    let send = set.dialogue.live_send(id);
    if send.is_some_and(|send| send.state != SendState::Sending) {
        end_send(set, channel, id);
        news = true;
    }
    news
}

/// Ends the send of a message. The statuses of the message show whether anything went out.
pub(super) fn end_send(set: &mut WorkingSet, channel: &Channel, id: MessageId) {
    drop_send(set, id);
    let Some(message) = set.dialogue.messages.get(&id) else {
        return;
    };
    let (conversation, stored_at) = (message.conversation, message.created_at);
    match message.progress().taken_at() {
        Some(at) => conversation::taken(set, channel, conversation, at),
        None => conversation::not_taken(set, conversation, stored_at),
    }
}

pub(super) fn drop_send(set: &mut WorkingSet, id: MessageId) {
    if let Some(send) = set.dialogue.sends.get_mut(&id) {
        send.change = RowChange::Removed;
    }
}
