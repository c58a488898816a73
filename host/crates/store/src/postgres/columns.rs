//! Columns as the domain's types, and the domain's types as parameters, where PostgreSQL
//! has types of its own.

use std::borrow::Cow;

use chrono::{DateTime, Utc};
use serde::de::DeserializeOwned;
use sqlx::postgres::PgRow;
use sqlx::types::Json;
use sqlx::{Row as _, TypeInfo as _, ValueRef as _};
use uuid::Uuid;

use crate::StoreError;
pub use crate::row::json;
use crate::row::{ColumnRef, RowColumns};
use leadhost_domain::text::without_zero;
use leadhost_domain::time::Micros;

impl RowColumns for PgRow {
    fn str_if(&self, column: ColumnRef) -> Result<Option<&str>, StoreError> {
        // JSON is sent as text, but its type name prevents a checked read as text.
        Ok(self.try_get_unchecked(column)?)
    }

    fn uuid_if(&self, column: ColumnRef) -> Result<Option<Uuid>, StoreError> {
        Ok(self.try_get(column)?)
    }

    fn micros_if(&self, column: ColumnRef) -> Result<Option<Micros>, StoreError> {
        let time: Option<DateTime<Utc>> = self.try_get(column)?;
        Ok(time.map(micros))
    }

    fn number_if(&self, column: ColumnRef) -> Result<Option<i64>, StoreError> {
        let value = self.try_get_raw(column)?;
        Ok(match value.type_info().name() {
            "INT2" => self.try_get::<Option<i16>, _>(column)?.map(i64::from),
            "INT4" => self.try_get::<Option<i32>, _>(column)?.map(i64::from),
            _ => self.try_get(column)?,
        })
    }

    fn truth_if(&self, column: ColumnRef) -> Result<Option<bool>, StoreError> {
        Ok(self.try_get(column)?)
    }

    fn bytes_if(&self, column: ColumnRef) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(self.try_get(column)?)
    }

    fn json_if<T: DeserializeOwned>(&self, column: ColumnRef) -> Result<Option<T>, StoreError> {
        let value: Option<Json<T>> = self.try_get(column)?;
        Ok(value.map(|Json(value)| value))
    }
}

pub fn micros(time: DateTime<Utc>) -> Micros {
    Micros(time.timestamp_micros())
}

/// Returns the time as a parameter. Times outside the database's range become its first
/// or last.
pub fn at(time: Micros) -> DateTime<Utc> {
    const FIRST: i64 = -210_866_803_200_000_000;
    DateTime::from_timestamp_micros(time.0.max(FIRST)).unwrap_or(DateTime::<Utc>::MAX_UTC)
}

/// Returns the text as a parameter. PostgreSQL's text cannot hold the NUL character.
/// Texts of plugins and declarations are free of it already; it is removed from all
/// others here.
pub fn text(text: &str) -> Cow<'_, str> {
    without_zero(text)
}
