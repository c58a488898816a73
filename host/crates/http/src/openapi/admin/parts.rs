//! Parts of several operations: their parameters.

use serde_json::json;

use super::super::operation::{Operation, Parameter};
use crate::error::Family;
use crate::route::Access;
use leadhost_domain::limits;

/// Returns an operation of the admin API.
pub fn operation(method: &'static str, path: &'static str) -> Operation {
    Operation::new(method, path, Family::Admin, Access::AdminKey)
}

/// The `limit` of a paged list.
pub fn page_limit() -> Parameter {
    Parameter::query(
        "limit",
        json!({
            "type": "integer",
            "minimum": 1,
            "maximum": limits::DELIVERIES_PER_PAGE,
            "default": limits::ROWS_PER_PAGE,
        }),
        "Rows per page. A value out of range is adjusted, not refused.",
    )
}

/// The `workspace` that bounds a search.
pub fn workspace() -> Parameter {
    Parameter::query(
        "workspace",
        json!({"type": "string"}),
        "The workspace's slug or id. Without it, all workspaces are searched.",
    )
}

/// The `before` of a paged list.
pub fn before(what: &str) -> Parameter {
    Parameter::query(
        "before",
        json!({"type": "string"}),
        &format!("The `next` of the previous page: only {what} older than this one."),
    )
}
