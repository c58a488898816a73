//! A row of either store as the domain's types. Each store says how its columns
//! hold an id, a time, a number, a text or JSON; what a row as a whole means is
//! said once, in the files of this folder, and so is the same in both.
//!
//! Both stores select a column under one name: a time under that which ends in
//! `_at`. What does not parse is a defect or a hand in the database, and the
//! error names the column.

pub mod agents;
pub mod analytics;
pub mod connections;
pub mod deals;
pub mod deliveries;
pub mod desk;
pub mod erase;
pub mod export;
pub mod fetches;
pub mod keys;
pub mod known;
pub mod messages;
pub mod plugins;
pub mod products;

use std::fmt;
use std::str::FromStr;

use serde::Serialize;
use serde::de::DeserializeOwned;
use sqlx::ColumnIndex;
use sqlx::postgres::PgRow;
use uuid::Uuid;

use super::StoreError;
use super::error::odd;
use crate::domain::time::Micros;

/// Where a column is: by name, or by place where many rows are read.
#[derive(Clone, Copy, Debug)]
pub enum Column {
    Named(&'static str),
    At(usize),
}

impl From<&'static str> for Column {
    fn from(name: &'static str) -> Self {
        Self::Named(name)
    }
}

impl From<usize> for Column {
    fn from(place: usize) -> Self {
        Self::At(place)
    }
}

impl fmt::Display for Column {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Named(name) => f.write_str(name),
            Self::At(place) => write!(f, "column {place}"),
        }
    }
}

impl ColumnIndex<PgRow> for Column {
    fn index(&self, row: &PgRow) -> Result<usize, sqlx::Error> {
        match self {
            Self::Named(name) => name.index(row),
            Self::At(place) => place.index(row),
        }
    }
}

/// A store gives those without a body; null is `None`. The others follow.
pub trait Columns {
    fn str_if(&self, column: Column) -> Result<Option<&str>, StoreError>;
    fn uuid_if(&self, column: Column) -> Result<Option<Uuid>, StoreError>;
    fn micros_if(&self, column: Column) -> Result<Option<Micros>, StoreError>;
    /// Of the size that a store keeps great numbers in.
    fn great_if(&self, column: Column) -> Result<Option<i64>, StoreError>;
    /// Of the size that a store keeps places and counts in.
    fn small_if(&self, column: Column) -> Result<Option<i64>, StoreError>;
    fn flag(&self, column: impl Into<Column>) -> Result<bool, StoreError>;
    fn bytes_if(&self, column: impl Into<Column>) -> Result<Option<Vec<u8>>, StoreError>;
    fn json_if<T: DeserializeOwned>(
        &self,
        column: impl Into<Column>,
    ) -> Result<Option<T>, StoreError>;

    /// An id that is a uuid.
    fn id<T: From<Uuid>>(&self, column: impl Into<Column>) -> Result<T, StoreError> {
        let column = column.into();
        known(self.uuid_if(column)?.map(T::from), column)
    }

    fn id_if<T: From<Uuid>>(&self, column: impl Into<Column>) -> Result<Option<T>, StoreError> {
        Ok(self.uuid_if(column.into())?.map(T::from))
    }

    /// A uuid as the text that leaves.
    fn id_text_if(&self, column: impl Into<Column>) -> Result<Option<String>, StoreError> {
        Ok(self.uuid_if(column.into())?.map(|id| id.to_string()))
    }

    fn id_text(&self, column: impl Into<Column>) -> Result<String, StoreError> {
        let column = column.into();
        known(self.id_text_if(column)?, column)
    }

    /// An id that is no uuid: a connection's.
    fn text_id<T: FromStr>(&self, column: impl Into<Column>) -> Result<T, StoreError> {
        let column = column.into();
        known(self.text_id_if(column)?, column)
    }

    fn text_id_if<T: FromStr>(&self, column: impl Into<Column>) -> Result<Option<T>, StoreError> {
        let column = column.into();
        self.str_if(column)?
            .map(|text| text.parse().map_err(|_| unread(column, text)))
            .transpose()
    }

    fn text(&self, column: impl Into<Column>) -> Result<String, StoreError> {
        let column = column.into();
        known(self.text_if(column)?, column)
    }

    fn text_if(&self, column: impl Into<Column>) -> Result<Option<String>, StoreError> {
        Ok(self.str_if(column.into())?.map(str::to_owned))
    }

    /// One of few words.
    fn word<T>(
        &self,
        table: &str,
        column: &'static str,
        of: impl FnOnce(&str) -> Option<T>,
    ) -> Result<T, StoreError> {
        let text = self.str_if(column.into())?.unwrap_or("null");
        of(text).ok_or_else(|| odd(table, column, text))
    }

    fn time(&self, column: impl Into<Column>) -> Result<Micros, StoreError> {
        let column = column.into();
        known(self.micros_if(column)?, column)
    }

    fn time_if(&self, column: impl Into<Column>) -> Result<Option<Micros>, StoreError> {
        self.micros_if(column.into())
    }

    /// A great number in what it fits into.
    fn number<T: TryFrom<i64>>(&self, column: impl Into<Column>) -> Result<T, StoreError> {
        let column = column.into();
        known(self.number_if(column)?, column)
    }

    fn number_if<T: TryFrom<i64>>(
        &self,
        column: impl Into<Column>,
    ) -> Result<Option<T>, StoreError> {
        let column = column.into();
        self.great_if(column)?
            .map(|number| T::try_from(number).map_err(|_| unread(column, number)))
            .transpose()
    }

    /// A place or a count in what it fits into.
    fn small<T: TryFrom<i64>>(&self, column: impl Into<Column>) -> Result<T, StoreError> {
        let column = column.into();
        let number = known(self.small_if(column)?, column)?;
        T::try_from(number).map_err(|_| unread(column, number))
    }

    fn bytes(&self, column: impl Into<Column>) -> Result<Vec<u8>, StoreError> {
        let column = column.into();
        known(self.bytes_if(column)?, column)
    }

    fn json<T: DeserializeOwned>(&self, column: impl Into<Column>) -> Result<T, StoreError> {
        let column = column.into();
        known(self.json_if(column)?, column)
    }
}

fn known<T>(found: Option<T>, column: Column) -> Result<T, StoreError> {
    found.ok_or_else(|| unread(column, "null"))
}

/// For a column that holds what it cannot.
pub fn unread(column: Column, found: impl fmt::Display) -> StoreError {
    odd("row", column, found)
}

/// JSON text of our own types, as a parameter.
pub fn json<T: Serialize + ?Sized>(value: &T) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(|error| StoreError::Inconsistent {
        what: format!("a value that is no JSON: {error}"),
    })
}
