//! `GET /admin/v1/config`: the configuration in force on this host.

use hyper::StatusCode;

use crate::call::Call;
use crate::error::ApiError;
use crate::reply::{self, ApiResponse};
use leadhost_admin_api::config::EffectiveConfig;

/// Returns every key with its value and where it is set. Possible secrets are left out.
pub fn show(call: &Call<'_>) -> Result<ApiResponse, ApiError> {
    let config = EffectiveConfig {
        host: call.http.pipeline.fleet.name().to_owned(),
        settings: call.http.core.config.settings.clone(),
    };
    reply::json(StatusCode::OK, &config)
}
