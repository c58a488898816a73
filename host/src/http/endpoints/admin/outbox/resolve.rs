//! `POST /admin/v1/outbox/{message}/resolve {verdict}`: an operator decides about a message that
//! waits or whose outcome is unknown: `send-again` (it was not sent) or `give-up`.

use hyper::StatusCode;

use super::{channel_of, find, parse_id};
use crate::admin_api::outbox::{ResolveRequest, Resolved, Verdict};
use crate::http::body::Unread;
use crate::http::call::Call;
use crate::http::endpoints::admin::read_json;
use crate::http::error::ApiError;
use crate::http::reply::{self, Reply};
use crate::store::{self, Resolution, Write, Written};

/// # Errors
///
/// The body is invalid, there is no such message, it neither waits nor has an unknown outcome, or
/// the store fails.
pub async fn resolve(call: &Call<'_>, id: &str, body: Unread) -> Result<Reply, ApiError> {
    let request: ResolveRequest = read_json(call, body).await?;
    let http = call.http;
    let message = find(&*http.core.store, parse_id(id)?).await?;
    let verdict = match request.verdict {
        Verdict::GiveUp => store::Verdict::GiveUp,
        Verdict::SendAgain => {
            let channel = channel_of(&*http.core.store, &message).await?;
            let now = http.core.clock.now();
            store::Verdict::SendAgain {
                until: now.plus_seconds(channel.settings.kept_seconds),
            }
        }
    };
    let write = Write::Resolve(Resolution {
        workspace: message.workspace_id,
        message: message.id,
        verdict,
    });
    match http.core.writer.submit(write).await? {
        Written::Message(outcome) => {
            http.pipeline.wake();
            let answer = Resolved {
                id: outcome.message,
                state: outcome.state,
            };
            reply::json(StatusCode::OK, &answer)
        }
        _ => Err(ApiError::conflict(format!(
            "Message {} is {}: only a message that waits, or whose outcome is unknown, can be resolved.",
            message.id, message.metadata.status
        ))),
    }
}
