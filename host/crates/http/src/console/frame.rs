//! The common frame of all pages, and the functions with which they write times and sizes.

use super::form;
use super::outcome::Notice;
use super::pages;
use crate::prelude::*;
use leadhost_domain::key::Role;

/// The part around a page's content.
pub struct Frame {
    /// The name of the section that the navigation marks.
    pub section: &'static str,
    pub title: String,
    /// The label of the operator's key.
    pub who: String,
    pub role: Role,
    pub form_token: String,
    pub notice: Option<Notice>,
    pub host: String,
    /// `server.public_url` without its last slash. Empty if it is not set.
    pub public_url: String,
    pub now: Micros,
}

/// A link of the navigation.
pub struct Section {
    pub name: &'static str,
    pub path: &'static str,
    pub label: &'static str,
}

impl Frame {
    pub fn sections(&self) -> &'static [Section] {
        pages::SECTIONS
    }

    pub fn token_name(&self) -> &'static str {
        form::TOKEN
    }

    /// Returns whether the operator may change something.
    pub fn may_operate(&self) -> bool {
        self.role >= Role::Operator
    }

    /// Returns whether the operator may manage keys.
    pub fn may_administer(&self) -> bool {
        self.role >= Role::Admin
    }

    /// Returns the address to which others send, as far as the service knows it: a path alone if
    /// `server.public_url` is not set.
    pub fn address(&self, path: impl std::fmt::Display) -> String {
        format!("{}{path}", self.public_url)
    }

    pub fn source_address(&self, id: &ConnectionId) -> String {
        self.address(format_args!("/ingest-lead/{id}"))
    }

    /// Returns how long ago a time was, or how far ahead it is, with its largest unit.
    pub fn ago(&self, at: &Micros) -> String {
        if *at > self.now {
            return format!("in {}", span(at.since(self.now)));
        }
        let age = self.now.since(*at);
        match age.as_secs() {
            0..5 => "now".to_owned(),
            _ => format!("{} ago", span(age)),
        }
    }

    pub fn time(&self, at: &Micros) -> String {
        let text = at.text();
        let second = text.get(..19).unwrap_or(&text);
        second.replace('T', " ")
    }
}

/// Returns a length of time in its largest unit: `3 min`.
pub fn span(length: Duration) -> String {
    const UNITS: [(u64, &str); 4] = [(86_400, "d"), (3_600, "h"), (60, "min"), (1, "s")];
    let seconds = length.as_secs();
    let unit = UNITS.iter().find(|(unit, _)| seconds >= *unit);
    let (unit, name) = unit.unwrap_or(&(1, "s"));
    format!("{} {name}", seconds / unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_have_their_largest_unit() {
        let check = |seconds, expect| assert_eq!(span(Duration::from_secs(seconds)), expect);
        check(0, "0 s");
        check(59, "59 s");
        check(3_599, "59 min");
        check(200_000, "2 d");
    }
}
