//! Deliveries of a connection as counts: how many of their leads have which field, and which paths stand at
//! the top of their bodies. Values are never kept.

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};

use super::version;
use crate::prelude::*;
use leadhost_domain::connection::LEAD_PARTS;
use leadhost_domain::{json, text};

/// The watched shares: the first one of deliveries, the others of leads.
pub(super) const FIELDS: [&str; LEAD_PARTS] = [
    "deliveries with a lead",
    "leads with a name",
    PHONE,
    EMAIL,
    "leads with an external id",
    "leads with a listing",
    REACHABLE,
];

pub(super) const PHONE: &str = "leads with a phone";
pub(super) const EMAIL: &str = "leads with an e-mail address";
/// A lead without either reaches nobody. This share falls with the share of phones or of addresses, or alone
/// when a little of both is lost.
pub(super) const REACHABLE: &str = "leads with a phone or an e-mail address";

/// Returns which of the watched shares a subject is. `None` for a path.
pub(super) fn field(subject: &str) -> Option<usize> {
    FIELDS.iter().position(|field| *field == subject)
}

/// Some deliveries as counts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Counts {
    pub deliveries: u32,
    /// Deliveries that a version converted; if their leads are fetched, the answers that it read.
    pub converted: u32,
    pub leads: u32,
    /// One count for each of `FIELDS`.
    pub with: [u32; LEAD_PARTS],
    /// The version that converted the last one.
    pub version: String,
    /// Whether another version converted one before.
    pub mixed: bool,
    /// The version of the configuration with which the last one was converted. 0 if it is not known.
    pub configuration: i64,
    /// When the first of them was received. `None` if it is not known.
    pub first_at: Option<Micros>,
    pub bodies: u32,
    /// Those of them with each path.
    pub top: BTreeMap<String, u32>,
}

impl Counts {
    /// Adds a lead of a delivery: whether it has a name, a phone, an e-mail address, an external id, a
    /// listing.
    pub fn add_lead(&mut self, has: [bool; 5]) {
        self.leads += 1;
        self.with[0] = 1;
        let [_, phone, email, ..] = has;
        let has = has.into_iter().chain([phone || email]);
        for (count, has) in self.with[1..].iter_mut().zip(has) {
            *count += u32::from(has);
        }
    }

    pub fn convert_by(&mut self, live: &Live, plugin: &Loaded) {
        if self.converted > 0 {
            self.version = version(plugin);
            self.configuration = live.connection.config_version;
        }
    }

    pub fn read(&mut self, body: &[u8], is_form: bool) {
        self.bodies += 1;
        let paths = top_level_paths(body, is_form);
        self.top.extend(paths.into_iter().map(|path| (path, 1)));
    }

    pub fn is_empty(&self) -> bool {
        self.deliveries == 0 && self.converted == 0
    }

    pub fn add(&mut self, other: &Self) {
        self.deliveries += other.deliveries;
        self.converted += other.converted;
        self.leads += other.leads;
        self.bodies += other.bodies;
        for (own, other) in self.with.iter_mut().zip(other.with) {
            *own += other;
        }
        self.mixed |= other.mixed;
        if !other.version.is_empty() {
            self.mixed |= !self.version.is_empty() && self.version != other.version;
            self.version.clone_from(&other.version);
            self.configuration = other.configuration;
        }
        self.first_at = self.first_at.into_iter().chain(other.first_at).min();
        for (path, count) in &other.top {
            if !self.is_full() || self.top.contains_key(path) {
                *self.top.entry(path.clone()).or_default() += count;
            }
        }
    }

    /// Halves all counts, and drops the paths that have none left.
    pub fn halve(&mut self) {
        let wholes = [
            &mut self.deliveries,
            &mut self.converted,
            &mut self.leads,
            &mut self.bodies,
        ];
        let counts = wholes.into_iter().chain(&mut self.with);
        counts
            .chain(self.top.values_mut())
            .for_each(|count| *count /= 2);
        self.top.retain(|_, count| *count > 0);
    }

    /// Returns whether paths may be missing.
    pub fn is_full(&self) -> bool {
        self.top.len() >= limits::SKETCH_PATHS
    }

    pub fn subjects(&self) -> impl Iterator<Item = String> {
        let paths = self.top.keys().map(|path| format!("path {path}"));
        FIELDS.into_iter().map(str::to_owned).chain(paths)
    }

