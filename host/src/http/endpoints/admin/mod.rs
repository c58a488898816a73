//! `/admin/v1/...` on the admin surface: what operators do.

use crate::http::auth::AdminCaller;
use crate::http::body::Unread;
use crate::http::error::ApiError;
use crate::http::reply::Reply;
use crate::http::router::Call;

/// Every operation under `/admin/v1`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AdminRoute<'a> {
    None(&'a str),
}

impl<'a> AdminRoute<'a> {
    /// `segments`: those after `/admin/v1`.
    pub fn parse(_method: &str, _segments: &[&'a str]) -> Option<Self> {
        None
    }

    pub fn name(&self) -> &'static str {
        match self {
            Self::None(_) => "none",
        }
    }
}

pub async fn run(
    _call: &Call<'_>,
    _caller: &AdminCaller,
    route: AdminRoute<'_>,
    _body: Unread,
) -> Result<Reply, ApiError> {
    match route {
        AdminRoute::None(_) => Err(ApiError::NotFound("There is no such operation.".to_owned())),
    }
}
