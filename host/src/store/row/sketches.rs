//! Sketches of connections' deliveries.

use super::RowColumns;
use crate::domain::connection::{ConnectionSketch, SourceChange};
use crate::domain::id::ConnectionId;
use crate::store::StoreError;

/// Reads a sketch.
///
/// # Errors
///
/// [`StoreError`] if a column holds an impossible value.
pub fn sketch(row: &impl RowColumns) -> Result<ConnectionSketch, StoreError> {
    Ok(ConnectionSketch {
        connection: row.text_id("connection_id")?,
        generation: row.number("generation")?,
        sketch: row.json("sketch")?,
        change: row.json_if("change")?,
        at: row.time("updated_at")?,
    })
}

/// Reads the change of a connection that has one.
///
/// # Errors
///
/// [`StoreError`] if a column holds an impossible value.
pub fn change(row: &impl RowColumns) -> Result<(ConnectionId, SourceChange), StoreError> {
    Ok((row.text_id("connection_id")?, row.json("change")?))
}
