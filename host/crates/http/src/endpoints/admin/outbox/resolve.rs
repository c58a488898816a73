use super::{channel_of, find, parse_id};
use crate::endpoints::admin::prelude::*;
use leadhost_admin_api::outbox::{ResolveRequest, Resolved, Verdict};
use leadhost_store::{self as store, OutboxMessage, Resolution, Write, WriteOutcome};

describe!(resolve, |operation| operation
    .summary("Decides about a message that waits or whose outcome is unknown")
    .takes::<ResolveRequest>(&[("again", "It was not sent", json!({"verdict": "send-again"}))])
    .answers::<Resolved>(200, "The message after that.")
    .refuses(&[404, 409]));
pub async fn resolve(call: &Call<'_>, id: &str, body: UnreadBody) -> ApiResult {
    let request: ResolveRequest = read_json(call, body).await?;
    let http = call.http;
    let id = parse_id(id)?;
    call.audit(json!({ "message": id, "verdict": request.verdict }));
    let message = find(&http.core.store, id).await?;
    call.audit(json!({
        "workspace": message.workspace_id,
        "state": message.metadata.status,
    }));
    let resolved = settle(http, &message, request.verdict).await?;
    http.pipeline.wake();
    call.audit(json!({ "state": resolved.state }));
    reply::ok(&resolved)
}

pub async fn settle(http: &Http, message: &OutboxMessage, verdict: Verdict) -> ApiResult<Resolved> {
    let verdict = match verdict {
        Verdict::GiveUp => store::MessageVerdict::GiveUp,
        Verdict::SendAgain => {
            let channel = channel_of(&http.core.store, message).await?;
            let now = http.core.clock.now();
            store::MessageVerdict::SendAgain {
                until: now.plus(channel.settings.kept_for),
            }
        }
    };
    let write = Write::Resolve(Resolution {
        workspace: message.workspace_id,
        message: message.id,
        verdict,
    });
    match http.core.writer.submit(write).await? {
        WriteOutcome::Message(outcome) => Ok(Resolved {
            id: outcome.message,
            state: outcome.state,
        }),
        _ => {
            // Another operator or the worker may have changed it since it was read.
            let now = find(&http.core.store, message.id).await?;
            Err(ApiError::conflict(format!(
                "Message {} is {}: only a message that waits, or whose outcome is unknown, can be resolved.",
                now.id, now.metadata.status
            )))
        }
    }
}
