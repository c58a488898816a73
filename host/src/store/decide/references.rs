//! The channel's ids of messages. What is said of an id before its message is
//! known waits with the id, for a while, and is the message's as soon as it is
//! known: so the answer to a send and its statuses come to the same in any order.

use super::dialogue::{Reference, ReferenceKey};
use super::known::{Change, Known};
use super::status;
use crate::domain::id::MessageId;
use crate::domain::message::{Actor, Progress};
use crate::limits;
use crate::store::Channel;

/// From now on the channel's id is this message; whether that is news. An id that
/// is another message's stays that one's, and a message has so many and no more. Of
/// a message that came in there is nothing to say: what was said of its id is dropped.
pub(super) fn bind(known: &mut Known, channel: &Channel, external_id: &str, id: MessageId) -> bool {
    let is_full = known.dialogue.messages.get(&id).is_some_and(|message| {
        message.metadata.external_ids.len() >= limits::EXTERNAL_IDS_PER_MESSAGE
    });
    if is_full {
        return false;
    }
    let key = (channel.connection.clone(), external_id.to_owned());
    let Some((said, recipient_id)) = take(known, channel, key, id) else {
        return false;
    };
    if let Some(message) = known.dialogue.messages.get_mut(&id) {
        let ids = &mut message.metadata.external_ids;
        let is_inbound = message.actor == Actor::Contact;
        if let Err(at) = ids.binary_search_by(|known| known.as_str().cmp(external_id)) {
            ids.insert(at, external_id.to_owned());
            known.dialogue.touch_message(id);
        }
        if is_inbound {
            return true;
        }
    }
    if let Some(recipient_id) = recipient_id {
        name_recipient(known, id, &recipient_id);
    }
    if !said.is_empty() {
        status::tell(known, channel, id, Some(external_id), &said, None);
    }
    true
}

/// Makes the id the message's, and takes what was said of it before.
fn take(
    known: &mut Known,
    channel: &Channel,
    key: ReferenceKey,
    id: MessageId,
) -> Option<(Progress, Option<String>)> {
    if let Some(reference) = known.dialogue.references.get_mut(&key) {
        if reference.message.is_some() {
            return None;
        }
        reference.message = Some(id);
        reference.until = None;
        reference.change.touch();
        let said = std::mem::take(&mut reference.progress);
        return Some((said, reference.recipient_id.take()));
    }
    let reference = Reference {
        workspace: channel.workspace,
        message: Some(id),
        progress: Progress::default(),
        recipient_id: None,
        until: None,
        change: Change::New,
    };
    known.dialogue.references.insert(key, reference);
    Some((Progress::default(), None))
}

/// Keeps what is said of an id whose message is not known; whether that is news.
pub(super) fn wait(
    known: &mut Known,
    channel: &Channel,
    key: ReferenceKey,
    said: &Progress,
    recipient_id: Option<&str>,
) -> bool {
    let until = known.now.plus(limits::REFERENCE_KEPT_MICROS);
    let references = &mut known.dialogue.references;
    let reference = references.entry(key).or_insert_with(|| Reference {
        workspace: channel.workspace,
        message: None,
        progress: Progress::default(),
        recipient_id: None,
        until: Some(until),
        change: Change::New,
    });
    let mut news = reference.progress.merge(said);
    if let (None, Some(id)) = (&reference.recipient_id, recipient_id) {
        reference.recipient_id = Some(id.to_owned());
        news = true;
    }
    if news {
        reference.change.touch();
    }
    news
}

/// The other side of a message, as the channel names it, where nobody knew; whether
/// that is news.
pub(super) fn name_recipient(known: &mut Known, id: MessageId, recipient_id: &str) -> bool {
    let Some(message) = known.dialogue.messages.get_mut(&id) else {
        return false;
    };
    if message.metadata.recipient_id.is_some() {
        return false;
    }
    message.metadata.recipient_id = Some(recipient_id.to_owned());
    known.dialogue.touch_message(id);
    true
}
