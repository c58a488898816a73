//! Typed access to the columns of a row. Each store defines how its columns hold an id, a time, a
//! number, a text or JSON.
//!
//! # Errors
//!
//! The functions of this module fail with [`StoreError::Inconsistent`] if a column holds a value
//! that it cannot hold, which is a defect or a manual change in the database. The error names the
//! column.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;
use serde::de::DeserializeOwned;
use sqlx::ColumnIndex;
use sqlx::postgres::PgRow;
use uuid::Uuid;

use crate::StoreError;
use crate::error::odd;
use leadhost_domain::time::Micros;

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

/// Typed access to the columns of a row. A store implements the methods without a body; null is
/// `None`. The other methods build on them.
///
/// # Errors
///
/// [`StoreError::Inconsistent`] if a required column is null, and [`StoreError`] if a value does not
/// have the type of its column. The error names the column.
pub trait RowColumns {
    /// Reads a text or the text of a JSON value, without a copy.
    fn str_if(&self, column: ColumnRef) -> Result<Option<&str>, StoreError>;
    /// Reads a UUID.
    fn uuid_if(&self, column: ColumnRef) -> Result<Option<Uuid>, StoreError>;
    /// Reads a time: microseconds since 1970, in UTC.
    fn micros_if(&self, column: ColumnRef) -> Result<Option<Micros>, StoreError>;
    /// Reads a number from a column that holds large numbers.
    fn great_if(&self, column: ColumnRef) -> Result<Option<i64>, StoreError>;
    /// Reads a number from a column that holds indexes and counts.
    fn small_if(&self, column: ColumnRef) -> Result<Option<i64>, StoreError>;
    /// Reads a truth value that is required.
    fn flag(&self, column: impl Into<ColumnRef>) -> Result<bool, StoreError>;
    /// Reads bytes into a copy.
    fn bytes_if(&self, column: impl Into<ColumnRef>) -> Result<Option<Vec<u8>>, StoreError>;
    /// Parses a JSON value.
    fn json_if<T: DeserializeOwned>(
        &self,
        column: impl Into<ColumnRef>,
    ) -> Result<Option<T>, StoreError>;

    /// Reads an id that is a UUID.
    ///
    /// # Errors
    ///
    /// [`StoreError::Inconsistent`] if the column is null, and [`StoreError`] if it does not
    /// hold a UUID.
    fn id<T: From<Uuid>>(&self, column: impl Into<ColumnRef>) -> Result<T, StoreError> {
        let column = column.into();
        known(self.uuid_if(column)?.map(T::from), column)
    }

    /// Reads an id that is a UUID. Null is `None`.
    fn id_if<T: From<Uuid>>(&self, column: impl Into<ColumnRef>) -> Result<Option<T>, StoreError> {
        Ok(self.uuid_if(column.into())?.map(T::from))
    }

    /// Reads a UUID as the text that clients see.
    fn id_text_if(&self, column: impl Into<ColumnRef>) -> Result<Option<String>, StoreError> {
        Ok(self.uuid_if(column.into())?.map(|id| id.to_string()))
    }

    /// Reads a UUID that is required, as the text that clients see.
    ///
    /// # Errors
    ///
    /// [`StoreError::Inconsistent`] if the column is null, and [`StoreError`] if it does not
    /// hold a UUID.
    fn id_text(&self, column: impl Into<ColumnRef>) -> Result<String, StoreError> {
        let column = column.into();
        known(self.id_text_if(column)?, column)
    }

    /// Reads an id that is not a UUID: that of a connection.
    ///
    /// # Errors
    ///
    /// [`StoreError::Inconsistent`] if the column is null or the text is not such an id, and
    /// [`StoreError`] if it does not hold a text.
    fn text_id<T: FromStr>(&self, column: impl Into<ColumnRef>) -> Result<T, StoreError> {
        let column = column.into();
        known(self.text_id_if(column)?, column)
    }

    /// Reads an id that is not a UUID. Null is `None`.
    ///
    /// # Errors
    ///
    /// [`StoreError::Inconsistent`] if the text is not such an id, and [`StoreError`] if the
    /// column holds anything but a text or null.
    fn text_id_if<T: FromStr>(
        &self,
        column: impl Into<ColumnRef>,
    ) -> Result<Option<T>, StoreError> {
        let column = column.into();
        self.str_if(column)?
            .map(|text| text.parse().map_err(|_| unread(column, text)))
            .transpose()
    }

    /// Reads a text that is required.
    ///
    /// # Errors
    ///
    /// [`StoreError::Inconsistent`] if the column is null, and [`StoreError`] if it does not
    /// hold a text.
    fn text(&self, column: impl Into<ColumnRef>) -> Result<String, StoreError> {
        let column = column.into();
        known(self.text_if(column)?, column)
    }

