//! What most resources use.

pub use serde::{Deserialize, Serialize};
pub use serde_json::Value;
pub use utoipa::ToSchema;

pub use crate::columns;
pub use crate::columns::Cell;
pub use leadhost_domain::time::Micros;
