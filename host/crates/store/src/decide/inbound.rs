//! An incoming message: a new row, in the conversation of the message that it answers or in its contact's
//! conversation. A contact may write first. A note, such as a reaction, is kept if there is a conversation
//! that it is about, which it does not change.

use super::conversation::{self, RepliedTo};
use super::people::{self, PersonDetails};
use super::references;
use crate::NewInboundMessage;
use crate::decide::prelude::*;
use leadhost_domain::message::{self, Actor, Metadata};

/// Adds an incoming message to its conversation. A message with a known external id is a
/// duplicate. `ran` is the version that read it.
pub(super) fn decide(
    set: &mut WorkingSet,
    channel: &Channel,
    new: &NewInboundMessage,
    ran: Option<&RanWith>,
) -> ItemRecord {
    let external_id = Some(new.external_id.clone());
    if let Some(before) = message_of(set, channel, &new.external_id) {
        let before = set.dialogue.messages.get(&before);
        let conversation = before.map(|message| message.conversation);
        return ItemRecord {
            contact: before.map(|message| message.contact),
            deal: conversation.and_then(|id| set.dialogue.conversations.get(&id)?.deal),
            ..ItemRecord::new(ItemStatus::Duplicate, external_id)
        };
    }
    // If the provider's clock is ahead, the message is still not in the future.
    let at = new.at.min(set.now);
    let word = new.channel_type.as_deref().unwrap_or(new.kind);
    let replied_to = replied_to(set, channel, new);
    let place = if message::is_written(word) {
        let details = PersonDetails {
            keys: &new.contact_keys,
            name: new.name.as_deref(),
            phone_number: new.phone.as_ref().and_then(|phone| phone.e164.as_deref()),
            ..PersonDetails::default()
        };
        let contact = people::find_or_create(set, channel.workspace, &details);
        let (conversation, at) = conversation::for_receiving(set, channel, contact, replied_to, at);
        Some((contact, conversation, at))
    } else {
        let place = place_of_note(set, channel, new, replied_to);
        place.map(|(contact, conversation)| {
            let at = conversation::time_after_last(set, conversation, at);
            (contact, conversation, at)
        })
    };
    let Some((contact, conversation, at)) = place else {
        let words = format!("a message of the type `{word}` begins no conversation");
        return ItemRecord::with_message(ItemStatus::Ignored, external_id, &words);
    };
    let id = MessageId::new(set.now);
    let message = MessageRecord {
        workspace: channel.workspace,
        conversation,
        contact,
        agent: Some(channel.agent),
        created_at: at,
        actor: message::author_of(word),
        kind: new.kind.to_owned(),
        content: new.content.clone(),
        metadata: Metadata {
            status: MessageState::Received.as_str().to_owned(),
            recipient_id: Some(new.sender_id.clone()),
            channel_type: new.channel_type.clone(),
            reply_to: new.reply_to.clone(),
            attributes: new.attributes.clone(),
            ..Metadata::default()
        },
        delivered_at: None,
        read_at: None,
        ran: ran.cloned(),
        change: RowChange::New,
    };
    set.dialogue.add_message(id, message);
    references::bind(set, channel, &new.external_id, id);
    ItemRecord {
        contact: Some(contact),
        deal: set
            .dialogue
            .conversations
            .get(&conversation)
            .and_then(|conversation| conversation.deal),
        ..ItemRecord::new(ItemStatus::Converted, external_id)
    }
}

fn replied_to(set: &WorkingSet, channel: &Channel, new: &NewInboundMessage) -> Option<RepliedTo> {
    let id = message_of(set, channel, new.reply_to.as_deref()?)?;
    let message = set.dialogue.messages.get(&id)?;
    Some(RepliedTo {
        conversation: message.conversation,
        is_ours: message.actor == Actor::Agent,
    })
}

/// Returns the conversation that a note is about: the one of the message it names, even if it is closed, or
/// else the open one. `None` if there is none, or its contact is unknown.
fn place_of_note(
    set: &WorkingSet,
    channel: &Channel,
    new: &NewInboundMessage,
    replied_to: Option<RepliedTo>,
) -> Option<(ContactId, ConversationId)> {
    let contact = people::find(set, channel.workspace, &new.contact_keys)?;
    let named = replied_to.map(|message| message.conversation);
    let named = named.filter(|id| {
        let conversation = set.dialogue.conversations.get(id);
        conversation.is_some_and(|conversation| conversation.contact == contact)
    });
    let conversation = named.or_else(|| conversation::open(set, channel, contact))?;
    Some((contact, conversation))
}

pub(super) fn message_of(
    set: &WorkingSet,
    channel: &Channel,
    external_id: &str,
) -> Option<MessageId> {
    let key = (channel.connection.clone(), external_id.to_owned());
    set.dialogue.references.get(&key)?.message
}
