//! Fetches to make, and the answers of sources.

use super::RowColumns;
use crate::error::odd;
use crate::{HeldFetch, KeptAnswer, Lease, StoreError, WaitingFetch};
use leadhost_domain::exchange::{HttpResponse, Pairs};

/// Reads a fetch for the lease holder that makes it.
pub fn held(row: &impl RowColumns, lease: Lease) -> Result<HeldFetch, StoreError> {
    Ok(HeldFetch {
        lease,
        delivery: row.id("delivery_id")?,
        workspace: row.id("workspace_id")?,
        received_at: row.time("received_at")?,
        index: row.small("item")?,
        connection: row.text_id("connection_id")?,
        received_by: row.text_id("received_by")?,
        external_id: row.text_if("external_id")?,
        request: row.json("request")?,
        state: row.bytes("state")?,
        hop: row.small("hop")?,
        attempts: row.number("attempts")?,
        ran: row.json("ran")?,
        response: response(row)?,
        until: row.time("until_at")?,
    })
}

/// Reads the answer of a source to a settled fetch.
///
/// # Errors
///
/// [`StoreError::Inconsistent`] if the answer has no response, and [`StoreError`] if a column
/// holds an impossible value.
pub fn answer(row: &impl RowColumns) -> Result<KeptAnswer, StoreError> {
    Ok(KeptAnswer {
        number: row.number("number")?,
        index: row.small("item")?,
        hop: row.small("hop")?,
        external_id: row.text_if("external_id")?,
        request: row.json("request")?,
        response: response(row)?.ok_or_else(|| odd("answers", "response_head", "null"))?,
    })
}

/// Reads a fetch that is still to be made.
pub fn waiting(row: &impl RowColumns) -> Result<WaitingFetch, StoreError> {
    Ok(WaitingFetch {
        index: row.small("item")?,
        hop: row.small("hop")?,
        external_id: row.text_if("external_id")?,
        request: row.json("request")?,
        attempts: row.number("attempts")?,
        due_at: row.time("due_at")?,
        until: row.time("until_at")?,
    })
}

/// Reads an answer. Its status and headers are JSON, its body is bytes. Returns `None` if there
/// is no answer yet.
pub fn response(row: &impl RowColumns) -> Result<Option<HttpResponse>, StoreError> {
    let head: Option<(u16, Pairs)> = row.json_if("response_head")?;
    let body = row.bytes_if("response_body")?;
    Ok(head.map(|(status, headers)| HttpResponse {
        status,
        headers,
        body: body.unwrap_or_default(),
    }))
}
