//! What the store does, each operation written once for both databases.

pub mod agents;
pub mod answers;
pub mod apply;
pub mod connections;
pub mod deals;
pub mod desk;
pub mod keys;
pub mod merge;
pub mod plugins;
pub mod products;
pub mod stamp;
pub mod templates;
pub mod tombstones;

use super::sql::{Dialect, Sql};

const STATEMENTS: &[(&str, &[&Sql])] = &[
    ("agents", agents::SQL),
    ("answers", answers::SQL),
    ("apply", apply::SQL),
    ("connections", connections::SQL),
    ("deals", deals::SQL),
    ("desk", desk::SQL),
    ("keys", keys::SQL),
    ("merge", merge::SQL),
    ("plugins", plugins::SQL),
    ("products", products::SQL),
    ("stamp", stamp::SQL),
    ("templates", templates::SQL),
    ("tombstones", tombstones::SQL),
];

/// Every statement for a database by its area: for tests, which ask it how it runs them.
pub fn statements(dialect: Dialect) -> impl Iterator<Item = (&'static str, &'static str)> {
    let all = STATEMENTS.iter().flat_map(move |(area, statements)| {
        let texts = statements.iter().map(move |sql| sql.text(dialect));
        texts.map(move |text| (*area, text.sql.as_str()))
    });
    all.filter(|(_, text)| !text.is_empty())
}

/// Whether a statement reads what operators declare, which is little and listed whole.
#[cfg(test)]
pub fn is_of_few(text: &str) -> bool {
    let whole = [
        agents::SQL,
        apply::SQL,
        connections::SQL,
        plugins::SQL,
        keys::WHOLE,
        deals::WHOLE,
    ]
    .concat();
    whole
        .iter()
        .any(|sql| sql.text(Dialect::Sqlite).sql == text)
}
