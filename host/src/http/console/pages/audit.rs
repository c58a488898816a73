//! The page of the audit: the operations of operators.

use askama::Template;

use super::super::api::ApiRefusal;
use super::super::frame::Frame;
use super::super::{answer::page, visit::Visit};
use super::filters::{Filtered, Filters, status_of};
use crate::admin_api::audit::Audit;
use crate::domain::audit::{AuditRow, OperatorAct};
use crate::http::reply::ApiResponse;

#[derive(Template)]
#[template(path = "console/audit.html")]
pub struct AuditPage {
    frame: Frame,
    filters: Filters,
    rows: Vec<AuditRow>,
    next: Option<String>,
    problem: Option<ApiRefusal>,
}

/// Shows the list.
///
/// # Errors
///
/// [`ApiRefusal`] with 403 if the user's role does not allow it, and 5xx if the store cannot be
/// read.
pub async fn list(visit: &Visit<'_>) -> Result<ApiResponse, ApiRefusal> {
    let filters = Filters::read(visit, &["actor", "act", "since", "before"]);
    let path = format!("/audit{}", filters.query());
    let Filtered { found, problem } = Filtered::<Audit>::list(visit, &path).await?;
    let shown = AuditPage {
        frame: visit.frame("audit", "Audit"),
        next: filters.next_page("/audit", found.next),
        filters,
        rows: found.rows,
        problem,
    };
    page(status_of(shown.problem.as_ref()), &shown)
}
