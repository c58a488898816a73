//! Tickets as the desk works with them, by an access token: those of its workspace, whichever
//! partner brought the deals. A ticket of another workspace looks like one that does not exist.

mod list;
mod patch;
pub mod schema;
mod show;

pub use list::{TicketsPage, run as list};
pub use patch::run as patch;
pub use show::run as show;

use crate::domain::id::TicketId;
use crate::domain::ticket::TicketView;
use crate::http::auth::PartnerCaller;
use crate::http::call::Call;
use crate::http::error::ApiError;
use crate::store::TicketFilter;

/// Reads the ticket id of a path. A text that is not an id counts as unknown.
fn parse_id(text: &str) -> Result<TicketId, ApiError> {
    text.parse().map_err(|_| not_found())
}

fn not_found() -> ApiError {
    ApiError::NotFound("Ticket not found: the workspace has none with this id.".to_owned())
}

/// Returns the ticket as it is now.
async fn view(
    call: &Call<'_>,
    caller: &PartnerCaller,
    ticket: TicketId,
) -> Result<TicketView, ApiError> {
    let filter = TicketFilter {
        ticket: Some(ticket),
        limit: 1,
        ..TicketFilter::default()
    };
    let mut found = call
        .http
        .core
        .store
        .tickets(caller.scope(), &filter)
        .await?;
    found.pop().ok_or_else(not_found)
}
