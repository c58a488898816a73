//! The channel's ids of messages. Statuses for an id whose message is not known yet are
//! kept with the id for a while, and are applied as soon as the message is known. So the
//! answer to a send and its statuses have the same result in any order.

use super::dialogue::ReferenceKey;
use super::{Reference, progress};
use crate::decide::prelude::*;
use crate::{Event, NewEvent, erased_reference};

/// Binds the channel's id to this message, and returns whether that was new. An id that
/// already belongs to another message stays there, and a message has a maximum number of
/// ids. Incoming messages have no statuses: those that were kept for the id are dropped.
pub(super) fn bind(
    set: &mut WorkingSet,
    channel: &Channel,
    external_id: &str,
    id: MessageId,
) -> bool {
    let is_full = set.dialogue.messages.get(&id).is_some_and(|message| {
        message.metadata.external_ids.len() >= limits::EXTERNAL_IDS_PER_MESSAGE
    });
    if is_full {
        return false;
    }
    let key = (channel.connection.clone(), external_id.to_owned());
    let Some((said, recipient_id)) = take(set, channel, key, id) else {
        return false;
    };
    if let Some(message) = set.dialogue.messages.get_mut(&id) {
        let is_inbound = message.is_incoming();
        let ids = &mut message.metadata.external_ids;
        if let Err(at) = ids.binary_search_by(|set| set.as_str().cmp(external_id)) {
            ids.insert(at, external_id.to_owned());
            set.dialogue.touch_message(id);
        }
        if is_inbound {
            return true;
        }
    }
    if let Some(recipient_id) = recipient_id {
        name_recipient(set, id, &recipient_id);
    }
    if !said.is_empty() {
        progress::apply(set, channel, id, Some(external_id), &said, None);
    }
    true
}

/// Binds the id to the message, and returns the statuses that were kept for it.
fn take(
    set: &mut WorkingSet,
    channel: &Channel,
    key: ReferenceKey,
    id: MessageId,
) -> Option<(MessageProgress, Option<String>)> {
    if let Some(reference) = set.dialogue.references.get_mut(&key) {
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
        progress: MessageProgress::default(),
        recipient_id: None,
        until: None,
        change: RowChange::New,
    };
    set.dialogue.references.insert(key, reference);
    Some((MessageProgress::default(), None))
}

/// Returns whether an event is a status of a message to a person who was erased.
pub(super) fn is_erased(set: &WorkingSet, new: &NewEvent) -> bool {
    let Event::Status { external_id, .. } = &new.event else {
        return false;
    };
    let key = (
        new.channel.connection.clone(),
        erased_reference(external_id),
    );
    set.dialogue.references.contains_key(&key)
}

/// Remembers the channel's ids of a message that was erased before the channel named it.
pub(super) fn forget(set: &mut WorkingSet, channel: &Channel, external_ids: &[String]) {
    let until = set.now.plus(limits::ERASED_REFERENCE_RETENTION);
    for id in external_ids {
        let key = (channel.connection.clone(), erased_reference(id));
        kept(set, channel, key, until);
    }
}

/// Returns what is kept of an id whose message is not known, or keeps it until then.
fn kept<'a>(
    set: &'a mut WorkingSet,
    channel: &Channel,
    key: ReferenceKey,
    until: Micros,
) -> &'a mut Reference {
    let references = &mut set.dialogue.references;
    references.entry(key).or_insert_with(|| Reference {
        workspace: channel.workspace,
        message: None,
        progress: MessageProgress::default(),
        recipient_id: None,
        until: Some(until),
        change: RowChange::New,
    })
}

/// Keeps a status for an id whose message is not known. Returns whether it was new.
pub(super) fn wait(
    set: &mut WorkingSet,
    channel: &Channel,
    key: ReferenceKey,
    said: &MessageProgress,
    recipient_id: Option<&str>,
) -> bool {
    let until = set.now.plus(limits::REFERENCE_RETENTION);
    let reference = kept(set, channel, key, until);
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

/// Stores the recipient's id on the channel, if it was not known. Returns whether that
/// was new.
pub(super) fn name_recipient(set: &mut WorkingSet, id: MessageId, recipient_id: &str) -> bool {
    let Some(message) = set.dialogue.messages.get_mut(&id) else {
        return false;
    };
    if message.metadata.recipient_id.is_some() {
        return false;
    }
    message.metadata.recipient_id = Some(recipient_id.to_owned());
    set.dialogue.touch_message(id);
    true
}
