//! `POST /admin/v1/apply?dryRun=`: a workspace file as JSON. 422 lists every
//! problem; nothing is changed then.

use std::sync::Arc;

use hyper::StatusCode;
use serde_json::{Value, json};

use super::{flag, read_json};
use crate::http::body::Unread;
use crate::http::error::ApiError;
use crate::http::reply::{self, Reply};
use crate::http::router::Call;
use crate::pipeline;
use crate::pipeline::apply::ApplyError;

pub async fn apply(call: &Call<'_>, body: Unread) -> Result<Reply, ApiError> {
    let dry_run = flag(call, "dryRun")?;
    let file: Value = read_json(call, body).await?;
    let app = Arc::clone(call.app);
    // To its end, also when the operator hangs up: keys are made after the commit.
    let applied = pipeline::spawn(call.app, async move {
        pipeline::apply::apply(&app, &file, dry_run).await
    });
    match applied.await.map_err(ApiError::internal)? {
        Ok(report) => reply::json(StatusCode::OK, &report),
        Err(error @ ApplyError::Problems(_)) => {
            let message = error.to_string();
            let problems = match error {
                ApplyError::Problems(problems) => problems,
                _ => Vec::new(),
            };
            Err(ApiError::Unprocessable {
                message,
                details: json!({ "problems": problems }),
            })
        }
        Err(error @ ApplyError::Sealed { .. }) => Err(ApiError::Conflict {
            message: error.to_string(),
            details: Value::Null,
        }),
        Err(ApplyError::Store(error)) => Err(error.into()),
    }
}
