//! A row on its way: what a column holds once it is moved, the same whether it
//! was read before the move or after it, and the sum over a table's rows by
//! which both sides are compared. The sum does not depend on the order, since
//! the two databases sort texts differently.

use serde_json::Value as Json;
use sha2::{Digest as _, Sha256};
use sqlx::Row as _;
use sqlx::postgres::PgRow;
use sqlx::sqlite::SqliteRow;
use uuid::Uuid;

use super::tables::{Column, Kind, Table};
use crate::domain::time::Micros;
use crate::store::StoreError;
use crate::store::error::odd;
use crate::store::postgres::columns;

/// What a column holds; `None` is null.
pub type Cell = Option<Value>;

#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Uuid(Uuid),
    Text(String),
    Number(i64),
    Truth(bool),
    Time(Micros),
    Bytes(Vec<u8>),
}

/// Of SQLite's row, as it will be; `replaced` counts characters that PostgreSQL
/// cannot hold.
pub fn of_sqlite(
    table: &Table,
    row: &SqliteRow,
    replaced: &mut u64,
) -> Result<Vec<Cell>, StoreError> {
    let cells = table.columns.iter().enumerate();
    cells
        .map(|(place, column)| sqlite_cell(table, column, row, place, replaced))
        .collect()
}

fn sqlite_cell(
    table: &Table,
    column: &Column,
    row: &SqliteRow,
    place: usize,
    replaced: &mut u64,
) -> Result<Cell, StoreError> {
    let wrong = |found: &str| odd(table.from, column.into, found);
    let text = || row.try_get::<Option<String>, _>(place);
    let number = || row.try_get::<Option<i64>, _>(place);
    Ok(match column.kind {
        Kind::Uuid => text()?
            .map(|text| Uuid::parse_str(&text).map_err(|_| wrong(&text)))
            .transpose()?
            .map(Value::Uuid),
        Kind::Text => text()?.map(|text| Value::Text(without_zero(text, replaced))),
        Kind::Json => text()?
            .map(
                |text| match serde_json::from_str::<&serde_json::value::RawValue>(&text) {
                    Ok(_) => Ok(Value::Text(text)),
                    Err(error) => Err(wrong(&error.to_string())),
                },
            )
            .transpose()?,
        Kind::Jsonb => text()?
            .map(|text| canonical(&text, replaced).ok_or_else(|| wrong(&text)))
            .transpose()?
            .map(Value::Text),
        Kind::Whole => number()?.map(Value::Number),
        Kind::Int => number()?
            .map(|number| i32::try_from(number).map_err(|_| wrong(&number.to_string())))
            .transpose()?
            .map(|number| Value::Number(number.into())),
        Kind::Small => number()?
            .map(|number| i16::try_from(number).map_err(|_| wrong(&number.to_string())))
            .transpose()?
            .map(|number| Value::Number(number.into())),
        Kind::Truth => number()?.map(|number| Value::Truth(number != 0)),
        // Times past what the database can hold become its last.
        Kind::Time => number()?.map(|us| Value::Time(columns::micros(columns::at(Micros(us))))),
        Kind::Bytes => row.try_get::<Option<Vec<u8>>, _>(place)?.map(Value::Bytes),
    })
}

/// Of PostgreSQL's row, read back.
pub fn of_postgres(table: &Table, row: &PgRow) -> Result<Vec<Cell>, StoreError> {
    let cells = table.columns.iter().enumerate();
    cells
        .map(|(place, column)| {
            Ok(match column.kind {
                Kind::Uuid => row.try_get::<Option<_>, _>(place)?.map(Value::Uuid),
                Kind::Text | Kind::Json => row.try_get::<Option<_>, _>(place)?.map(Value::Text),
                Kind::Jsonb => row
                    .try_get::<Option<&str>, _>(place)?
                    .map(|text| {
                        canonical(text, &mut 0).ok_or_else(|| odd(table.into, column.into, text))
                    })
                    .transpose()?
                    .map(Value::Text),
                Kind::Whole | Kind::Int | Kind::Small => {
                    row.try_get::<Option<_>, _>(place)?.map(Value::Number)
                }
                Kind::Truth => row.try_get::<Option<_>, _>(place)?.map(Value::Truth),
                Kind::Time => row
                    .try_get::<Option<_>, _>(place)?
                    .map(|time| Value::Time(columns::micros(time))),
                Kind::Bytes => row.try_get::<Option<_>, _>(place)?.map(Value::Bytes),
            })
        })
        .collect()
}

fn without_zero(text: String, replaced: &mut u64) -> String {
    if !text.contains('\0') {
        return text;
    }
    *replaced += text.matches('\0').count() as u64;
    columns::text(&text).into_owned()
}

/// JSON of ours in one way of writing it: PostgreSQL orders keys as it likes.
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

/// The rows of a table, however they are ordered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sum {
    pub rows: u64,
    digests: u128,
}

impl Sum {
    pub fn add(&mut self, row: &[Cell]) {
        let mut hash = Sha256::new();
        for cell in row {
            feed(&mut hash, cell);
        }
        let digest: [u8; 32] = hash.finalize().into();
        let half: [u8; 16] = digest[..16].try_into().expect("half of thirty-two bytes");
        self.rows += 1;
        // Added, not xored: two equal rows do not cancel out.
        self.digests = self.digests.wrapping_add(u128::from_be_bytes(half));
    }

    pub fn text(&self) -> String {
        format!("{:032x}", self.digests)
    }
}

fn feed(hash: &mut Sha256, cell: &Cell) {
    let mut part = |kind: u8, bytes: &[u8]| {
        hash.update([kind]);
        hash.update((bytes.len() as u64).to_be_bytes());
        hash.update(bytes);
    };
    match cell {
        None => part(0, &[]),
        Some(Value::Uuid(id)) => part(1, id.as_bytes()),
        Some(Value::Text(text)) => part(2, text.as_bytes()),
        Some(Value::Number(number)) => part(3, &number.to_be_bytes()),
        Some(Value::Truth(truth)) => part(4, &[u8::from(*truth)]),
        Some(Value::Time(time)) => part(5, &time.0.to_be_bytes()),
        Some(Value::Bytes(bytes)) => part(6, bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_of_ours_is_the_same_however_it_was_written() {
        let mut replaced = 0;
        let one = canonical(r#"{"b": [1, null], "a": "x\u0000y"}"#, &mut replaced);
        let other = canonical("{\"a\":\"x\u{fffd}y\",\"b\":[1,null]}", &mut 0);
        assert_eq!(one, other);
        assert_eq!(replaced, 1);
        assert_eq!(canonical("{", &mut 0), None);
    }

    #[test]
    fn a_sum_knows_its_rows_and_not_their_order() {
        let row = |text: &str, number| {
            vec![
                Some(Value::Text(text.to_owned())),
                Some(Value::Number(number)),
                None,
            ]
        };
        let sum = |rows: &[Vec<Cell>]| {
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
        // A text and the next column's do not run together.
        let two = |one: &str, other: &str| {
            let text = |text: &str| Some(Value::Text(text.to_owned()));
            sum(&[vec![text(one), text(other)]])
        };
        assert_ne!(two("ab", "c"), two("a", "bc"));
    }
}
