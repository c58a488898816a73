//! The values of a row in its moved form, which is the same whether the row was read
//! before the move or after it, and the sum over a table's rows by which both sides are
//! compared. The sum does not depend on the order, since the two databases sort texts
//! differently.

use std::borrow::Cow;

use rusqlite::types::ValueRef;
use serde_json::Value as Json;
use serde_json::value::RawValue;
use sha2::{Digest as _, Sha256};
use sqlx::Row as _;
use sqlx::postgres::PgRow;
use uuid::Uuid;

use crate::StoreError;
use crate::error::odd;
use crate::postgres::columns;
use crate::schema::table::{ColumnSchema, TableSchema};
use crate::sql::{SqlType, SqlValue};
use leadhost_domain::time::Micros;

/// The value of a column.
pub type MovedValue = SqlValue<'static>;

/// Converts a value of SQLite into its moved form. `replaced` counts characters that
/// PostgreSQL cannot hold.
pub fn from_sqlite(
    table: &TableSchema,
    column: &ColumnSchema,
    found: ValueRef<'_>,
    replaced: &mut u64,
) -> Result<MovedValue, StoreError> {
    let wrong = |found: &str| odd(table.name, column.name, found);
    Ok(match (column.kind, found) {
        (kind, ValueRef::Null) if column.is_nullable => SqlValue::Null(kind),
        (SqlType::Uuid, ValueRef::Blob(bytes)) => {
            let id = Uuid::from_slice(bytes).map_err(|error| wrong(&error.to_string()))?;
            SqlValue::Uuid(id)
        }
        (SqlType::Text | SqlType::Json, ValueRef::Text(text)) => {
            let text = std::str::from_utf8(text).map_err(|error| wrong(&error.to_string()))?;
            match column.kind {
                SqlType::Json if column.is_jsonb => {
                    let text = canonical(text, replaced).ok_or_else(|| wrong(text))?;
                    SqlValue::Json(Cow::Owned(text))
                }
                // Kept letter by letter.
                SqlType::Json => {
                    serde_json::from_str::<&RawValue>(text)
                        .map_err(|error| wrong(&error.to_string()))?;
                    SqlValue::Json(Cow::Owned(text.to_owned()))
                }
                _ => SqlValue::Text(Cow::Owned(without_zero(text.to_owned(), replaced))),
            }
        }
        (SqlType::Number, ValueRef::Integer(number)) => SqlValue::Number(number),
        (SqlType::Truth, ValueRef::Integer(number)) => SqlValue::Truth(number != 0),
        // Times outside the database's range become its last.
        (SqlType::Time, ValueRef::Integer(us)) => {
            SqlValue::Time(columns::micros(columns::at(Micros(us))))
        }
        (SqlType::Bytes, ValueRef::Blob(bytes)) => SqlValue::Bytes(Cow::Owned(bytes.to_vec())),
        (_, other) => return Err(wrong(&other.data_type().to_string())),
    })
}

/// Returns the expression that reads a PostgreSQL column back.
pub fn read_back(column: &ColumnSchema) -> String {
    match column.kind {
        // PostgreSQL keeps small numbers in types of their own.
        SqlType::Number => format!("{}::bigint", column.name),
        SqlType::Json => format!("{}::text", column.name),
        SqlType::Uuid | SqlType::Text | SqlType::Truth | SqlType::Time | SqlType::Bytes => {
            column.name.to_owned()
        }
    }
}

/// Converts a PostgreSQL row that was read back.
pub fn from_postgres(table: &TableSchema, row: &PgRow) -> Result<Vec<MovedValue>, StoreError> {
    let cells = table.columns.iter().enumerate();
    cells
        .map(|(place, column)| postgres_cell(table, column, row, place))
        .collect()
}

fn postgres_cell(
    table: &TableSchema,
    column: &ColumnSchema,
    row: &PgRow,
    place: usize,
) -> Result<MovedValue, StoreError> {
    let cell = match column.kind {
        SqlType::Uuid => row.try_get::<Option<Uuid>, _>(place)?.map(SqlValue::Uuid),
        SqlType::Text => {
            let text: Option<String> = row.try_get(place)?;
            text.map(|text| SqlValue::Text(Cow::Owned(text)))
        }
        SqlType::Json => {
            let text: Option<String> = row.try_get(place)?;
            let text = match text {
                Some(text) if column.is_jsonb => {
                    let read = canonical(&text, &mut 0);
                    Some(read.ok_or_else(|| odd(table.name, column.name, text))?)
                }
                text => text,
            };
            text.map(|text| SqlValue::Json(Cow::Owned(text)))
        }
        SqlType::Number => row.try_get::<Option<i64>, _>(place)?.map(SqlValue::Number),
        SqlType::Truth => row.try_get::<Option<bool>, _>(place)?.map(SqlValue::Truth),
        SqlType::Time => row
            .try_get::<Option<_>, _>(place)?
            .map(|time| SqlValue::Time(columns::micros(time))),
        SqlType::Bytes => {
            let bytes: Option<Vec<u8>> = row.try_get(place)?;
            bytes.map(|bytes| SqlValue::Bytes(Cow::Owned(bytes)))
        }
    };
    Ok(cell.unwrap_or(SqlValue::Null(column.kind)))
}

