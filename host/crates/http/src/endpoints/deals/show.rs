use super::id::{not_found, parse_id};
use crate::endpoints::prelude::*;
use leadhost_domain::deal::DealView;
use leadhost_store::DealFilter;

describe!(show, |operation| operation
    .summary("Shows a deal")
    .describe("Returns one of the partner's own deals, as `GET /deal` shows it.")
    .answers::<DealView>(200, "The deal.")
    .refuses(&[404]));
pub async fn show(call: &Call<'_>, caller: &PartnerCaller, deal: &str) -> ApiResult {
    let filter = DealFilter {
        partner: Some(caller.partner().id),
        deal: Some(parse_id(deal)?),
        ..DealFilter::default()
    };
    let mut found = call
        .http
        .core
        .store
        .deals(caller.scope(), &filter, 1)
        .await?;
    let deal = found.deals.pop().ok_or_else(not_found)?;
    reply::ok(&deal)
}