    /// Returns how many have a field or a path, and of how many.
    pub fn part(&self, subject: &str) -> (u32, u32) {
        match field(subject) {
            Some(0) => (self.with[0], self.converted),
            Some(field) => (self.with[field], self.leads),
            None => {
                let path = subject.strip_prefix("path ");
                let count = path.and_then(|path| self.top.get(path));
                (count.copied().unwrap_or_default(), self.bodies)
            }
        }
    }

    /// Returns that part in percent, rounded. `None` of nothing.
    pub fn share(&self, subject: &str) -> Option<u64> {
        let (part, whole) = self.part(subject);
        let (part, whole) = (u64::from(part), u64::from(whole));
        (whole > 0).then(|| (part * 100 + whole / 2) / whole)
    }

    /// Returns whether leads have one of these fields more often than another version's leads.
    pub fn reads_more(&self, other: &Self, fields: &[usize]) -> bool {
        let mut fields = fields.iter();
        fields.any(|field| self.with[*field] > other.with[*field])
    }
}

/// Returns the keys of a JSON object, or of those in a JSON list, or the names of a form's fields. Any other
/// body has none.
fn top_level_paths(body: &[u8], is_form: bool) -> BTreeSet<String> {
    type Object = BTreeMap<String, IgnoredAny>;
    let mut paths = BTreeSet::new();
    let mut note = |prefix: &str, key: &str| {
        if paths.len() < limits::SKETCH_PATHS && key.len() <= limits::SKETCH_PATH_BYTES {
            paths.insert(format!("{prefix}{}", name(key)));
        }
    };
    if is_form {
        form_urlencoded::parse(body).for_each(|(key, _)| note("", &key));
        return paths;
    }
    let text = json::decode(body);
    let text = json::without_halves(text.trim_start_matches('\u{feff}'));
    if let Ok(object) = serde_json::from_str::<Object>(&text) {
        object.keys().for_each(|key| note("", key));
    } else if let Ok(list) = serde_json::from_str::<Vec<Object>>(&text) {
        let keys = list.iter().flat_map(Object::keys);
        keys.for_each(|key| note("[].", key));
    }
    paths
}

/// Returns the name of a key in a path. Keys that are values themselves, such as ids and addresses, are one
/// path.
fn name(key: &str) -> &str {
    let digits = key.chars().filter(char::is_ascii_digit).count();
    let is_value = digits >= 6 || key.contains('@') || key.contains(text::is_active);
    if is_value { "*" } else { key }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_the_names_at_the_top_of_a_body_and_no_values() {
        let many: Vec<_> = (0..20_000).map(|key| format!("\"k{key}\":1")).collect();
        let many = top_level_paths(format!("{{{}}}", many.join(",")).as_bytes(), false);
        assert_eq!(many.len(), limits::SKETCH_PATHS);
        let check = |body: &[u8], expect: &[&str]| {
            let paths = top_level_paths(body, body.starts_with(b"nome="));
            assert!(paths.iter().eq(expect), "{paths:?}");
        };
        check(
            br#"{"b": {"x": 1.5}, "a": [{"y": null}], "b": 1}"#,
            &["a", "b"],
        );
        check(br#"[{"b": {"x": 1}}, {"a": 1}]"#, &["[].a", "[].b"]);
        check("\u{feff}{\"a\": \"\\ud83d\"}".as_bytes(), &["a"]);
        check(b"{\"regi\xe3o\": \"S\xe3o\"}", &["região"]);
        check(b"nome=Lia&telefone=1%202&nome=x", &["nome", "telefone"]);
        let values = br#"{"lia@example.com": 1, "5511988880001": 2, "a\u001bb": 3}"#;
        check(values, &["*"]);
        for other in [
            "",
            "<lead/>",
            "{\"a\": 1",
            "name=Lia",
            "17",
            "\"text\"",
            "[1]",
        ] {
            check(other.as_bytes(), &[]);
        }
        let deep = "[".repeat(100_000);
        check(deep.as_bytes(), &[]);
        let closed = format!("{{\"a\":{deep}{}}}", "]".repeat(100_000));
        check(closed.as_bytes(), &["a"]);
        let long = format!("{{\"{}\":1,\"b\":1}}", "k".repeat(200_000));
        check(long.as_bytes(), &["b"]);
    }

    #[test]
    fn the_paths_of_many_deliveries_are_bounded() {
        let mut counts = Counts::default();
        for number in 0..500 {
            let mut one = Counts::default();
            one.read(format!("{{\"x{number}\":1}}").as_bytes(), false);
            counts.add(&one);
        }
        assert_eq!(counts.top.len(), limits::SKETCH_PATHS);
    }
}
