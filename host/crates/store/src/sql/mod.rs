//! The SQL layer that operations use for both databases: statements that are written once, with
//! named parameters, and a transaction that runs them.
//!
//! On SQLite an operation runs from start to end on one thread without waiting, so its futures are
//! always ready. On PostgreSQL each statement is a round trip.

mod statement;
mod stored;
mod transaction;
mod value;

pub(crate) use self::statement::statements;
pub use self::statement::{Dialect, Sql, Text, Together, for_dialect, listed, made, sql};
pub use self::stored::Stored;
pub(crate) use self::transaction::steps;
pub use self::transaction::{SqlRow, Tx};
pub(crate) use self::value::args;
pub use self::value::{Arg, Json, SqlType, SqlValue, json, owned};
