//! A template message to be sent: a notification, or the greeting of a new lead. Contact,
//! conversation, message and idempotency key are committed before the provider is called.

use super::SendRecord;
use super::conversation::{self, ConversationOpening};
use super::dialogue::SendState;
use super::people::{self, PersonDetails};
use super::{idempotency, sent};
use crate::decide::prelude::*;
use crate::sql::Json;
use crate::{Greeted, NewGreeting, NewMessage, Notification, Notified};
use leadhost_domain::deal;
use leadhost_domain::message::{Actor, Metadata, TEMPLATE};
use leadhost_domain::said::INSTRUCTIONS;

/// Decides a notification. A repeat with the same idempotency key gets the outcome of the
/// first request, and a banned contact gets no message.
pub(super) fn notify(set: &mut WorkingSet, new: &Notification) -> Notified {
    let claim = new.idempotency.as_ref();
    if let Some(found) = claim.and_then(|claim| idempotency::found(set, claim)) {
        return found;
    }
    let workspace = new.channel.workspace;
    let found = people::find(set, workspace, &new.contact_keys);
    if found.is_some_and(|id| people::is_banned(set, id)) {
        return Notified::Banned;
    }
    let details = PersonDetails {
        keys: &new.contact_keys,
        name: Some(&new.details.name),
        email: new.details.email.as_deref(),
        phone_number: new.phone.e164.as_deref(),
        ..PersonDetails::default()
    };
    let contact = people::find_or_create(set, workspace, &details);
    let opening = ConversationOpening {
        contact,
        source: new.details.source.as_deref(),
        deal: new.deal,
        transfer: new.details.transfer,
        special_instructions: new.details.special_instructions.as_deref(),
        said: Some((new.by, said(new))),
    };
    let conversation = conversation::for_sending(set, &new.channel, &opening);
    let recipient = new.phone.best();
    let place = (contact, conversation);
    let state = put(
        set,
        &new.channel,
        place,
        recipient,
        &new.message,
        new.lease_until,
    );
    if let Some(claim) = claim {
        idempotency::keep(set, claim, Some(new.message.id), None);
    }
    Notified::Stored {
        conversation,
        contact,
        message: new.message.id,
        recipient: recipient.to_owned(),
        state: sent::state_word(state),
    }
}

/// Returns what a notification says of the person.
fn said(new: &Notification) -> Map<String, Value> {
    let details = &new.details;
    let values = [
        ("name", Some(json!(details.name))),
        ("phones", Some(json!([new.phone.best()]))),
        ("emails", details.email.as_ref().map(|email| json!([email]))),
        (
            INSTRUCTIONS,
            details
                .special_instructions
                .as_ref()
                .map(|text| json!(text)),
        ),
    ];
    let values = values.into_iter();
    values
        .filter_map(|(name, value)| Some((name.to_owned(), value?)))
        .collect()
}

/// Stores the greeting of a new lead, unless the lead is a test, or the contact is banned or
/// has no phone.
pub(super) fn greet(
    set: &mut WorkingSet,
    contact: ContactId,
    deal: DealId,
    new: &NewGreeting,
) -> Option<Greeted> {
    let props = set.deals.get(&deal).map(|deal| &deal.props);
    let is_test = props.is_some_and(|props| props.get(deal::TEST) == Some(&true.into()));
    let source = props.and_then(|props| Some(props.get("source")?.as_str()?.to_owned()));
    let recipient = set
        .contacts
        .get(&contact)
        .filter(|contact| contact.banned_at.is_none())
        .and_then(|contact| contact.phone_number.clone());
    let recipient = recipient.filter(|_| !is_test)?;
    let opening = ConversationOpening {
        contact,
        source: source.as_deref(),
        deal: Some(deal),
        transfer: new.transfer,
        special_instructions: None,
        said: None,
    };
    let conversation = conversation::for_sending(set, &new.channel, &opening);
    let place = (contact, conversation);
    put(set, &new.channel, place, &recipient, &new.message, None);
    Some(Greeted {
        message: new.message.id,
        adapter: new.adapter.clone(),
        instance: new.instance.clone(),
    })
}

/// Stores the message and its send. The send is under way if the caller holds a lease and
/// no hold applies; otherwise it waits.
pub(super) fn put(
    set: &mut WorkingSet,
    channel: &Channel,
    (contact, conversation): (ContactId, ConversationId),
    recipient: &str,
    new: &NewMessage,
    lease_until: Option<Micros>,
) -> SendState {
    let now = set.now;
    let held_until = [Some(contact), None]
        .into_iter()
        .filter_map(|of| set.dialogue.holds.get(&(channel.connection.clone(), of)))
        .copied()
        .max()
        .filter(|until| now < *until);
    let lease_until = lease_until.filter(|_| held_until.is_none());
    let state = match lease_until {
        Some(_) => SendState::Sending,
        None => SendState::Waiting,
    };
    let message = MessageRecord {
        workspace: channel.workspace,
        conversation,
        contact,
        agent: Some(channel.agent),
        created_at: now,
        actor: Actor::Agent,
        kind: TEMPLATE.to_owned(),
        content: new.content.clone(),
        metadata: Metadata {
            status: sent::state_word(state).as_str().to_owned(),
            template: Some(new.template.clone()),
            ..Metadata::default()
        },
        delivered_at: None,
        read_at: None,
        ran: None,
        change: RowChange::New,
    };
    let send = SendRecord {
        workspace: channel.workspace,
        conversation,
        contact,
        connection: channel.connection.clone(),
        recipient: recipient.to_owned(),
        payload: Json(new.payload.clone()),
        state,
        attempts: 0,
        // The message expires when its own time is up, even if the hold lasts longer.
        due_at: lease_until
            .or(held_until.map(|until| until.min(new.until)))
            .or(Some(now)),
        until: new.until,
        lease: 0,
        lease_until,
        change: RowChange::New,
    };
    set.dialogue.add_message(new.id, message);
    set.dialogue.sends.insert(new.id, send);
    state
}
