//! The shapes of some deliveries as counts, and those of the leads that they brought. Values are never
//! kept.

use serde::{Deserialize, Serialize};

use super::paths::{ANY, Kinds, Paths};
use leadhost_domain::limits;
use leadhost_domain::time::Micros;

/// The watched shares: the first one of deliveries, the others of leads.
pub(super) const FIELDS: [&str; 6] = [
    "deliveries with a lead",
    "leads with a name",
    "leads with a phone",
    "leads with an e-mail address",
    "leads with an external id",
    "leads with a listing",
];
pub(super) const NAME: usize = 1;
pub(super) const PHONE: usize = 2;
pub(super) const EMAIL: usize = 3;
pub(super) const EXTERNAL_ID: usize = 4;
pub(super) const LISTING: usize = 5;

/// The leads of one delivery.
#[derive(Clone, Copy, Debug, Default)]
pub struct Leads {
    leads: u32,
    with: [u32; 6],
}

impl Leads {
    /// Adds a lead: whether it has a name, a phone, an e-mail address, an external id, a listing.
    pub fn add(&mut self, has: [bool; 5]) {
        self.leads += 1;
        for (count, has) in self.with[1..].iter_mut().zip(has) {
            *count += u32::from(has);
        }
        self.with[0] = 1;
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.leads == 0
    }

    /// Returns whether one of these fields was read more often than by another version from the same
    /// delivery.
    pub fn reads_more(&self, other: &Self, fields: &[usize]) -> bool {
        fields
            .iter()
            .any(|field| self.with[*field] > other.with[*field])
    }
}

/// The shapes of some deliveries, as counts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SketchCounts {
    pub(super) deliveries: u32,
    /// Deliveries whose body was read.
    pub(super) read: u32,
    /// Deliveries that a version converted; if their leads are fetched, the answers that it read.
    converted: u32,
    pub(super) leads: u32,
    /// One count for each of `FIELDS`.
    pub(super) with: [u32; 6],
    /// The version that converted the last one.
    pub(super) version: String,
    /// Whether another version converted one before.
    pub(super) mixed: bool,
    /// The version of the configuration with which the last one was converted. 0 if it is not known.
    pub(super) configuration: i64,
    /// When the first of them was received. `None` if it is not known.
    pub(super) first_at: Option<Micros>,
    pub(super) paths: Paths,
}

impl SketchCounts {
    /// Returns those of one delivery: of its body if it was read, of its leads if it was converted.
    pub fn from_delivery(
        at: Micros,
        version: &str,
        paths: Option<Paths>,
        leads: Option<Leads>,
    ) -> Self {
        let Leads { leads: count, with } = leads.unwrap_or_default();
        Self {
            deliveries: 1,
            read: u32::from(paths.is_some()),
            converted: u32::from(leads.is_some()),
            leads: count,
            with,
            version: leads.map(|_| version.to_owned()).unwrap_or_default(),
            mixed: false,
            configuration: 0,
            first_at: Some(at),
            paths: paths.unwrap_or_default(),
        }
    }

    /// Returns those of the leads that were read in the answer to a fetch. Its delivery is counted
    /// already, without leads.
    pub fn from_answer(at: Micros, version: &str, leads: Leads) -> Self {
        Self {
            deliveries: 0,
            ..Self::from_delivery(at, version, None, Some(leads))
        }
    }

    /// Returns the counts with the version of the configuration, if a delivery was converted.
    pub fn with_configuration(mut self, configuration: i64) -> Self {
        if self.converted > 0 {
            self.configuration = configuration;
        }
        self
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.deliveries == 0 && self.converted == 0
    }

    /// Adds those of other deliveries. Paths past the bound are left out.
    pub fn add(&mut self, other: &Self) {
        self.deliveries += other.deliveries;
        self.read += other.read;
        self.converted += other.converted;
        self.leads += other.leads;
        for (own, other) in self.with.iter_mut().zip(other.with) {
            *own += other;
        }
        self.mixed |= other.mixed;
        self.first_at = match (self.first_at, other.first_at) {
            (Some(own), Some(other)) => Some(own.min(other)),
            (own, other) => own.or(other),
        };
        if !other.version.is_empty() {
            self.mixed |= !self.version.is_empty() && self.version != other.version;
            self.version.clone_from(&other.version);
        }
        if other.configuration != 0 {
            self.configuration = other.configuration;
        }
        for (path, kinds) in &other.paths {
            if self.is_full() && !self.paths.contains_key(path) {
                continue;
            }
            let own = self.paths.entry(path.clone()).or_default();
            for (own, other) in own.iter_mut().zip(kinds) {
                *own += other;
            }
        }
    }

    /// Halves all counts, and drops the paths that have none left.
    pub(super) fn halve(&mut self) {
        for count in [
            &mut self.deliveries,
            &mut self.read,
            &mut self.converted,
            &mut self.leads,
        ] {
            *count /= 2;
        }
        self.with = self.with.map(|count| count / 2);
        self.paths.retain(|_, kinds| {
            *kinds = kinds.map(|count| count / 2);
            kinds[ANY] > 0
        });
    }

    /// Returns whether paths may be missing.
    pub(super) fn is_full(&self) -> bool {
        self.paths.len() >= limits::SKETCH_PATHS
    }

    /// Returns the counts of a path: 0 of each type if it was in no delivery.
    pub(super) fn kinds(&self, path: &str) -> Kinds {
        self.paths.get(path).copied().unwrap_or_default()
    }

    /// Returns what the share of a field is a share of.
    pub(super) fn whole(&self, field: usize) -> u32 {
        match field {
            0 => self.converted,
            _ => self.leads,
        }
    }

    /// Returns the share of a field in percent.
    pub(super) fn share(&self, field: usize) -> Option<u64> {
        percent(self.with[field], self.whole(field))
    }
}

/// Returns a part of a whole in percent, rounded. `None` if the whole is 0.
pub(super) fn percent(part: u32, whole: u32) -> Option<u64> {
    let (part, whole) = (u64::from(part), u64::from(whole));
    (whole > 0).then(|| (part * 100 + whole / 2) / whole)
}

#[cfg(test)]
mod tests {
    use super::super::paths::paths;
    use super::*;

    #[test]
    fn the_paths_of_many_deliveries_are_bounded() {
        let mut counts = SketchCounts::default();
        for number in 0..500 {
            let body = format!("{{\"x{number}\":1}}");
            counts.add(&SketchCounts::from_delivery(
                Micros(7),
                "1",
                Some(paths(body.as_bytes(), false)),
                None,
            ));
        }
        assert_eq!(counts.paths.len(), limits::SKETCH_PATHS);
    }
}
