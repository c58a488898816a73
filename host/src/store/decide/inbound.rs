//! An incoming message: a new row, in the conversation of the message that it answers or
//! in that of its contact. A contact may write first.

use super::MessageRecord;
use super::conversation;
use super::people::{self, PersonDetails};
use super::references;
use super::working_set::{ItemRecord, WorkingSet};
use crate::domain::delivery::ItemStatus;
use crate::domain::id::{ConversationId, MessageId};
use crate::domain::message::{Actor, MessageState, Metadata};
use crate::domain::plugin::RanWith;
use crate::store::change::RowChange;
use crate::store::{Channel, NewInboundMessage};

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
    let details = PersonDetails {
        keys: &new.contact_keys,
        name: new.name.as_deref(),
        phone_number: new.phone.as_ref().and_then(|phone| phone.e164.as_deref()),
        ..PersonDetails::default()
    };
    let contact = people::find_or_create(set, channel.workspace, &details);
    let answered = answered(set, channel, new);
    let conversation = conversation::for_receiving(set, channel, contact, answered, at);
    let id = MessageId::new(set.now);
    let message = MessageRecord {
        workspace: channel.workspace,
        conversation,
        contact,
        agent: Some(channel.agent),
        created_at: at,
        actor: Actor::Contact,
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

/// Returns the conversation of the message that it answers.
fn answered(
    set: &WorkingSet,
    channel: &Channel,
    new: &NewInboundMessage,
) -> Option<ConversationId> {
    let id = message_of(set, channel, new.reply_to.as_deref()?)?;
    Some(set.dialogue.messages.get(&id)?.conversation)
}

/// Returns the stored message with this external id.
pub(super) fn message_of(
    set: &WorkingSet,
    channel: &Channel,
    external_id: &str,
) -> Option<MessageId> {
    let key = (channel.connection.clone(), external_id.to_owned());
    set.dialogue.references.get(&key)?.message
}
