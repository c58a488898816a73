use crate::endpoints::prelude::*;

/// Reads the deal id of a path. A text that is not an id counts as unknown.
pub fn parse_id(text: &str) -> ApiResult<DealId> {
    text.parse().map_err(|_| not_found())
}

pub fn not_found() -> ApiError {
    ApiError::coded(
        ErrorCode::DealNotFound,
        "Deal not found: none of this partner's deals has this id.",
    )
}
