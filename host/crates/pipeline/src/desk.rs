//! Changes to tickets by the desk: each is one commit.

use crate::prelude::*;
use leadhost_store::{TicketPatch, TicketPatched};

#[leadhost_boxed::boxed]
pub async fn patch(pipeline: &Pipeline, patch: TicketPatch) -> Result<TicketPatched, StoreError> {
    match pipeline
        .writer
        .submit(Write::PatchTicket(Box::new(patch)))
        .await?
    {
        WriteOutcome::TicketPatched(patched) => Ok(patched),
        other => Err(StoreError::Inconsistent {
            what: format!("the store answered a ticket change with {other:?}"),
        }),
    }
}
