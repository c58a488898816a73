//! The statements that PostgreSQL runs: the operations' and this folder's.

use super::{commit_status, examine, health, hosts, open, rate, server};
use crate::operations;
use crate::sql::Dialect;

/// Returns every statement by its area. For tests that run them against a server.
pub fn statements() -> Vec<(&'static str, &'static str)> {
    let own = STATEMENTS
        .iter()
        .flat_map(|(area, statements)| statements.iter().map(|sql| (*area, *sql)));
    own.chain(operations::statements(Dialect::Postgres))
        .collect()
}

const STATEMENTS: &[(&str, &[&str])] = &[
    ("hosts", hosts::SQL),
    ("open", open::SQL),
    ("examine", examine::SQL),
    ("commit_status", commit_status::SQL),
    ("rate", rate::SQL),
    ("health", health::SQL),
    ("server", server::SQL),
];
