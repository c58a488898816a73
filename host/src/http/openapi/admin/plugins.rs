//! Plugins and their versions.

use super::operation;
use crate::http::openapi::operation::Operation;
use crate::http::openapi::schemas::Schemas;

pub fn operations(_schemas: &mut Schemas) -> Vec<Operation> {
    Vec::new()
}
