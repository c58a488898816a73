//! One event of a channel's webhook: its addressee and its result.

use super::dialogue::TemplateState;
use super::people::{self, PersonDetails};
use super::status::MessageStatusUpdate;
use super::{inbound, status};
use crate::decide::prelude::*;
use crate::{Event, NewEvent};
use leadhost_domain::phone;

/// Decides one event of a channel, which this version read, and returns its item. All ids of
/// the person in it become keys of one contact. The phone or the id that the event is from
/// decides which one that is, then a further id.
pub(super) fn decide(set: &mut WorkingSet, new: &NewEvent, ran: Option<&RanWith>) -> ItemRecord {
    if new.further_keys.is_empty() {
        return decide_on(set, new, ran);
    }
    let workspace = new.channel.workspace;
    let keys = match &new.event {
        Event::Inbound(inbound) => inbound.contact_keys.clone(),
        Event::Consent { contact_keys, .. } | Event::Number { contact_keys, .. } => {
            contact_keys.clone()
        }
        Event::Status { recipient_id, .. } => {
            let id = recipient_id.as_deref();
            id.map_or_else(Vec::new, |id| {
                contact::channel_keys(&new.channel.channel, id)
            })
        }
        Event::Template { .. } => Vec::new(),
    };
    let known = people::find(set, workspace, &keys);
    if known.is_none()
        && let Some(contact) = people::find(set, workspace, &new.further_keys)
    {
        set.add_contact_keys(workspace, contact, &keys);
    }
    let item = decide_on(set, new, ran);
    if let Some(contact) = item.contact.or(known) {
        people::identify(set, workspace, contact, &new.further_keys);
    }
    item
}

fn decide_on(set: &mut WorkingSet, new: &NewEvent, ran: Option<&RanWith>) -> ItemRecord {
    let channel = &new.channel;
    match &new.event {
        Event::Status {
            external_id,
            message,
            progress,
            word,
            recipient_id,
            at,
        } => {
            let new = MessageStatusUpdate {
                external_id,
                message: *message,
                progress,
                word,
                recipient_id: recipient_id.as_deref(),
                at: *at,
            };
            status::decide(set, channel, &new)
        }
        Event::Inbound(new) => inbound::decide(set, channel, new, ran),
        Event::Template {
            name,
            language,
            status,
            reason,
        } => {
            // Without a status the event only means that the list is to be fetched again.
            if !status.is_empty() {
                set.dialogue.template_changes.push(TemplateState {
                    connection: channel.connection.clone(),
                    name: name.clone(),
                    language: language.clone(),
                    status: status.clone(),
                    reason: reason.clone(),
                });
            }
            ItemRecord::new(ItemStatus::Updated, None)
        }
        Event::Consent {
            contact_keys,
            opt_out: true,
            at,
        } => {
            // Also for an unknown person, so that they are never written to first.
            let details = PersonDetails {
                keys: contact_keys,
                ..PersonDetails::default()
            };
            let contact = people::find_or_create(set, channel.workspace, &details);
            let news = people::ban(set, contact, *at);
            changed(contact, news)
        }
        Event::Consent {
            contact_keys,
            opt_out: false,
            at,
        } => match people::find(set, channel.workspace, contact_keys) {
            Some(contact) => {
                let news = people::lift_ban(set, contact, *at);
                changed(contact, news)
            }
            None => unknown_contact(),
        },
        Event::Number {
            contact_keys,
            new_keys,
            phone,
        } => match people::find(set, channel.workspace, contact_keys) {
            Some(contact) => {
                let phone = phone.as_ref().and_then(|phone| phone.e164.as_deref());
                let keys = (contact_keys.as_slice(), new_keys.as_slice());
                let news = renumber(set, channel, contact, keys, phone);
                changed(contact, news)
            }
            None => unknown_contact(),
        },
    }
}

/// Applies a change of a contact's number. The contact is still found by the previous number. Returns whether
/// it was new. A number that a person edited stays. So does the current number if an older change is
/// repeated: its keys are known, and its old number is no longer the contact's.
fn renumber(
    set: &mut WorkingSet,
    channel: &Channel,
    contact: ContactId,
    (old_keys, new_keys): (&[String], &[String]),
    phone: Option<&str>,
) -> bool {
    let before = set.new_contact_keys.len();
    set.add_contact_keys(channel.workspace, contact, new_keys);
    let mut news = set.new_contact_keys.len() > before;
    if let (Some(row), Some(phone)) = (set.contacts.get_mut(&contact), phone) {
        let stands = row.phone_number.as_deref();
        let is_old = stands.is_none_or(|stands| {
            let key = phone::normalise(stands, "").match_key;
            key.is_some_and(|key| old_keys.contains(&contact::phone_key(&key)))
        });
        let is_edited = row.edited.iter().any(|field| field == "phone_number");
        if (news || is_old) && !is_edited && stands != Some(phone) {
            row.phone_number = Some(phone.to_owned());
            set.touch_contact(contact);
            news = true;
        }
    }
    news
}

fn changed(contact: ContactId, news: bool) -> ItemRecord {
    let status = if news {
        ItemStatus::Updated
    } else {
        ItemStatus::Duplicate
    };
    ItemRecord {
        contact: Some(contact),
        ..ItemRecord::new(status, None)
    }
}

fn unknown_contact() -> ItemRecord {
    ItemRecord::with_message(ItemStatus::Ignored, None, "no contact is known by this id")
}

#[cfg(test)]
mod tests {
    use super::super::sample::{self, channel, notification, notify, working_set};
    use super::*;

    #[test]
    fn an_edited_number_stays_when_another_is_reported() {
        let set = &mut working_set();
        let id = notify(set, notification());
        let contact = sample::message(set, id).contact;
        let keys = notification().contact_keys;
        let stands = set.contacts[&contact].phone_number.clone();
        let number_event = |to: &str| NewEvent {
            channel: channel(),
            event: Event::Number {
                contact_keys: keys.clone(),
                new_keys: contact::channel_keys("whatsapp", to),
                phone: contact::channel_phone(to),
            },
            further_keys: Vec::new(),
        };
        let row = set.contacts.get_mut(&contact).expect("it is known");
        row.edited = vec!["phone_number".to_owned()];
        assert_eq!(
            decide(set, &number_event("5511987650001"), None).status,
            ItemStatus::Updated
        );
        assert_eq!(set.contacts[&contact].phone_number, stands);
        let row = set.contacts.get_mut(&contact).expect("it is known");
        row.edited.clear();
        assert_eq!(
            decide(set, &number_event("5511987650002"), None).status,
            ItemStatus::Updated
        );
        let stands = set.contacts[&contact].phone_number.as_deref();
        assert_eq!(stands, Some("+5511987650002"));
    }
}
