//! Columns as the domain's types. What does not parse is a damaged file or a
//! defect, and the error names the column.

use std::str::FromStr;

use serde::de::DeserializeOwned;
use sqlx::Row as _;
use sqlx::sqlite::SqliteRow;

use crate::domain::delivery::{DeliveryStatus, ItemStatus};
use crate::domain::exchange::{HttpResponse, Pairs};
use crate::domain::time::Micros;
use crate::store::StoreError;
use crate::store::error::odd;

pub trait Columns {
    fn id<T: FromStr>(&self, column: &str) -> Result<T, StoreError>;
    fn id_if<T: FromStr>(&self, column: &str) -> Result<Option<T>, StoreError>;
    fn time(&self, column: &str) -> Result<Micros, StoreError>;
    fn time_if(&self, column: &str) -> Result<Option<Micros>, StoreError>;
    /// A number that is never negative.
    fn number<T: TryFrom<i64>>(&self, column: &str) -> Result<T, StoreError>;
    fn json<T: DeserializeOwned>(&self, column: &str) -> Result<T, StoreError>;
    fn json_if<T: DeserializeOwned>(&self, column: &str) -> Result<Option<T>, StoreError>;
}

impl Columns for SqliteRow {
    fn id<T: FromStr>(&self, column: &str) -> Result<T, StoreError> {
        let text: &str = self.try_get(column)?;
        text.parse().map_err(|_| odd("row", column, text))
    }

    fn id_if<T: FromStr>(&self, column: &str) -> Result<Option<T>, StoreError> {
        let text: Option<&str> = self.try_get(column)?;
        text.map(|text| text.parse().map_err(|_| odd("row", column, text)))
            .transpose()
    }

    fn time(&self, column: &str) -> Result<Micros, StoreError> {
        Ok(Micros(self.try_get(column)?))
    }

    fn time_if(&self, column: &str) -> Result<Option<Micros>, StoreError> {
        let time: Option<i64> = self.try_get(column)?;
        Ok(time.map(Micros))
    }

    fn number<T: TryFrom<i64>>(&self, column: &str) -> Result<T, StoreError> {
        let number: i64 = self.try_get(column)?;
        T::try_from(number).map_err(|_| odd("row", column, number))
    }

    fn json<T: DeserializeOwned>(&self, column: &str) -> Result<T, StoreError> {
        let text: &str = self.try_get(column)?;
        serde_json::from_str(text).map_err(|error| odd("row", column, error))
    }

    fn json_if<T: DeserializeOwned>(&self, column: &str) -> Result<Option<T>, StoreError> {
        let text: Option<&str> = self.try_get(column)?;
        text.map(|text| serde_json::from_str(text).map_err(|error| odd("row", column, error)))
            .transpose()
    }
}

pub fn delivery_status(row: &SqliteRow) -> Result<DeliveryStatus, StoreError> {
    let text: &str = row.try_get("status")?;
    DeliveryStatus::of(text).ok_or_else(|| odd("deliveries", "status", text))
}

pub fn item_status(row: &SqliteRow) -> Result<ItemStatus, StoreError> {
    let text: &str = row.try_get("status")?;
    ItemStatus::of(text).ok_or_else(|| odd("items", "status", text))
}

/// The status and the headers of an answer are JSON, its body is bytes.
pub fn response(row: &SqliteRow) -> Result<Option<HttpResponse>, StoreError> {
    let head: Option<(u16, Pairs)> = row.json_if("response_head")?;
    let body: Option<Vec<u8>> = row.try_get("response_body")?;
    Ok(head.map(|(status, headers)| HttpResponse {
        status,
        headers,
        body: body.unwrap_or_default(),
    }))
}
