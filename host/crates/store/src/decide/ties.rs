//! What gives a contact its match keys, once a repair has corrected what its leads say.
//!
//! Who gave a contact a key follows from its leads: each deal keeps the phones and addresses that its lead
//! names ([`contact::SAID`](leadhost_domain::contact::SAID)). A key that none of them names came from a
//! conversation or a person, which proves that somebody has it.

use super::working_set::Talk;
use crate::ContactParting;
use crate::decide::prelude::*;

/// The match keys of a contact, while its leads are looked at, oldest first.
pub(super) struct Ties<'a> {
    contact: ContactId,
    /// The keys that its leads named before the repair and no longer name.
    gone: &'a BTreeSet<String>,
    /// Its leads with the keys that they name, newest first; without those that were passed.
    ahead: Vec<(DealId, Vec<String>)>,
    /// How many of its leads name a key, and how many there are.
    named: HashMap<String, usize>,
    leads: usize,
    /// The keys that it has without its leads.
    base: HashSet<String>,
    is_strangers: bool,
    /// The keys of the leads that were passed and are still its own, and whether there is one.
    older: HashSet<String>,
    has_older: bool,
}

impl<'a> Ties<'a> {
    pub fn new(set: &WorkingSet, part: &'a ContactParting) -> Self {
        let said = set.said_of(part.contact).into_iter().rev();
        let ahead = said.map(|(deal, said)| (deal, contact::said_keys(&said)));
        let ahead: Vec<(DealId, Vec<String>)> = ahead.collect();
        let mut named = HashMap::new();
        for key in ahead.iter().flat_map(|(_, keys)| keys) {
            *named.entry(key.clone()).or_default() += 1;
        }
        let mut ties = Self {
            contact: part.contact,
            gone: &part.gone.keys,
            leads: ahead.len(),
            ahead,
            named,
            base: HashSet::new(),
            is_strangers: false,
            older: HashSet::new(),
            has_older: false,
        };
        ties.settle(set);
        ties
    }

    /// Passes the leads before this one. Those that were given to others do not count.
    pub fn pass(&mut self, set: &WorkingSet, lead: DealId) {
        while let Some((deal, keys)) = self.ahead.pop_if(|(deal, _)| *deal < lead) {
            let deal = set.deals.get(&deal);
            if deal.is_none_or(|deal| deal.person == self.contact) {
                self.older.extend(keys);
                self.has_older = true;
            }
        }
    }

    /// A lead with these keys leaves.
    pub fn leave(&mut self, keys: &[String]) {
        self.leads -= 1;
        for key in keys {
            if let Some(count) = self.named.get_mut(key) {
                *count -= 1;
            }
        }
    }

    /// Looks again at what the contact has without its leads.
    pub fn settle(&mut self, set: &WorkingSet) {
        self.base.clear();
        self.is_strangers = false;
        for key in self.held(set) {
            if self.is_wrong(key) {
                if self.proves(set, key) {
                    self.base.insert(key.clone());
                    self.is_strangers |= !self.names(key);
                }
            } else if contact::strength(key) == 0 || !self.names(key) {
                self.base.extend(phone_of(key));
                self.base.insert(key.clone());
            }
        }
        if let Some(contact) = set.contacts.get(&self.contact) {
            let is = |field: &str| contact.edited.iter().any(|edited| edited == field);
            let phone = contact.phone_number.iter().filter(|_| is("phone_number"));
            let email = contact.email.iter().filter(|_| is("email"));
            self.base.extend(contact::keys_of(phone, email));
        }
    }

    /// Returns whether an older lead gives the contact a key, or it has the key without its leads.
    pub fn has(&self, key: &String) -> bool {
        self.base.contains(key) || self.older.contains(key)
    }

    pub fn has_phone(&self) -> bool {
        let mut all = self.base.iter().chain(&self.older);
        all.any(|key| contact::strength(key) == 1)
    }

    pub fn has_older(&self) -> bool {
        self.has_older
    }

    pub fn has_leads(&self) -> bool {
        self.leads > 0
    }

    /// Returns whether somebody else talks to the contact from a wrong number.
    pub fn is_strangers(&self) -> bool {
        self.is_strangers
    }

    pub fn gives(&self, key: &String) -> bool {
        self.names(key) || self.base.contains(key)
    }

    /// Returns the wrong keys that nothing gives the contact.
    pub fn without_reason(&self, set: &WorkingSet) -> Vec<String> {
        let own = set.contacts.get(&self.contact);
        let own = own.map(|own| contact::keys_of(&own.phone_number, &own.email));
        let own = own.unwrap_or_default();
        let is_given = |key: &String| {
            let phone = phone_of(key);
            let key = phone.as_ref().unwrap_or(key);
            self.names(key) || own.contains(key)
        };
        let wrong = self.held(set).filter(|key| self.is_wrong(key));
        let wrong = wrong.filter(|key| !is_given(key) && !self.proves(set, key));
        wrong.cloned().collect()
    }

    fn held<'s>(&self, set: &'s WorkingSet) -> impl Iterator<Item = &'s String> + use<'s> {
        set.held_keys.get(&self.contact).into_iter().flatten()
    }

    fn names(&self, key: &String) -> bool {
        self.named.get(key).is_some_and(|count| *count > 0)
    }

    /// Returns whether only a wrong value gave the contact a key, as far as its leads tell. A message to a
    /// number gives its contact the channel's id of it too.
    fn is_wrong(&self, key: &String) -> bool {
        self.gone.contains(key) || phone_of(key).is_some_and(|phone| self.gone.contains(&phone))
    }

    /// Returns whether somebody talks to the contact from the wrong number of a key.
    fn proves(&self, set: &WorkingSet, key: &str) -> bool {
        let mut ids = self.held(set).filter(|key| contact::strength(key) == 0);
        let is_its = |id: &String| id == key || phone_of(id).as_deref() == Some(key);
        let mut talks = set.talks.get(&self.contact).into_iter().flatten();
        ids.any(is_its) && talks.any(Talk::is_somebodys)
    }
}

/// Returns the key of the phone that a channel's id of a person stands for.
fn phone_of(key: &str) -> Option<String> {
    let (_, id) = key
        .split_once(':')
        .filter(|_| contact::strength(key) == 0)?;
    let phone = contact::channel_phone(id)?.match_key?;
    Some(contact::phone_key(&phone))
}
