//! What the desk does to tickets: each is one commit.

use crate::app::App;
use crate::store::{StoreError, TicketPatch, TicketPatched, Write, Written};

pub async fn patch(app: &App, patch: TicketPatch) -> Result<TicketPatched, StoreError> {
    match app
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
