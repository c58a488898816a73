//! Sketches of connections' deliveries. They contain names of fields and nothing about a person.

use std::collections::HashMap;

use crate::StoreError;
use crate::database::Database;
use crate::postgres::VisibleRows;
use crate::row::sketches::{shape, sketch};
use crate::sql::{Sql, args, json, sql, steps};
use leadhost_domain::connection::{ConnectionSketch, SourceShape};
use leadhost_domain::id::ConnectionId;

static ONE: Sql = sql("
select connection_id, generation, sketch, change, lead_fields, updated_at
from connection_sketches
where connection_id = :id");

/// Returns the sketch of a connection, or `None` if there is none.
pub async fn one(
    database: &Database,
    id: ConnectionId,
) -> Result<Option<ConnectionSketch>, StoreError> {
    database
        .read(
            VisibleRows::Exempt,
            steps!(|tx| tx.row(&ONE, &args! { id: &id }, |row| sketch(row)).await),
        )
        .await
}

static SHAPES: Sql = sql("
select connection_id, change, lead_fields, sketch -> 'ended' as ended
from connection_sketches");

/// Returns what the deliveries of the connections look like. Those without a sketch are left out.
pub async fn shapes(database: &Database) -> Result<HashMap<ConnectionId, SourceShape>, StoreError> {
    let shapes = database
        .read(
            VisibleRows::Exempt,
            steps!(|tx| tx.rows(&SHAPES, &[], |row| shape(row)).await),
        )
        .await?;
    Ok(shapes.into_iter().collect())
}

static WRITE: Sql = sql("
insert into connection_sketches (connection_id, generation, sketch, change, updated_at, lead_fields)
values (:connection_id, :next, :sketch, :change, :updated_at, :lead_fields)
on conflict (connection_id) do update
set generation = excluded.generation, sketch = excluded.sketch, change = excluded.change,
  updated_at = excluded.updated_at, lead_fields = excluded.lead_fields
where connection_sketches.generation = :generation");

/// Stores a sketch with the next generation, unless it was written since its generation was read:
/// then returns false.
///
/// # Errors
///
/// [`StoreError::Query`] if there is no such connection, and [`StoreError`] if the database fails.
pub async fn write(database: &Database, sketch: ConnectionSketch) -> Result<bool, StoreError> {
    database
        .write_alone(steps!(|tx| {
            let args = args! {
                connection_id: &sketch.connection,
                next: sketch.generation + 1,
                generation: sketch.generation,
                sketch: json(&sketch.sketch)?,
                change: sketch.change.as_ref().map(json).transpose()?,
                updated_at: sketch.at,
                lead_fields: sketch.fields.as_ref().map(json).transpose()?,
            };
            Ok(tx.run(&WRITE, &args).await? == 1)
        }))
        .await
}

pub const SQL: &[&Sql] = &[&ONE, &SHAPES, &WRITE];
