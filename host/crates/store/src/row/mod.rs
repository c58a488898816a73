//! The columns of a row, and whole rows that several operations read. A table's own record is read by what
//! `table!` makes of it; another row by `read!` or `from_row!` beside its statement.
//!
//! Both stores select a column under the same name; the name of a time ends in `_at`.

pub mod analytics;
mod columns;
pub mod deals;
pub mod deliveries;
pub mod export;

pub use self::columns::{ColumnRef, json, unread};
pub(crate) use self::columns::{FromRow, RowColumns, cells, from_row, read, with_id};
