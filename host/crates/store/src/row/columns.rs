//! The columns of a row. Each database defines how its columns hold an id, a time, a number, a text or
//! JSON; `sql/stored.rs` makes the types of fields of them.

use std::fmt;

use serde::de::DeserializeOwned;
use sqlx::ColumnIndex;
use sqlx::postgres::PgRow;

use crate::error::{UNKNOWN_TABLE, odd};
use crate::prelude::*;
use crate::sql::Stored;

/// The position of a column: its name, or its index if many rows are read.
#[derive(Clone, Copy, Debug)]
pub enum ColumnRef {
    Named(&'static str),
    At(usize),
}

impl From<&'static str> for ColumnRef {
    fn from(name: &'static str) -> Self {
        Self::Named(name)
    }
}

impl From<usize> for ColumnRef {
    fn from(place: usize) -> Self {
        Self::At(place)
    }
}

impl fmt::Display for ColumnRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Named(name) => f.write_str(name),
            Self::At(place) => write!(f, "column {place}"),
        }
    }
}

impl ColumnIndex<PgRow> for ColumnRef {
    fn index(&self, row: &PgRow) -> Result<usize, sqlx::Error> {
        match self {
            Self::Named(name) => name.index(row),
            Self::At(place) => place.index(row),
        }
    }
}

/// Access to the columns of a row of either database. Null is `None`. A value that its column cannot hold is a
/// [`StoreError::Inconsistent`] that names the column.
pub trait RowColumns {
    /// Reads a text or the text of a JSON value, without a copy.
    fn str_if(&self, column: ColumnRef) -> Result<Option<&str>, StoreError>;
    fn uuid_if(&self, column: ColumnRef) -> Result<Option<Uuid>, StoreError>;
    /// Reads a time: microseconds since 1970, in UTC.
    fn micros_if(&self, column: ColumnRef) -> Result<Option<Micros>, StoreError>;
    fn number_if(&self, column: ColumnRef) -> Result<Option<i64>, StoreError>;
    fn truth_if(&self, column: ColumnRef) -> Result<Option<bool>, StoreError>;
    /// Reads bytes into a copy.
    fn bytes_if(&self, column: ColumnRef) -> Result<Option<Vec<u8>>, StoreError>;
    fn json_if<T: DeserializeOwned>(&self, column: ColumnRef) -> Result<Option<T>, StoreError>;
}

/// A type that a whole row is read into.
pub trait FromRow: Sized {
    fn from_row(row: &SqlRow<'_>) -> Result<Self, StoreError>;
}

/// Reads a record with its `id`.
pub fn with_id<I: Stored, R: FromRow>(row: &SqlRow<'_>) -> Result<(I, R), StoreError> {
    Ok((row.get("id")?, R::from_row(row)?))
}

/// Reads a row into a struct, `read!(row => Part { id, name: "owner_name", more = false })`: a field without
/// more has the name of its column, and one with `=` is no column.
macro_rules! read {
    ($row:ident => $record:ident { $($field:ident $(: $column:literal)? $(= $value:expr)?),* $(,)? }) => {
        $record { $($field: $crate::row::read!(@field $row $field $(: $column)? $(= $value)?),)* }
    };
    (@field $row:ident $field:ident) => { $row.get(stringify!($field))? };
    (@field $row:ident $field:ident: $column:literal) => { $row.get($column)? };
    (@field $row:ident $field:ident = $value:expr) => { $value };
}

pub(crate) use read;

/// Reads columns of a row into a tuple, `cells!("id", "status")`.
macro_rules! cells {
    ($($column:literal),+) => {
        |row: &$crate::sql::SqlRow<'_>| Ok(($(row.get($column)?,)+))
    };
}

pub(crate) use cells;

/// Implements [`FromRow`] for structs as [`read!`](read) reads them.
macro_rules! from_row {
    ($($record:ident |$row:ident| { $($fields:tt)* })+) => {
        $(impl $crate::row::FromRow for $record {
            fn from_row($row: &$crate::sql::SqlRow<'_>) -> Result<Self, $crate::StoreError> {
                let read = || Ok($crate::row::read!($row => $record { $($fields)* }));
                read().map_err(|error: $crate::StoreError| error.in_table(stringify!($record)))
            }
        })+
    };
}

pub(crate) use from_row;

pub fn unread(column: ColumnRef, found: impl fmt::Display) -> StoreError {
    odd(UNKNOWN_TABLE, column, found)
}

pub fn json<T: Serialize + ?Sized>(value: &T) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(|error| StoreError::Inconsistent {
        what: format!("a value cannot be serialized as JSON: {error}"),
    })
}
