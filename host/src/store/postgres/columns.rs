//! Columns as the domain's types, and the domain's types as parameters. What
//! does not parse is a defect or a hand in the database, and the error names the
//! column. Ids that are uuids are read as `DealId(row.try_get("id")?)`.

use std::borrow::Cow;
use std::str::FromStr;

use chrono::{DateTime, Utc};
use serde::Serialize;
use serde::de::DeserializeOwned;
use sqlx::Row as _;
use sqlx::postgres::PgRow;
use sqlx::types::Json;

use crate::domain::delivery::{DeliveryStatus, ItemStatus};
use crate::domain::exchange::{HttpResponse, Pairs};
use crate::domain::text::without_zero;
use crate::domain::time::Micros;
use crate::store::StoreError;
use crate::store::error::odd;

pub trait Columns {
    /// An id that is text here: a connection's, a digest.
    fn text_id<T: FromStr>(&self, column: &str) -> Result<T, StoreError>;
    fn time(&self, column: &str) -> Result<Micros, StoreError>;
    fn time_if(&self, column: &str) -> Result<Option<Micros>, StoreError>;
    /// A bigint that is never negative.
    fn number<T: TryFrom<i64>>(&self, column: &str) -> Result<T, StoreError>;
    /// An integer that is never negative.
    fn small<T: TryFrom<i32>>(&self, column: &str) -> Result<T, StoreError>;
    fn json<T: DeserializeOwned>(&self, column: &str) -> Result<T, StoreError>;
    fn json_if<T: DeserializeOwned>(&self, column: &str) -> Result<Option<T>, StoreError>;
}

impl Columns for PgRow {
    fn text_id<T: FromStr>(&self, column: &str) -> Result<T, StoreError> {
        let text: &str = self.try_get(column)?;
        text.parse().map_err(|_| odd("row", column, text))
    }

    fn time(&self, column: &str) -> Result<Micros, StoreError> {
        Ok(micros(self.try_get(column)?))
    }

    fn time_if(&self, column: &str) -> Result<Option<Micros>, StoreError> {
        let time: Option<DateTime<Utc>> = self.try_get(column)?;
        Ok(time.map(micros))
    }

    fn number<T: TryFrom<i64>>(&self, column: &str) -> Result<T, StoreError> {
        let number: i64 = self.try_get(column)?;
        T::try_from(number).map_err(|_| odd("row", column, number))
    }

    fn small<T: TryFrom<i32>>(&self, column: &str) -> Result<T, StoreError> {
        let number: i32 = self.try_get(column)?;
        T::try_from(number).map_err(|_| odd("row", column, number))
    }

    fn json<T: DeserializeOwned>(&self, column: &str) -> Result<T, StoreError> {
        let Json(value) = self.try_get(column)?;
        Ok(value)
    }

    fn json_if<T: DeserializeOwned>(&self, column: &str) -> Result<Option<T>, StoreError> {
        let value: Option<Json<T>> = self.try_get(column)?;
        Ok(value.map(|Json(value)| value))
    }
}

pub fn micros(time: DateTime<Utc>) -> Micros {
    Micros(time.timestamp_micros())
}

/// As a parameter. Times past what the database can hold become its first or last.
pub fn at(time: Micros) -> DateTime<Utc> {
    const FIRST: i64 = -210_866_803_200_000_000;
    DateTime::from_timestamp_micros(time.0.max(FIRST)).unwrap_or(DateTime::<Utc>::MAX_UTC)
}

/// As a parameter. PostgreSQL's text cannot hold the character zero: what comes
/// from a plugin or a declaration is without it already, the rest is here.
pub fn text(text: &str) -> Cow<'_, str> {
    without_zero(text)
}

/// JSON text of our own types, as a parameter that SQL casts.
pub fn json<T: Serialize + ?Sized>(value: &T) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(|error| StoreError::Inconsistent {
        what: format!("a value that is no JSON: {error}"),
    })
}

pub fn delivery_status(row: &PgRow) -> Result<DeliveryStatus, StoreError> {
    let text: &str = row.try_get("status")?;
    DeliveryStatus::of(text).ok_or_else(|| odd("deliveries", "status", text))
}

pub fn item_status(row: &PgRow) -> Result<ItemStatus, StoreError> {
    let text: &str = row.try_get("status")?;
    ItemStatus::of(text).ok_or_else(|| odd("items", "status", text))
}

/// The status and the headers of an answer are JSON, its body is bytes.
pub fn response(row: &PgRow) -> Result<Option<HttpResponse>, StoreError> {
    let head: Option<(u16, Pairs)> = row.json_if("response_head")?;
    let body: Option<Vec<u8>> = row.try_get("response_body")?;
    Ok(head.map(|(status, headers)| HttpResponse {
        status,
        headers,
        body: body.unwrap_or_default(),
    }))
}
