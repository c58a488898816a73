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

fn areas() -> Vec<(&'static str, Vec<&'static Sql>)> {
    vec![
        ("activity", activity::SQL.to_vec()),
        ("agents", agents::SQL.to_vec()),
        ("probe", probe::SQL.to_vec()),
        ("analytics", analytics::builds::SQL.to_vec()),
        ("analytics", analytics::cells::SQL.to_vec()),
        ("analytics", analytics::remove::SQL.to_vec()),
        ("analytics", analytics::cubes::SQL.to_vec()),
        ("analytics", analytics::run::SQL.to_vec()),
        ("analytics", analytics::status::SQL.to_vec()),
        ("analytics", analytics::step::SQL.to_vec()),
        ("answers", answers::SQL.to_vec()),
        ("apply", apply::SQL.to_vec()),
        ("audit", audit::SQL.to_vec()),
        ("claim", claim::SQL.to_vec()),
        ("connections", connections::SQL.to_vec()),
        ("deals", deals::SQL.to_vec()),
        ("deliveries", deliveries::SQL.to_vec()),
        ("desk", desk::SQL.to_vec()),
        ("erase", erase::SQL.concat()),
        ("export", export::SQL.to_vec()),
        ("keys", keys::SQL.to_vec()),
        ("load", batch::load::SQL.to_vec()),
        ("load", batch::load::leads::SQL.to_vec()),
        ("load", batch::load::dialogue::SQL.to_vec()),
        ("load", batch::load::desk::SQL.to_vec()),
        ("load", batch::load::repairs::SQL.to_vec()),
        ("merge", merge::SQL.to_vec()),
        ("messages", messages::SQL.to_vec()),
        ("people", people::SQL.to_vec()),
        ("plugin_removal", plugin_removal::SQL.to_vec()),
        ("plugins", plugins::SQL.to_vec()),
        ("products", products::SQL.to_vec()),
        ("remove", remove::SQL.to_vec()),
        ("repairs", repairs::SQL.to_vec()),
        ("rollouts", rollouts::SQL.to_vec()),
        ("said", said::SQL.to_vec()),
        ("save", batch::save::statements()),
        ("sealing", sealing::SQL.to_vec()),
        ("sketches", sketches::SQL.to_vec()),
        ("stamp", stamp::SQL.to_vec()),
        ("sweep", sweep::statements()),
        ("templates", templates::SQL.to_vec()),
        ("tombstones", tombstones::SQL.to_vec()),
    ]
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
