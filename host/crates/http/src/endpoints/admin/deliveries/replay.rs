//! `POST /admin/v1/deliveries/{id}/replay {apply, release}`: converts one delivery again with
//! the active version. Callers replay many deliveries one by one, so that they see the progress
//! and can stop at any time without losing anything.

use super::parse_id;
use crate::endpoints::admin::prelude::*;
use leadhost_admin_api::deliveries::{ReplayRequest, Replayed};
use leadhost_pipeline::replay::{self, ReplayError, ReplayOptions};

describe!(run, |operation| {
    operation
        .summary("Converts a delivery again with the active version of its plugin")
        .describe("Shows what the conversion would make and what would change in finished items, and writes \
             nothing of it. With `apply` it is made and written, except where a person has edited since. \
             A failed or parked delivery is converted without it, too.")
        .may_take::<ReplayRequest>(&[("apply", "Write the changes", json!({"apply": true}))])
        .answers::<Replayed>(200, "The outcome of the replay.")
        .refuses(&[404, 409, 422])
});
pub async fn run(call: &Call<'_>, id: &str, body: UnreadBody) -> ApiResult {
    let id = parse_id(id)?;
    let request: ReplayRequest = read_json(call, body).await?;
    let options = ReplayOptions {
        apply: request.apply,
        release: request.release,
        expected: request.expected,
    };
    let replayed =
        call.to_end(|http| async move { replay::one(&http.pipeline, id, options).await });
    let outcome = replayed.await?.map_err(refusal)?;
    call.audit(json!({
        "apply": request.apply,
        "release": request.release,
        "status": outcome.status,
    }));
    reply::ok(&Replayed {
        id: outcome.delivery,
        status: outcome.status,
        error: outcome.error,
        items: outcome.items,
    })
}

fn refusal(error: ReplayError) -> ApiError {
    match error {
        ReplayError::NotFound(_) => ApiError::NotFound(error.to_string()),
        ReplayError::Quarantined(_)
        | ReplayError::StillUnproven { .. }
        | ReplayError::Busy(_)
        | ReplayError::Changed { .. }
        | ReplayError::NotQuarantined { .. }
        | ReplayError::Emptied(_)
        | ReplayError::TakenOver(_) => ApiError::conflict(error.to_string()),
        ReplayError::Completion { .. } => ApiError::unprocessable(error.to_string()),
        ReplayError::Store(error) => error.into(),
    }
}
