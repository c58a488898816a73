//! Runs statements on a connection, with parameters in PostgreSQL's own types.

use std::borrow::Cow;

use chrono::{DateTime, Utc};
use futures_util::TryStreamExt as _;
use sqlx::encode::IsNull;
use sqlx::error::BoxDynError;
use sqlx::postgres::{PgArgumentBuffer, PgArguments, PgConnection, PgRow, PgTypeInfo};
use sqlx::query::Query;
use sqlx::{AssertSqlSafe, Encode, Postgres, Type};

use super::columns::{at, text as without_zero};
use super::db::Transaction;
use crate::prelude::*;
use crate::sql::{Arg, Text, listed};

pub async fn execute(
    connection: &mut PgConnection,
    text: &'static Text,
    args: &[Arg<'_>],
) -> Result<u64, StoreError> {
    if text.sql.is_empty() {
        return Ok(0);
    }
    let done = bind(text, args)?.execute(connection).await?;
    Ok(done.rows_affected())
}

pub async fn query(
    connection: &mut PgConnection,
    text: &'static Text,
    args: &[Arg<'_>],
) -> Result<Vec<PgRow>, StoreError> {
    Ok(bind(text, args)?.fetch_all(connection).await?)
}

/// Passes each row to `read` until that returns false. If rows are left, which may be
/// many, the connection is closed with them.
pub async fn query_while(
    transaction: &mut Transaction,
    text: &'static Text,
    args: &[Arg<'_>],
    mut read: impl FnMut(&PgRow) -> Result<bool, StoreError> + Send,
) -> Result<(), StoreError> {
    let mut rows = bind(text, args)?.fetch(&mut **transaction);
    while let Some(row) = rows.try_next().await? {
        if !read(&row)? {
            drop(rows);
            transaction.leave_unread();
            return Ok(());
        }
    }
    Ok(())
}

/// Runs the statement once for all of these rows of parameters. Returns how many rows it
/// changed.
pub async fn execute_each<const N: usize>(
    connection: &mut PgConnection,
    text: &'static Text,
    rows: &[[Arg<'_>; N]],
) -> Result<u64, StoreError> {
    let rows = [listed(rows)];
    let done = bind_lists(text, &rows)?.execute(connection).await?;
    Ok(done.rows_affected())
}

/// Runs the statement once for all of these rows of parameters. Returns all rows that it
/// finds.
pub async fn query_each<const N: usize>(
    connection: &mut PgConnection,
    text: &'static Text,
    rows: &[[Arg<'_>; N]],
) -> Result<Vec<PgRow>, StoreError> {
    let rows = [listed(rows)];
    Ok(bind_lists(text, &rows)?.fetch_all(connection).await?)
}

/// Returns how many rows each of the statements changed.
pub async fn execute_together(
    connection: &mut PgConnection,
    text: &'static Text,
    rows: &[Vec<&[Arg<'_>]>],
) -> Result<Vec<u64>, StoreError> {
    let row = bind_lists(text, rows)?.fetch_one(connection).await?;
    (0..rows.len())
        .map(|place| SqlRow::Postgres(&row).get(place))
        .collect()
}

type Statement<'q> = Query<'q, Postgres, PgArguments>;

fn bind<'q>(text: &'static Text, args: &'q [Arg<'_>]) -> Result<Statement<'q>, StoreError> {
    let mut statement = sqlx::query(AssertSqlSafe(text.sql.as_str()));
    for name in &text.names {
        let value = args.iter().find(|(known, _)| known == name);
        let (_, value) = value.ok_or_else(|| no_value(name))?;
        statement = match value {
            SqlValue::Null(SqlType::Uuid) => statement.bind(None::<Uuid>),
            SqlValue::Null(SqlType::Text) => statement.bind(None::<&str>),
            SqlValue::Null(SqlType::Json) => statement.bind(None::<JsonText<'_>>),
            SqlValue::Null(SqlType::Number) => statement.bind(None::<i64>),
            SqlValue::Null(SqlType::Truth) => statement.bind(None::<bool>),
            SqlValue::Null(SqlType::Time) => statement.bind(None::<DateTime<Utc>>),
            SqlValue::Null(SqlType::Bytes) => statement.bind(None::<&[u8]>),
            SqlValue::Uuid(id) => statement.bind(*id),
            SqlValue::Text(of) => statement.bind(without_zero(of)),
            SqlValue::Json(of) => statement.bind(JsonText(of)),
            SqlValue::Number(number) => statement.bind(*number),
            SqlValue::Truth(truth) => statement.bind(*truth),
            SqlValue::Time(time) => statement.bind(at(*time)),
            SqlValue::Bytes(bytes) => statement.bind(bytes.as_ref()),
        };
    }
    Ok(statement)
}

/// Binds one list per column, in the order of the rows, for each statement in the text.
fn bind_lists<'q>(
    text: &'static Text,
    rows: &'q [Vec<&'q [Arg<'_>]>],
) -> Result<Statement<'q>, StoreError> {
    let mut statement = sqlx::query(AssertSqlSafe(text.sql.as_str()));
    for (columns, rows) in text.each.iter().zip(rows) {
        for (place, (name, kind)) in columns.iter().enumerate() {
            statement = bind_list(statement, *kind, &values(rows, place, name)?);
        }
    }
    Ok(statement)
}

/// Returns the rows' values under this name, which are usually at the column's place.
fn values<'q>(
    rows: &[&'q [Arg<'_>]],
    place: usize,
    name: &str,
) -> Result<Vec<&'q SqlValue<'q>>, StoreError> {
    let Some(first) = rows.first() else {
        return Ok(Vec::new());
    };
    let place = match first.get(place) {
        Some((found, _)) if *found == name => place,
        _ => first
            .iter()
            .position(|(found, _)| *found == name)
            .ok_or_else(|| no_value(name))?,
    };
    Ok(rows.iter().map(|row| &row[place].1).collect())
}

/// Binds the values of a column as one list.
pub fn bind_list<'q>(
    statement: Statement<'q>,
    kind: SqlType,
    values: &[&'q SqlValue<'q>],
) -> Statement<'q> {
    match kind {
        SqlType::Uuid => statement.bind(list(values, |value| match value {
            SqlValue::Uuid(id) => Some(*id),
            _ => None,
        })),
        SqlType::Text | SqlType::Json => statement.bind(list(values, |value| match value {
            SqlValue::Text(of) => Some(without_zero(of)),
            SqlValue::Json(of) => Some(Cow::Borrowed(of.as_ref())),
            _ => None,
        })),
        SqlType::Number => statement.bind(list(values, |value| match value {
            SqlValue::Number(number) => Some(*number),
            _ => None,
        })),
        SqlType::Truth => statement.bind(list(values, |value| match value {
            SqlValue::Truth(truth) => Some(*truth),
            _ => None,
        })),
        SqlType::Time => statement.bind(list(values, |value| match value {
            SqlValue::Time(time) => Some(at(*time)),
            _ => None,
        })),
        SqlType::Bytes => statement.bind(list(values, |value| match value {
            SqlValue::Bytes(bytes) => Some(bytes.as_ref()),
            _ => None,
        })),
    }
}

fn list<'q, T>(
    values: &[&'q SqlValue<'q>],
    of: impl Fn(&'q SqlValue<'q>) -> Option<T>,
) -> Vec<Option<T>> {
    values.iter().map(|value| of(value)).collect()
}

fn no_value(name: &str) -> StoreError {
    StoreError::Inconsistent {
        what: format!("a statement lacks its parameter `{name}`"),
    }
}

/// JSON text kept letter by letter, as a parameter of the type `json`.
struct JsonText<'a>(&'a str);

const JSON: sqlx::postgres::types::Oid = sqlx::postgres::types::Oid(114);

impl Type<Postgres> for JsonText<'_> {
    fn type_info() -> PgTypeInfo {
        PgTypeInfo::with_oid(JSON)
    }
}

impl<'q> Encode<'q, Postgres> for JsonText<'q> {
    fn encode_by_ref(&self, buffer: &mut PgArgumentBuffer) -> Result<IsNull, BoxDynError> {
        buffer.extend_from_slice(self.0.as_bytes());
        Ok(IsNull::No)
    }
}
