//! Sketches of connections' deliveries. They contain names of fields and nothing about a person.

use crate::operations::prelude::*;
use leadhost_domain::connection::{ConnectionSketch, SourceShape};

statements! {
    static ONE: Sql = sql("
select connection_id, generation, sketch, change, lead_fields, updated_at
from connection_sketches
where connection_id = :id");

    static SHAPES: Sql = sql("
select connection_id, change, lead_fields, sketch -> 'ended' as ended
from connection_sketches");

    static WRITE: Sql = sql("
insert into connection_sketches (connection_id, generation, sketch, change, updated_at, lead_fields)
values (:connection_id, :next, :sketch, :change, :updated_at, :lead_fields)
on conflict (connection_id) do update
set generation = excluded.generation, sketch = excluded.sketch, change = excluded.change,
  updated_at = excluded.updated_at, lead_fields = excluded.lead_fields
where connection_sketches.generation = :generation");
}

#[leadhost_boxed::boxed]
impl Store {
    pub async fn connection_sketch(
        &self,
        id: &ConnectionId,
    ) -> Result<Option<ConnectionSketch>, StoreError> {
        let args = args! { id };
        self.database
            .row(VisibleRows::Exempt, &ONE, args, ConnectionSketch::from_row)
            .await
    }

    /// Returns what the deliveries of the sources look like. A source without deliveries is left out.
    pub async fn source_shapes(&self) -> Result<HashMap<ConnectionId, SourceShape>, StoreError> {
        let shapes = self
            .database
            .rows(VisibleRows::Exempt, &SHAPES, [], |row| {
                let shape = read!(row => SourceShape {
                    change, fields: "lead_fields",
                    ended = row.get::<Option<_>>("ended")?.unwrap_or_default(),
                });
                Ok((row.get("connection_id")?, shape))
            })
            .await?;
        Ok(shapes.into_iter().collect())
    }

    /// Stores a sketch with the next generation, unless it was written since its generation was
    /// read (0: there was none): then returns false.
    pub async fn write_connection_sketch(
        &self,
        sketch: &ConnectionSketch,
    ) -> Result<bool, StoreError> {
        let sketch = sketch.clone();
        steps!(self.database.write_alone(), |tx| {
            let args = args! {
                from sketch: connection_id = connection, generation, sketch, change,
                updated_at = at, lead_fields = fields;
                next: sketch.generation + 1,
            };
            Ok(tx.run(&WRITE, &args).await? == 1)
        })
        .await
    }
}