    /// Reads a text into a copy. Null is `None`.
    fn text_if(&self, column: impl Into<ColumnRef>) -> Result<Option<String>, StoreError> {
        Ok(self.str_if(column.into())?.map(str::to_owned))
    }

    /// Reads a word from a fixed set, which `of` parses.
    ///
    /// # Errors
    ///
    /// [`StoreError::Inconsistent`] if the column is null or the set does not contain the word,
    /// and [`StoreError`] if it does not hold a text.
    fn word<T>(
        &self,
        table: &str,
        column: &'static str,
        of: impl FnOnce(&str) -> Option<T>,
    ) -> Result<T, StoreError> {
        let text = self.str_if(column.into())?.unwrap_or("null");
        of(text).ok_or_else(|| odd(table, column, text))
    }

    /// Reads a word of a closed set, or `None` if the column is null.
    ///
    /// # Errors
    ///
    /// [`StoreError::Inconsistent`] if the word is unknown, and [`StoreError`] if the column does
    /// not hold text.
    fn word_if<T>(
        &self,
        table: &str,
        column: &'static str,
        of: impl FnOnce(&str) -> Option<T>,
    ) -> Result<Option<T>, StoreError> {
        let text = self.str_if(column.into())?;
        text.map(|text| of(text).ok_or_else(|| odd(table, column, text)))
            .transpose()
    }

    /// Reads a time that is required.
    ///
    /// # Errors
    ///
    /// [`StoreError::Inconsistent`] if the column is null, and [`StoreError`] if it does not
    /// hold a time.
    fn time(&self, column: impl Into<ColumnRef>) -> Result<Micros, StoreError> {
        let column = column.into();
        known(self.micros_if(column)?, column)
    }

    /// Reads a time. Null is `None`.
    fn time_if(&self, column: impl Into<ColumnRef>) -> Result<Option<Micros>, StoreError> {
        self.micros_if(column.into())
    }

    /// Reads a large number into a type that it must fit.
    ///
    /// # Errors
    ///
    /// [`StoreError::Inconsistent`] if the column is null or the number does not fit, and
    /// [`StoreError`] if it does not hold a number.
    fn number<T: TryFrom<i64>>(&self, column: impl Into<ColumnRef>) -> Result<T, StoreError> {
        let column = column.into();
        known(self.number_if(column)?, column)
    }

    /// Reads a large number into a type that it must fit. Null is `None`.
    ///
    /// # Errors
    ///
    /// [`StoreError::Inconsistent`] if the number does not fit, and [`StoreError`] if the
    /// column holds anything but a number or null.
    fn number_if<T: TryFrom<i64>>(
        &self,
        column: impl Into<ColumnRef>,
    ) -> Result<Option<T>, StoreError> {
        let column = column.into();
        self.great_if(column)?
            .map(|number| T::try_from(number).map_err(|_| unread(column, number)))
            .transpose()
    }

    /// Reads an index or a count into a type that it must fit.
    ///
    /// # Errors
    ///
    /// [`StoreError::Inconsistent`] if the column is null or the number does not fit, and
    /// [`StoreError`] if it does not hold a number.
    fn small<T: TryFrom<i64>>(&self, column: impl Into<ColumnRef>) -> Result<T, StoreError> {
        let column = column.into();
        let number = known(self.small_if(column)?, column)?;
        T::try_from(number).map_err(|_| unread(column, number))
    }

    /// Reads bytes that are required, into a copy.
    ///
    /// # Errors
    ///
    /// [`StoreError::Inconsistent`] if the column is null, and [`StoreError`] if it does not
    /// hold bytes.
    fn bytes(&self, column: impl Into<ColumnRef>) -> Result<Vec<u8>, StoreError> {
        let column = column.into();
        known(self.bytes_if(column)?, column)
    }

    /// Parses a JSON value that is required.
    ///
    /// # Errors
    ///
    /// [`StoreError::Inconsistent`] if the column is null, and [`StoreError`] if it does not
    /// hold JSON of this type.
    fn json<T: DeserializeOwned>(&self, column: impl Into<ColumnRef>) -> Result<T, StoreError> {
        let column = column.into();
        known(self.json_if(column)?, column)
    }
}

fn known<T>(found: Option<T>, column: ColumnRef) -> Result<T, StoreError> {
    found.ok_or_else(|| unread(column, "null"))
}

/// Returns the error for a column that holds a value that it cannot hold.
pub fn unread(column: ColumnRef, found: impl fmt::Display) -> StoreError {
    odd("row", column, found)
}

/// Serializes a value as JSON text, for a parameter.
pub fn json<T: Serialize + ?Sized>(value: &T) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(|error| StoreError::Inconsistent {
        what: format!("a value cannot be serialized as JSON: {error}"),
    })
}
