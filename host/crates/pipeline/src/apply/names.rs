//! Names in a declaration: each is unique within its list, and a reference names an entry of the
//! same file, or an instance that the workspace has already.

use std::collections::BTreeSet;

use super::reader::FileTable;
use leadhost_domain::workspace::Agent;
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
