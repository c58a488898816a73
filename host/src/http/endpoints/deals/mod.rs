//! Deals as partners work with them. A partner's deals are those that came through its
//! connections and those that it created. Any other deal looks to it like one that does not
//! exist.

mod create;
mod find;
mod log;
mod patch;
pub mod schema;
mod show;

pub use create::{DealCreateAnswer, run as create};
pub use find::run as find;
pub use log::{DealLogAnswer, run as log};
pub use patch::{DealPatchAnswer, run as patch};
pub use show::run as show;

use crate::domain::id::DealId;
use crate::http::error::ApiError;

/// Reads the deal id of a path. A text that is not an id counts as unknown.
fn parse_id(text: &str) -> Result<DealId, ApiError> {
    text.parse().map_err(|_| not_found())
}

fn not_found() -> ApiError {
    ApiError::NotFound("Deal not found: none of this partner's deals has this id.".to_owned())
}
