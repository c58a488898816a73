//! One deal with its history.

use askama::Template;

use super::super::Visit;
use super::super::api::ApiRefusal;
use super::super::form::encoded;
use super::super::frame::Frame;
use crate::admin_api::deals::DealHistory;

#[derive(Template)]
#[template(path = "console/deals.html")]
pub struct DealsPage {
    frame: Frame,
    id: String,
    deal: Option<DealHistory>,
}

/// Returns the page, with the deal that its address names.
///
/// # Errors
///
/// [`ApiRefusal`] if there is no such deal, or the store cannot be read.
pub async fn show(visit: &Visit<'_>) -> Result<DealsPage, ApiRefusal> {
    let query = visit.call.query();
    let id = query.filled(&["id"]).unwrap_or_default().trim().to_owned();
    let deal = if id.is_empty() {
        None
    } else {
        Some(visit.api().get(&format!("/deals/{}", encoded(&id))).await?)
    };
    Ok(DealsPage {
        frame: visit.frame("deals", "Deals"),
        id,
        deal,
    })
}
