//! The phones of the last leads of each connection: leads of people with other names that have one phone become
//! one contact, as when a version reads the broker's phone. Only hashes are held.

use std::hash::{BuildHasher as _, RandomState};
use std::sync::{Mutex, PoisonError};

use crate::prelude::*;
use leadhost_domain::trouble::TroubleKind;

/// The last leads of a connection that are looked at.
const LEADS: usize = 50;

/// The names of leads with one phone from which on it is nobody's own.
const NAMES: usize = 5;

#[derive(Default)]
pub struct SharedPhones {
    last: Mutex<HashMap<ConnectionId, LastLeads>>,
    key: RandomState,
}

struct LastLeads {
    version: Digest,
    /// Phone and name, the newest last.
    leads: Vec<(u64, u64)>,
}

impl SharedPhones {
    /// Adds a lead with its phone and name. Returns of how many of the last leads its version has given this phone
    /// to people of other names, if to several.
    fn add(&self, live: &ConnectionId, version: &Digest, phone: &str, name: &str) -> Option<usize> {
        let mut all = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= limits::SKETCHES && !all.contains_key(live) {
            all.clear();
        }
        let new = || LastLeads {
            version: version.clone(),
            leads: Vec::new(),
        };
        let last = all.entry(live.clone()).or_insert_with(new);
        if last.version != *version {
            *last = new();
        }
        if last.leads.len() >= LEADS {
            last.leads.remove(0);
        }
        let (phone, name) = (self.key.hash_one(phone), self.key.hash_one(name));
        last.leads.push((phone, name));
        let mut counts: HashMap<u64, (usize, HashSet<u64>)> = HashMap::new();
        for (phone, name) in &last.leads {
            let (number, names) = counts.entry(*phone).or_default();
            *number += 1;
            names.insert(*name);
        }
        let shared = counts
            .into_values()
            .filter(|(_, names)| names.len() >= NAMES);
        shared.map(|(number, _)| number).max()
    }
}

/// Looks at the leads that a version has made of a delivery.
pub(super) fn look<'a>(
    pipeline: &Pipeline,
    live: &Live,
    plugin: &Loaded,
    items: impl IntoIterator<Item = &'a ItemResult>,
) {
    let (id, troubles) = (&live.connection.id, &pipeline.troubles);
    let shared = &pipeline.source_changes.phones;
    for item in items {
        let ItemResult::Lead(lead) = item else {
            continue;
        };
        let (Some(phone), Some(name)) = (lead.phone_number(), lead.name.as_deref()) else {
            continue;
        };
        match shared.add(id, &plugin.digest, phone, name) {
            Some(number) => {
                let why = format!(
                    "{number} of the last leads with different names have one phone, by {}",
                    super::version(plugin)
                );
                let now = pipeline.clock.now();
                troubles.failed(TroubleKind::SharedPhone, id, &why, now);
            }
            None => troubles.works(TroubleKind::SharedPhone, id),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phone_that_a_version_gives_to_people_of_several_names_is_noticed() {
        let (shared, id) = (SharedPhones::default(), ConnectionId::generate());
        let (wrong, right) = (Digest::compute(b"wrong"), Digest::compute(b"right"));
        let name = |number: usize| format!("Ana {number}");
        // One person who asks often, and people with phones of their own.
        for number in 0..20 {
            assert_eq!(shared.add(&id, &wrong, "1", "Ana"), None);
            let own = format!("2{number}");
            assert_eq!(shared.add(&id, &wrong, &own, &name(number)), None);
        }
        let found: Vec<_> = (0..6)
            .map(|number| shared.add(&id, &wrong, "9", &name(number)))
            .collect();
        assert_eq!(found, [None, None, None, None, Some(5), Some(6)]);
        // Another connection, and another version.
        assert_eq!(
            shared.add(&ConnectionId::generate(), &wrong, "9", "Bia"),
            None
        );
        assert_eq!(shared.add(&id, &right, "9", "Bia"), None);
        assert_eq!(shared.last.lock().expect("held")[&id].leads.len(), 1);
        for _ in 0..LEADS * 2 {
            shared.add(&id, &right, "9", "Bia");
        }
        assert_eq!(shared.last.lock().expect("held")[&id].leads.len(), LEADS);
    }
}
