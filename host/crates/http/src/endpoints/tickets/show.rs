use super::view::{parse_id, view};
use crate::endpoints::prelude::*;
use leadhost_domain::ticket::TicketView;

describe!(show, |operation| operation
    .summary("Shows a ticket")
    .answers::<TicketView>(200, "The ticket.")
    .refuses(&[404]));
pub async fn show(call: &Call<'_>, caller: &PartnerCaller, ticket: &str) -> ApiResult {
    let ticket = view(call, caller, parse_id(ticket)?).await?;
    reply::ok(&ticket)
}
