//! The names and formats of the texts of a declaration. A name is unique within its list, and a reference
//! names an entry of the same file, or an instance that the workspace has already. A format has its check,
//! and a constant with the words that a problem uses for it.

use std::collections::BTreeSet;

use super::reader::FileTable;
use leadhost_domain::workspace::Agent;
use leadhost_domain::{phone, zone};
use leadhost_store::PlannedAgent;

#[derive(Default)]
pub(super) struct Unique(BTreeSet<String>);

impl Unique {
    pub(super) fn take(&mut self, table: &FileTable<'_>, field: &str, value: &str) {
        if !value.is_empty() && !self.0.insert(value.to_owned()) {
            table.problem(field, format!("`{value}` is declared twice"));
        }
    }
}

pub(super) fn known(table: &FileTable<'_>, field: &str, name: &str, what: &str, among: &[String]) {
    if !among.iter().any(|one| one == name) {
        let names: Vec<_> = among.iter().map(String::as_str).collect();
        let names = if names.is_empty() {
            "none".to_owned()
        } else {
            names.join(", ")
        };
        table.problem(
            field,
            format!("this file has no {what} `{name}`; it declares {names}"),
        );
    }
}

pub(super) fn known_instance(
    table: &FileTable<'_>,
    name: &str,
    declared: &[PlannedAgent],
    stored: &[Agent],
) {
    if stored.iter().any(|one| one.name == name) {
        return;
    }
    let names: Vec<_> = declared.iter().map(|one| one.name.clone()).collect();
    known(table, "instance", name, "instance", &names);
}

pub(super) const REGION: &str =
    "two capital letters of ISO 3166 for a region with phone numbers, such as BR";
pub(super) const TIME_ZONE: &str =
    "a time zone name of the IANA database, such as America/Sao_Paulo or UTC";
pub(super) const NUMBER: &str = "a phone number with country code, such as +5511912345678";
pub(super) const LANGUAGE: &str = "a language code of the channel, such as pt_BR or en";

pub(super) fn is_slug(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= 64
        && text
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
}

/// Returns whether the text is a region with phone numbers. Phones of another region could not be
/// read, so its leads would have no phones.
pub(super) fn is_region(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_uppercase()) && phone::is_region(text)
}

pub(super) fn is_time_zone(text: &str) -> bool {
    zone::is_zone(text)
}

/// Returns whether the text is a phone number with its country code. Numbers are looked up and
/// returned as E.164, independent of the workspace's region.
pub(super) fn is_number(text: &str) -> bool {
    phone::normalise(text, "").e164.is_some()
}

/// Returns whether the text is a language as providers write it: letters, and optionally a region
/// after an underscore.
pub(super) fn is_language(text: &str) -> bool {
    let mut parts = text.split('_');
    let language = parts.next().unwrap_or_default();
    (2..=3).contains(&language.len())
        && language.bytes().all(|byte| byte.is_ascii_lowercase())
        && parts.clone().count() <= 2
        && parts.all(|part| {
            (2..=4).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_alphanumeric())
        })
}