fn without_zero(text: String, replaced: &mut u64) -> String {
    if !text.contains('\0') {
        return text;
    }
    *replaced += text.matches('\0').count() as u64;
    columns::text(&text).into_owned()
}

/// Returns our own JSON in one canonical form, since PostgreSQL orders keys in its own
/// way.
fn canonical(text: &str, replaced: &mut u64) -> Option<String> {
    let value: Json = serde_json::from_str(text).ok()?;
    let mut out = String::with_capacity(text.len());
    write(value, &mut out, replaced);
    Some(out)
}

fn write(value: Json, out: &mut String, replaced: &mut u64) {
    match value {
        Json::Object(map) => {
            let mut members: Vec<(String, Json)> = map
                .into_iter()
                .map(|(name, value)| (without_zero(name, replaced), value))
                .collect();
            members.sort_by(|one, other| one.0.cmp(&other.0));
            out.push('{');
            for (place, (name, value)) in members.into_iter().enumerate() {
                if place > 0 {
                    out.push(',');
                }
                write(Json::String(name), out, replaced);
                out.push(':');
                write(value, out, replaced);
            }
            out.push('}');
        }
        Json::Array(values) => {
            out.push('[');
            for (place, value) in values.into_iter().enumerate() {
                if place > 0 {
                    out.push(',');
                }
                write(value, out, replaced);
            }
            out.push(']');
        }
        Json::String(text) => {
            let text = without_zero(text, replaced);
            out.push_str(&Json::String(text).to_string());
        }
        other => out.push_str(&other.to_string()),
    }
}

/// The sum over the rows of a table, independent of their order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sum {
    pub rows: u64,
    digests: u128,
}

impl Sum {
    /// Adds a row to the sum.
    pub fn add(&mut self, row: &[MovedValue]) {
        let mut hash = Sha256::new();
        for cell in row {
            feed(&mut hash, cell);
        }
        let digest: [u8; 32] = hash.finalize().into();
        let half: [u8; 16] = digest[..16].try_into().expect("half of thirty-two bytes");
        self.rows += 1;
        // Added instead of XORed, so that two equal rows do not cancel out.
        self.digests = self.digests.wrapping_add(u128::from_be_bytes(half));
    }

    /// Returns the sum as 32 hexadecimal digits, without the number of rows.
    pub fn text(&self) -> String {
        format!("{:032x}", self.digests)
    }
}

fn feed(hash: &mut Sha256, cell: &MovedValue) {
    let mut part = |kind: u8, bytes: &[u8]| {
        hash.update([kind]);
        hash.update((bytes.len() as u64).to_be_bytes());
        hash.update(bytes);
    };
    match cell {
        SqlValue::Null(_) => part(0, &[]),
        SqlValue::Uuid(id) => part(1, id.as_bytes()),
        SqlValue::Text(text) | SqlValue::Json(text) => part(2, text.as_bytes()),
        SqlValue::Number(number) => part(3, &number.to_be_bytes()),
        SqlValue::Truth(truth) => part(4, &[u8::from(*truth)]),
        SqlValue::Time(time) => part(5, &time.0.to_be_bytes()),
        SqlValue::Bytes(bytes) => part(6, bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_json_has_one_canonical_form() {
        let mut replaced = 0;
        let one = canonical(r#"{"b": [1, null], "a": "x\u0000y"}"#, &mut replaced);
        let other = canonical("{\"a\":\"x\u{fffd}y\",\"b\":[1,null]}", &mut 0);
        assert_eq!(one, other);
        assert_eq!(replaced, 1);
        assert_eq!(canonical("{", &mut 0), None);
    }

    #[test]
    fn a_sum_depends_on_the_rows_and_not_on_their_order() {
        let row = |text: &str, number| {
            vec![
                MovedValue::from(text.to_owned()),
                SqlValue::Number(number),
                SqlValue::Null(SqlType::Text),
            ]
        };
        let sum = |rows: &[Vec<MovedValue>]| {
            let mut sum = Sum::default();
            rows.iter().for_each(|row| sum.add(row));
            sum
        };
        let (a, b) = (row("a", 1), row("b", 2));
        assert_eq!(sum(&[a.clone(), b.clone()]), sum(&[b.clone(), a.clone()]));
        assert_ne!(
            sum(&[a.clone(), b.clone()]),
            sum(&[row("a", 2), row("b", 1)])
        );
        assert_ne!(sum(&[a.clone(), a.clone()]), sum(&[b.clone(), b.clone()]));
        // A text does not run into that of the next column.
        let two = |one: &str, other: &str| {
            let text = |text: &str| MovedValue::from(text.to_owned());
            sum(&[vec![text(one), text(other)]])
        };
        assert_ne!(two("ab", "c"), two("a", "bc"));
    }
}
