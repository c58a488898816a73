//! Columns as the domain's types: SQLite keeps ids and JSON as text, and times as
//! microseconds.

use serde::de::DeserializeOwned;
use sqlx::Row as _;
use sqlx::sqlite::SqliteRow;
use uuid::Uuid;

use crate::domain::time::Micros;
use crate::store::StoreError;
use crate::store::row::{Column, Columns, unread};

impl Columns for SqliteRow {
    fn str_if(&self, column: Column) -> Result<Option<&str>, StoreError> {
        Ok(self.try_get(column)?)
    }

    fn uuid_if(&self, column: Column) -> Result<Option<Uuid>, StoreError> {
        self.str_if(column)?
            .map(|text| Uuid::try_parse(text).map_err(|_| unread(column, text)))
            .transpose()
    }

    // As it stands in the file.
    fn id_text_if(&self, column: impl Into<Column>) -> Result<Option<String>, StoreError> {
        self.text_if(column)
    }

    fn micros_if(&self, column: Column) -> Result<Option<Micros>, StoreError> {
        Ok(self.great_if(column)?.map(Micros))
    }

    fn great_if(&self, column: Column) -> Result<Option<i64>, StoreError> {
        Ok(self.try_get(column)?)
    }

    fn small_if(&self, column: Column) -> Result<Option<i64>, StoreError> {
        self.great_if(column)
    }

    fn flag(&self, column: impl Into<Column>) -> Result<bool, StoreError> {
        Ok(self.try_get(column.into())?)
    }

    fn bytes_if(&self, column: impl Into<Column>) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(self.try_get(column.into())?)
    }

    fn json_if<T: DeserializeOwned>(
        &self,
        column: impl Into<Column>,
    ) -> Result<Option<T>, StoreError> {
        let column = column.into();
        self.str_if(column)?
            .map(|text| serde_json::from_str(text).map_err(|error| unread(column, error)))
            .transpose()
    }
}
