//! The contact of a message or a lead: found by the strongest key, or new. Data about a
//! known contact only fills fields that were empty.

use crate::decide::prelude::*;

/// Data about a person, and the keys to find their contact by.
#[derive(Default)]
pub(super) struct PersonDetails<'a> {
    pub keys: &'a [String],
    pub name: Option<&'a str>,
    pub email: Option<&'a str>,
    /// E.164.
    pub phone_number: Option<&'a str>,
    pub props: Option<&'a Map<String, Value>>,
}

/// Returns the contact, which is created if no contact has one of the keys.
pub(super) fn find_or_create(
    set: &mut WorkingSet,
    workspace: WorkspaceId,
    details: &PersonDetails<'_>,
) -> ContactId {
    let id = match find(set, workspace, details.keys) {
        Some(id) => {
            fill(set, id, details);
            id
        }
        None => create(set, workspace, details),
    };
    set.add_contact_keys(workspace, id, details.keys);
    id
}

pub(super) fn create(
    set: &mut WorkingSet,
    workspace: WorkspaceId,
    details: &PersonDetails<'_>,
) -> ContactId {
    let id = ContactId::random();
    let contact = ContactRecord {
        workspace,
        name: details.name.map(str::to_owned),
        email: details.email.map(str::to_owned),
        phone_number: details.phone_number.map(str::to_owned),
        banned_at: None,
        props: details.props.cloned().unwrap_or_default(),
        edited: Vec::new(),
        change: RowChange::New,
    };
    set.add_contact(id, contact);
    id
}

pub(super) fn find(set: &WorkingSet, workspace: WorkspaceId, keys: &[String]) -> Option<ContactId> {
    find_by(keys, |key, _, joins| {
        let id = *set.contact_keys.get(&(workspace, key.clone()))?;
        let contact = set.contacts.get(&id);
        joins(contact.is_some_and(|one| one.phone_number.is_some())).then_some(id)
    })
}

/// Returns the first that is found by one of the keys, the strongest first. A channel's own id or a phone
/// decides. An address finds a contact only if the person or the contact has no phone, because people share
/// an address more often than a phone: `found` is told whether the person has more than addresses, and what
/// to ask about a contact that has the key, with whether it has a phone.
pub(super) fn find_by<T>(
    keys: &[String],
    found: impl Fn(&String, bool, &dyn Fn(bool) -> bool) -> Option<T>,
) -> Option<T> {
    let is_weak = |key: &str| contact::strength(key) > 1;
    let mut keys: Vec<&String> = keys.iter().collect();
    keys.sort_by_key(|key| contact::strength(key));
    let decided = keys.first().is_some_and(|key| !is_weak(key));
    keys.into_iter().find_map(|key| {
        let joins = |has_phone: bool| !is_weak(key) || !decided || !has_phone;
        found(key, decided, &joins)
    })
}

/// Gives the contact the keys of a channel's further ids of its person. If one was another
/// contact's, both are one person: what comes by this id reaches this contact from now on, and
/// a wish of the other one for no messages holds for it.
pub(super) fn identify(
    set: &mut WorkingSet,
    workspace: WorkspaceId,
    id: ContactId,
    further_keys: &[String],
) {
    for former in set.take_contact_keys(workspace, id, further_keys) {
        let former = set.contacts.get(&former);
        if let Some(at) = former.and_then(|contact| contact.banned_at) {
            ban(set, id, at);
        }
    }
}

/// Fills the fields of a contact that are empty.
pub(super) fn fill(set: &mut WorkingSet, id: ContactId, details: &PersonDetails<'_>) {
    let Some(contact) = set.contacts.get_mut(&id) else {
        return;
    };
    let mut changed = false;
    let mut fill = |field: &mut Option<String>, value: Option<&str>| {
        if field.is_none() && value.is_some() {
            *field = value.map(str::to_owned);
            changed = true;
        }
    };
    fill(&mut contact.name, details.name);
    fill(&mut contact.email, details.email);
    fill(&mut contact.phone_number, details.phone_number);
    for (key, value) in details.props.into_iter().flatten() {
        let unknown = contact.props.get(key).is_none_or(|before| before.is_null());
        if unknown && !value.is_null() {
            contact.props.insert(key.clone(), value.clone());
            changed = true;
        }
    }
    if changed {
        set.touch_contact(id);
    }
}

/// Bans a contact from this time on. Returns whether that was new.
pub(super) fn ban(set: &mut WorkingSet, id: ContactId, at: Micros) -> bool {
    set_banned(set, id, |banned_at| {
        Some(banned_at.map_or(at, |since| since.min(at)))
    })
}

/// Lifts the ban of a contact. Returns whether that was new. A wish that is older than
/// the ban does not lift it.
pub(super) fn lift_ban(set: &mut WorkingSet, id: ContactId, at: Micros) -> bool {
    set_banned(set, id, |banned_at| banned_at.filter(|since| *since > at))
}

fn set_banned(
    set: &mut WorkingSet,
    id: ContactId,
    next: impl Fn(Option<Micros>) -> Option<Micros>,
) -> bool {
    let Some(contact) = set.contacts.get_mut(&id) else {
        return false;
    };
    let next = next(contact.banned_at);
    if next == contact.banned_at {
        return false;
    }
    contact.banned_at = next;
    set.touch_contact(id);
    true
}

pub(super) fn is_banned(set: &WorkingSet, id: ContactId) -> bool {
    set.contacts
        .get(&id)
        .is_some_and(|contact| contact.banned_at.is_some())
}

#[cfg(test)]
mod tests {
    use super::super::sample::{NOW, channel, time, working_set};
    use super::*;

    fn person(set: &mut WorkingSet, keys: &[&str], phone_number: Option<&str>) -> ContactId {
        let keys: Vec<String> = keys.iter().map(|key| (*key).to_owned()).collect();
        let details = PersonDetails {
            keys: &keys,
            phone_number,
            ..PersonDetails::default()
        };
        find_or_create(set, channel().workspace, &details)
    }

    #[test]
    fn the_channels_own_name_decides_before_a_phone_and_a_phone_before_an_address() {
        let set = &mut working_set();
        let named = person(set, &["whatsapp:551134567890"], None);
        let called = person(set, &["phone:+551134567890"], Some("+551134567890"));
        let written = person(set, &["email:rita@example.com"], None);
        let find = |keys: &[&str]| {
            let keys: Vec<String> = keys.iter().map(|key| (*key).to_owned()).collect();
            find(set, channel().workspace, &keys)
        };
        let all = [
            "email:rita@example.com",
            "phone:+551134567890",
            "whatsapp:551134567890",
        ];
        assert_eq!(find(&all), Some(named));
        assert_eq!(find(&all[..2]), Some(called));
        assert_eq!(find(&all[..1]), Some(written));
        assert_eq!(find(&["phone:+5511900000000"]), None);
    }

    #[test]
    fn a_ban_dates_from_its_first_reason_and_only_a_later_wish_lifts_it() {
        let set = &mut working_set();
        let id = person(set, &["phone:+551134567890"], None);
        assert!(ban(set, id, NOW));
        assert!(!ban(set, id, time(5)));
        assert!(ban(set, id, time(-5)));
        assert!(!lift_ban(set, id, time(-6)));
        assert!(is_banned(set, id));
        assert!(lift_ban(set, id, time(6)));
        assert!(!lift_ban(set, id, time(6)));
        assert!(!is_banned(set, id));
    }
}
