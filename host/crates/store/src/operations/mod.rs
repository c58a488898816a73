//! The operations of the store, each written once for both databases.

pub mod activity;
pub mod agents;
pub mod analytics;
pub mod answers;
pub mod apply;
pub mod audit;
pub mod batch;
pub mod claim;
pub mod connections;
pub mod deals;
pub mod deliveries;
pub mod desk;
pub mod erase;
pub mod export;
pub mod fleet;
pub mod keys;
pub mod merge;
pub mod messages;
pub mod people;
pub mod plugin_removal;
pub mod plugins;
mod prelude;
pub mod probe;
pub mod product_plan;
pub mod products;
pub mod remove;
pub mod repairs;
pub mod rollouts;
pub mod said;
pub mod sealing;
pub mod sketches;
pub mod stamp;
pub mod sweep;
pub mod templates;
pub mod tombstones;

use super::sql::{Dialect, Sql};

macro_rules! areas {
    ($($($area:ident)::+),+ $(,)?) => {
        [$((stringify!($($area)::+), $($area)::+::SQL.to_vec())),+]
    };
}

fn areas() -> Vec<(&'static str, Vec<&'static Sql>)> {
    let written = areas![
        activity,
        agents,
        probe,
        analytics::builds,
        analytics::cells,
        analytics::remove,
        analytics::cubes,
        analytics::run,
        analytics::status,
        analytics::step,
        answers,
        apply,
        audit,
        claim,
        connections,
        deals,
        deliveries,
        desk,
        export,
        keys,
        batch::load,
        batch::load::leads,
        batch::load::dialogue,
        batch::load::desk,
        batch::load::repairs,
        merge,
        messages,
        people,
        plugin_removal,
        plugins,
        products,
        remove,
        repairs,
        rollouts,
        said,
        sealing,
        sketches,
        stamp,
        templates,
        tombstones,
    ];
    let gathered = [
        ("erase", erase::statements()),
        ("save", batch::save::statements()),
        ("sweep", sweep::statements()),
    ];
    written.into_iter().chain(gathered).collect()
}

/// Returns every statement for a database with its area, for tests that examine the query plans.
pub fn statements(dialect: Dialect) -> impl Iterator<Item = (&'static str, &'static str)> {
    let all = areas().into_iter().flat_map(move |(area, statements)| {
        let texts = statements.into_iter().map(move |sql| sql.text(dialect));
        texts.map(move |text| (area, text.sql.as_str()))
    });
    all.filter(|(_, text)| !text.is_empty())
}

/// Returns whether a statement reads the declarations of operators, which are few and listed in
/// full.
#[cfg(test)]
pub fn is_of_few(text: &str) -> bool {
    let whole = [
        agents::SQL,
        probe::SQL,
        apply::SQL,
        connections::SQL,
        plugin_removal::SQL,
        plugins::SQL,
        rollouts::SQL,
        sketches::SQL,
        repairs::WHOLE,
        keys::WHOLE,
        deals::WHOLE,
        deliveries::WHOLE,
    ]
    .concat();
    whole
        .iter()
        .any(|sql| sql.text(Dialect::Sqlite).sql == text)
}
