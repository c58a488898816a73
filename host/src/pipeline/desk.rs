//! What the desk does to tickets: each is one commit.

use crate::pipeline::state::Pipeline;
use crate::store::{StoreError, TicketPatch, TicketPatched, Write, Written};

pub async fn patch(pipeline: &Pipeline, patch: TicketPatch) -> Result<TicketPatched, StoreError> {
    match pipeline
        .core
        .writer
        .submit(Write::PatchTicket(Box::new(patch)))
        .await?
    {
        Written::TicketPatched(patched) => Ok(patched),
        other => Err(StoreError::Inconsistent {
            what: format!("a ticket's change was answered with {other:?}"),
        }),
    }
}
