//! Runs statements on a SQLite connection and reads their rows: ids are 16 bytes, JSON is
//! text, times are microseconds.

use rusqlite::types::{ToSqlOutput, Value as Owned, ValueRef};
use rusqlite::{CachedStatement, Connection, Row, ToSql};
use serde::de::DeserializeOwned;

use crate::prelude::*;
use crate::row::{ColumnRef, RowColumns, unread};
use crate::sql::{Arg, Text};

pub fn execute(
    connection: &mut Connection,
    text: &Text,
    args: &[Arg<'_>],
) -> Result<u64, StoreError> {
    execute_each(connection, text, [args].into_iter())
}

/// Runs the statement for each of these rows of parameters. Returns how many rows it
/// changed.
pub fn execute_each<'r, 'a: 'r>(
    connection: &mut Connection,
    text: &Text,
    rows: impl Iterator<Item = &'r [Arg<'a>]>,
) -> Result<u64, StoreError> {
    if text.sql.is_empty() {
        return Ok(0);
    }
    let mut statement = connection.prepare_cached(&text.sql)?;
    let mut changed = 0;
    for args in rows {
        bind(&mut statement, text, args)?;
        changed += statement.raw_execute()? as u64;
    }
    Ok(changed)
}

/// Passes each row to `read` until that returns false.
pub fn query(
    connection: &mut Connection,
    text: &Text,
    args: &[Arg<'_>],
    read: &mut dyn FnMut(&Row<'_>) -> Result<bool, StoreError>,
) -> Result<(), StoreError> {
    query_each(connection, text, [args].into_iter(), read)
}

/// Runs the statement for each of these rows of parameters. Passes each row that it finds
/// to `read`, until that returns false for this row of parameters.
pub fn query_each<'r, 'a: 'r>(
    connection: &mut Connection,
    text: &Text,
    rows: impl Iterator<Item = &'r [Arg<'a>]>,
    read: &mut dyn FnMut(&Row<'_>) -> Result<bool, StoreError>,
) -> Result<(), StoreError> {
    if text.sql.is_empty() {
        return Ok(());
    }
    let mut statement = connection.prepare_cached(&text.sql)?;
    for args in rows {
        bind(&mut statement, text, args)?;
        let mut found = statement.raw_query();
        while let Some(row) = found.next()? {
            if !read(row)? {
                break;
            }
        }
    }
    Ok(())
}

fn bind(
    statement: &mut CachedStatement<'_>,
    text: &Text,
    args: &[Arg<'_>],
) -> Result<(), StoreError> {
    for (place, name) in text.names.iter().enumerate() {
        // Usually they are in the order in which the statement names them.
        let same = args.get(place).filter(|(known, _)| known == name);
        let value = same.or_else(|| args.iter().find(|(known, _)| known == name));
        let (_, value) = value.ok_or_else(|| StoreError::Inconsistent {
            what: format!("a statement lacks its parameter `{name}`"),
        })?;
        statement.raw_bind_parameter(place + 1, value)?;
    }
    Ok(())
}

impl ToSql for SqlValue<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(match self {
            Self::Null(_) => ToSqlOutput::Owned(Owned::Null),
            Self::Uuid(id) => ToSqlOutput::Borrowed(ValueRef::Blob(id.as_bytes())),
            Self::Text(text) | Self::Json(text) => {
                ToSqlOutput::Borrowed(ValueRef::Text(text.as_bytes()))
            }
            Self::Number(number) => ToSqlOutput::Owned(Owned::Integer(*number)),
            Self::Truth(truth) => ToSqlOutput::Owned(Owned::Integer((*truth).into())),
            Self::Time(time) => ToSqlOutput::Owned(Owned::Integer(time.0)),
            Self::Bytes(bytes) => ToSqlOutput::Borrowed(ValueRef::Blob(bytes)),
        })
    }
}

fn value<'r>(row: &'r Row<'_>, column: ColumnRef) -> Result<ValueRef<'r>, StoreError> {
    let found = match column {
        ColumnRef::Named(name) => row.get_ref(name),
        ColumnRef::At(place) => row.get_ref(place),
    };
    Ok(found?)
}

impl RowColumns for Row<'_> {
    fn str_if(&self, column: ColumnRef) -> Result<Option<&str>, StoreError> {
        match value(self, column)? {
            ValueRef::Null => Ok(None),
            ValueRef::Text(text) => std::str::from_utf8(text)
                .map(Some)
                .map_err(|error| unread(column, error)),
            other => Err(unread(column, other.data_type())),
        }
    }

    fn uuid_if(&self, column: ColumnRef) -> Result<Option<Uuid>, StoreError> {
        match value(self, column)? {
            ValueRef::Null => Ok(None),
            ValueRef::Blob(bytes) => Uuid::from_slice(bytes)
                .map(Some)
                .map_err(|error| unread(column, error)),
            other => Err(unread(column, other.data_type())),
        }
    }

    fn micros_if(&self, column: ColumnRef) -> Result<Option<Micros>, StoreError> {
        Ok(self.number_if(column)?.map(Micros))
    }

    fn number_if(&self, column: ColumnRef) -> Result<Option<i64>, StoreError> {
        match value(self, column)? {
            ValueRef::Null => Ok(None),
            ValueRef::Integer(number) => Ok(Some(number)),
            other => Err(unread(column, other.data_type())),
        }
    }

    fn truth_if(&self, column: ColumnRef) -> Result<Option<bool>, StoreError> {
        Ok(self.number_if(column)?.map(|number| number != 0))
    }

    fn bytes_if(&self, column: ColumnRef) -> Result<Option<Vec<u8>>, StoreError> {
        match value(self, column)? {
            ValueRef::Null => Ok(None),
            ValueRef::Blob(bytes) => Ok(Some(bytes.to_vec())),
            other => Err(unread(column, other.data_type())),
        }
    }

    fn json_if<T: DeserializeOwned>(&self, column: ColumnRef) -> Result<Option<T>, StoreError> {
        self.str_if(column)?
            .map(|text| serde_json::from_str(text).map_err(|error| unread(column, error)))
            .transpose()
    }
}
