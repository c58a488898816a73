//! The audit.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::domain::audit::AuditRow;

/// A page of the audit.
#[derive(Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct Audit {
    pub rows: Vec<AuditRow>,
    /// The `before` of the next page, or its `after` if the request has one. Null on the last page.
    pub next: Option<i64>,
}
