//! The values of a row in its moved form, which is the same whether the row was read
//! before the move or after it, and the sum over a table's rows by which both sides are
//! compared. The sum does not depend on the order, since the two databases sort texts
//! differently.

use std::borrow::Cow;
use std::fmt::Display;

use serde_json::Value as Json;
use serde_json::value::RawValue;
use sha2::{Digest as _, Sha256};

use crate::error::odd;
use crate::postgres::columns;
use crate::prelude::*;
use crate::row::{ColumnRef, RowColumns as _};
use crate::schema::table::{ColumnSchema, TableSchema};

pub type MovedValue = SqlValue<'static>;

/// Reads a row of either database, whose columns are the table's in the same order. `replaced`
/// counts characters that PostgreSQL cannot hold.
pub fn moved_row(
    table: &TableSchema,
    row: &SqlRow<'_>,
    replaced: &mut u64,
) -> Result<Vec<MovedValue>, StoreError> {
    let columns = table.columns.iter().enumerate();
    columns
        .map(|(place, column)| {
            moved_value(table, column, row, place.into(), replaced)
                .map_err(|error| error.in_table(table.name))
        })
        .collect()
}

fn moved_value(
    table: &TableSchema,
    column: &ColumnSchema,
    row: &SqlRow<'_>,
    place: ColumnRef,
    replaced: &mut u64,
) -> Result<MovedValue, StoreError> {
    let wrong = |found: &dyn Display| odd(table.name, column.name, found);
    let value = match column.kind {
        SqlType::Uuid => row.uuid_if(place)?.map(SqlValue::Uuid),
        SqlType::Text => row.str_if(place)?.map(|text| {
            let text = without_zero(text.to_owned(), replaced);
            SqlValue::Text(Cow::Owned(text))
        }),
        SqlType::Json => match row.str_if(place)? {
            Some(text) if column.is_jsonb => {
                let text = canonical(text, replaced).ok_or_else(|| wrong(&text))?;
                Some(SqlValue::Json(Cow::Owned(text)))
            }
            // Kept letter by letter.
            Some(text) => {
                serde_json::from_str::<&RawValue>(text).map_err(|error| wrong(&error))?;
                Some(SqlValue::Json(Cow::Owned(text.to_owned())))
            }
            None => None,
        },
        SqlType::Number => row.number_if(place)?.map(SqlValue::Number),
        SqlType::Truth => row.truth_if(place)?.map(SqlValue::Truth),
        // Times outside the database's range become its last.
        SqlType::Time => row
            .micros_if(place)?
            .map(|time| SqlValue::Time(columns::micros(columns::at(time)))),
        SqlType::Bytes => row
            .bytes_if(place)?
            .map(|bytes| SqlValue::Bytes(Cow::Owned(bytes))),
    };
    match value {
        None if !column.is_nullable => Err(wrong(&"null")),
        value => Ok(value.unwrap_or(SqlValue::Null(column.kind))),
    }
}

/// Returns the expression that reads a PostgreSQL column back.
pub fn read_back(column: &ColumnSchema) -> String {
    match column.kind {
        SqlType::Json => format!("{}::text", column.name),
        _ => column.name.to_owned(),
    }
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
        // A text does not run into the next column's.
        let two = |one: &str, other: &str| {
            let text = |text: &str| MovedValue::from(text.to_owned());
            sum(&[vec![text(one), text(other)]])
        };
        assert_ne!(two("ab", "c"), two("a", "bc"));
    }
}
