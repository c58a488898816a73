//! Sketches of connections' deliveries.

use super::RowColumns;
use crate::StoreError;
use leadhost_domain::connection::{ConnectionSketch, SourceShape};
use leadhost_domain::id::ConnectionId;

/// Reads a sketch.
pub fn sketch(row: &impl RowColumns) -> Result<ConnectionSketch, StoreError> {
    Ok(ConnectionSketch {
        connection: row.text_id("connection_id")?,
        generation: row.number("generation")?,
        sketch: row.json("sketch")?,
        change: row.json_if("change")?,
        fields: row.json_if("lead_fields")?,
        at: row.time("updated_at")?,
    })
}

/// Reads what the deliveries of a connection look like.
pub fn shape(row: &impl RowColumns) -> Result<(ConnectionId, SourceShape), StoreError> {
    let shape = SourceShape {
        change: row.json_if("change")?,
        fields: row.json_if("lead_fields")?,
        ended: row.json_if("ended")?.unwrap_or_default(),
    };
    Ok((row.text_id("connection_id")?, shape))
}
