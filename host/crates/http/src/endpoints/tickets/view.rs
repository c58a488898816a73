use crate::endpoints::prelude::*;
use leadhost_domain::id::TicketId;
use leadhost_domain::ticket::TicketView;
use leadhost_store::TicketFilter;

/// Reads the ticket id of a path. A text that is not an id counts as unknown.
pub fn parse_id(text: &str) -> ApiResult<TicketId> {
    text.parse().map_err(|_| not_found())
}

pub fn not_found() -> ApiError {
    ApiError::coded(
        ErrorCode::TicketNotFound,
        "Ticket not found: the partner has none with this id.",
    )
}

pub async fn view(
    call: &Call<'_>,
    caller: &PartnerCaller,
    ticket: TicketId,
) -> ApiResult<TicketView> {
    let filter = TicketFilter {
        partner: Some(caller.partner().id),
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
