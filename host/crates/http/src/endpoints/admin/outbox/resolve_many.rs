//! `POST /admin/v1/outbox/resolve {verdict, messages}`: an operator decides about several messages whose
//! outcome is unknown. The request names each of them, so it resolves what the operator saw and
//! nothing that came since.

use std::time::Instant;

use super::find;
use super::resolve::settle;
use crate::endpoints::admin::prelude::*;
use leadhost_admin_api::outbox::{
    RefusedMessage, ResolveManyRequest, Resolved, ResolvedMany, Verdict,
};
use leadhost_domain::id::MessageId;
use leadhost_domain::message::MessageState;

describe!(resolve, |operation| {
    operation
        .summary("Decides about several messages whose outcome is unknown")
        .describe(
            "A message whose outcome has become known stays as it is, and the answer says why. \
             A request that takes too long resolves only the first messages: send the rest again.",
        )
        .takes::<ResolveManyRequest>(&[(
            "failed",
            "They count as failed",
            json!({"verdict": "give-up", "messages": ["019c2f4e-8a51-7c3b-9d20-5b7f10a4e6c2"]}),
        )])
        .answers::<ResolvedMany>(200, "The results, counted by state.")
        .refuses(&[400])
});
pub async fn resolve(call: &Call<'_>, body: UnreadBody) -> ApiResult {
    let request: ResolveManyRequest = read_json(call, body).await?;
    let named = request.messages.len();
    if named == 0 || named > limits::RESOLVED_AT_ONCE {
        return Err(ApiError::BadRequest(format!(
            "`messages` names {named} messages: name 1 to {}.",
            limits::RESOLVED_AT_ONCE
        )));
    }
    // Goes on to its end even if the operator hangs up.
    let verdict = request.verdict;
    let run = call
        .to_end(|http| async move { run(&http, &request).await })
        .await?;
    call.audit(json!({
        "verdict": verdict,
        "messages": run.resolved,
        "states": run.answer.states,
        "refused": run.answer.refused,
        "left": run.answer.left,
    }));
    if let Some(error) = run.failure {
        call.audit_partly_done();
        return Err(error.into());
    }
    reply::ok(&run.answer)
}

/// The work that a request had done when it ended.
#[derive(Default)]
struct ResolveRun {
    answer: ResolvedMany,
    resolved: Vec<MessageId>,
    failure: Option<StoreError>,
}

/// Resolves messages one by one until the time of a request is up.
async fn run(http: &Http, request: &ResolveManyRequest) -> ResolveRun {
    let mut run = ResolveRun::default();
    let began = Instant::now();
    for (place, id) in request.messages.iter().enumerate() {
        let is_over = began.elapsed() >= limits::RESOLVED_WITHIN || http.core.shutdown.has_begun();
        if is_over && place > 0 {
            run.answer.left = (request.messages.len() - place) as u64;
            break;
        }
        match unknown_one(http, *id, request.verdict).await {
            Ok(Resolved { id, state }) => {
                run.resolved.push(id);
                let number = run.answer.states.entry(state.as_str().to_owned());
                *number.or_default() += 1;
            }
            Err(ApiError::Store(error)) => {
                run.failure = Some(error);
                break;
            }
            // It was settled in the meantime, or its instance is gone: the others go on.
            Err(error) => {
                run.answer.refused += 1;
                if run.answer.refusals.len() < limits::RESOLVED_REFUSALS {
                    let reason = error.to_string();
                    run.answer.refusals.push(RefusedMessage { id: *id, reason });
                }
            }
        }
    }
    http.pipeline.wake();
    run
}

async fn unknown_one(http: &Http, id: MessageId, verdict: Verdict) -> ApiResult<Resolved> {
    let message = find(&http.core.store, id).await?;
    if message.metadata.status != MessageState::Unknown.as_str() {
        return Err(ApiError::conflict(format!(
            "Message {id} is {}: its outcome is not unknown.",
            message.metadata.status
        )));
    }
    settle(http, &message, verdict).await
}
