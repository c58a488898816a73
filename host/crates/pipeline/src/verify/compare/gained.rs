//! The values that leads gain with the candidate. A phone, an e-mail address or an external id that leads
//! of several people gain is nobody's own, such as the phone of a broker that a wrong version adds to every
//! lead. One comparison does not show this, so the gained values are remembered over many of them.
//!
//! Leads of the same person gain the same value, so people are counted, not leads. People share names: a
//! gained name counts only if most leads gain it. They share listings too, so a gained one never counts.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::LazyLock;

use super::ComparedSubject;
use super::masks::masked;
use super::pairs::pairs;
use super::values::values;
use crate::verify::outcome::{OutcomeItem, VersionOutcome};
use leadhost_domain::difference::{DifferenceGroup, ItemKind};
use leadhost_domain::limits;

/// The fields whose gained values are remembered, the name under which a shared one is counted, and the harm in
/// words that follow the number.
#[rustfmt::skip]
pub const GAINED: [(&str, &str, &str); 4] = [
    ("name", NAME, "leads gain the same name as most"),
    ("phone", "gained.phone", "leads gain a phone that others gain too"),
    ("email", "gained.email", "leads gain an e-mail address that others gain too"),
    ("externalId", "gained.externalId", "leads gain an external id that others gain too"),
];

const NAME: &str = "gained.name";

/// People who gain the same value at which it is nobody's own.
const PEOPLE: usize = 3;

/// The values that a lead gains in a field. They, and the person, are hashes with a key of this process.
#[derive(Debug)]
pub(super) struct Gain {
    pub counted: &'static str,
    pub difference: DifferenceGroup,
    /// Another value is gone, which counts in itself.
    pub is_change: bool,
    field: u64,
    values: Vec<u64>,
    person: u64,
}

impl Gain {
    /// Returns its name among the fields that differ.
    pub(super) fn shown(&self) -> String {
        let field = self.counted.trim_start_matches("gained.");
        format!("{field} of several people")
    }
}

/// Returns what the leads that both versions make of a delivery gain. Where only the candidate makes one,
/// nothing shows that its values are wrong.
pub(super) fn gains(
    compared: &ComparedSubject<'_>,
    stable: &VersionOutcome,
    candidate: &VersionOutcome,
) -> Vec<Gain> {
    let (VersionOutcome::Converted(before), VersionOutcome::Converted(after)) = (stable, candidate)
    else {
        return Vec::new();
    };
    let is_lead = |item: &&OutcomeItem| item.kind == ItemKind::Lead;
    let mut found = Vec::new();
    for (old, new) in pairs(before, after) {
        let (Some(old), Some(new)) = (old.filter(is_lead), new.filter(is_lead)) else {
            continue;
        };
        for (field, counted, _) in GAINED {
            let (had, has) = (values(old.fields.get(field)), values(new.fields.get(field)));
            let gained: Vec<&str> = has.difference(&had).copied().collect();
            if gained.is_empty() {
                continue;
            }
            let Some(person) = person(old, "").or_else(|| person(new, field)) else {
                continue;
            };
            let shown: Vec<String> = gained.iter().map(|value| masked(value)).collect();
            let mut difference = DifferenceGroup::default();
            compared.add(&mut difference, None, Some(shown.join(", ")));
            let of = (compared.connection, field);
            found.push(Gain {
                counted,
                difference,
                is_change: !had.is_subset(&has),
                field: hash(of),
                values: gained.iter().map(|value| hash((of, value))).collect(),
                person,
            });
        }
    }
    found
}

/// Returns what tells the person of a lead apart beside this field, if anything does.
fn person(lead: &OutcomeItem, beside: &str) -> Option<u64> {
    let fields = ["name", "phone", "email"].into_iter();
    let fields = fields.filter(|field| *field != beside);
    let known: Vec<_> = fields.map(|field| values(lead.fields.get(field))).collect();
    let is_known = known.iter().any(|values| !values.is_empty());
    is_known.then(|| hash(known))
}

fn hash(of: impl std::hash::Hash) -> u64 {
    static KEY: LazyLock<RandomState> = LazyLock::new(RandomState::new);
    KEY.hash_one(of)
}

/// The gained values of many comparisons: in memory only, and at most [`limits::VERIFY_GAINED`].
#[derive(Debug, Default)]
pub struct GainedValues(pub(super) HashMap<u64, Gainers>);

#[derive(Debug, Default)]
pub(super) struct Gainers {
    leads: u64,
    people: Vec<u64>,
}

impl GainedValues {
    /// Remembers a gain. Returns whether a value of it is nobody's own.
    pub(super) fn add(&mut self, gain: &Gain) -> bool {
        let (all, _) = self.count(gain.field, gain.person);
        let mut is_shared = false;
        for value in &gain.values {
            let (leads, people) = self.count(*value, gain.person);
            is_shared |= people >= PEOPLE && (gain.counted != NAME || leads * 2 > all);
        }
        is_shared
    }

    fn count(&mut self, key: u64, person: u64) -> (u64, usize) {
        if self.0.len() >= limits::VERIFY_GAINED && !self.0.contains_key(&key) {
            // Most are the own values of one person.
            self.0.retain(|_, gainers| gainers.people.len() > 1);
            if self.0.len() >= limits::VERIFY_GAINED {
                return (0, 0);
            }
        }
        let gainers = self.0.entry(key).or_default();
        gainers.leads += 1;
        if gainers.people.len() < PEOPLE && !gainers.people.contains(&person) {
            gainers.people.push(person);
        }
        (gainers.leads, gainers.people.len())
    }
}
