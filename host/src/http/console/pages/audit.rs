//! The page of the audit: the operations of operators.

use askama::Template;

use super::super::Visit;
use super::super::api::ApiRefusal;
use super::super::frame::Frame;
use super::Filters;
use crate::admin_api::audit::Audit;
use crate::domain::audit::AuditRow;
use crate::http::endpoints::admin::audit::ACTS;

#[derive(Template)]
#[template(path = "console/audit.html")]
pub struct AuditPage {
    frame: Frame,
    filters: Filters,
    rows: Vec<AuditRow>,
    next: Option<String>,
}

/// Returns the list.
///
/// # Errors
///
/// [`ApiRefusal`] if a filter is invalid, or the store cannot be read.
pub async fn list(visit: &Visit<'_>) -> Result<AuditPage, ApiRefusal> {
    let filters = Filters::read(visit, &["actor", "act", "since", "before"]);
    let list: Audit = visit
        .api()
        .get(&format!("/audit{}", filters.query()))
        .await?;
    let next = filters.next_page("/audit", list.next);
    Ok(AuditPage {
        frame: visit.frame("audit", "Audit"),
        filters,
        rows: list.rows,
        next,
    })
}
