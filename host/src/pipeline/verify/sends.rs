//! Compares two versions of an adapter on one send: both are asked for the request, and both read
//! the provider's answer if there is one. Nothing is sent.

use std::sync::Arc;

use super::compare::{ComparedSubject, Subject, Tally};
use super::outcome::VersionOutcome;
use super::{Both, Compared, composed};
use crate::domain::channel::{SendAnswer, SendStep, TemplateSend};
use crate::domain::exchange::HttpResponse;
use crate::domain::id::{ConnectionId, MessageId, WorkspaceId};
use crate::limits;
use crate::pipeline::offload;
use crate::pipeline::send::{Addressed, template_send};
use crate::pipeline::state::Pipeline;
use crate::plugin::{CallBudget, CallError, Loaded, TRIAL_LANE};
use crate::store::StoreError;
use crate::telemetry::CallSubject;

/// Compares both versions on a kept send.
///
/// # Errors
///
/// [`StoreError`] if the store cannot be read.
pub async fn one(
    pipeline: &Arc<Pipeline>,
    serving: &Arc<Loaded>,
    candidate: &Arc<Loaded>,
    (workspace, message): (WorkspaceId, MessageId),
) -> Result<Compared, StoreError> {
    // It may have been swept or erased since it was chosen.
    let kept = pipeline.core.store.kept_send(workspace, message).await?;
    let Some(kept) = kept else {
        return Ok(Compared::Emptied);
    };
    let Ok(Some(live)) = pipeline.connections.get(&kept.connection).await else {
        return Ok(Compared::NotTried);
    };
    let addressed = Addressed {
        message,
        conversation: kept.conversation,
        recipient: kept.recipient,
        payload: kept.payload,
    };
    let send = template_send(pipeline, &live, addressed);
    let of = (message, &kept.connection);
    Ok(both(pipeline, serving, candidate, of, &send, kept.response).await)
}

/// Compares both versions on a send, with the provider's answer if there is one.
pub async fn both(
    pipeline: &Pipeline,
    serving: &Arc<Loaded>,
    candidate: &Arc<Loaded>,
    (message, connection): (MessageId, &ConnectionId),
    send: &TemplateSend,
    response: Option<HttpResponse>,
) -> Compared {
    let before = SendCalls::make(pipeline, serving, send, response.clone()).await;
    let after = SendCalls::make(pipeline, candidate, send, response).await;
    let connection = connection.clone();
    let is_long = send.template.len() > limits::COMPARED_BYTES;
    let tally = offload::run(is_long, move || {
        let compared = ComparedSubject {
            subject: Subject::Message(message),
            connection: &connection,
        };
        let (before, after) = (before.outcome()?, after.outcome()?);
        Some(Tally::of_one(&compared, &before, &after))
    });
    match tally.await {
        Some(tally) => Compared::Both(Box::new(Both {
            tally,
            memory: None,
        })),
        None => Compared::NotTried,
    }
}

/// The calls of a version for a send.
struct SendCalls {
    step: Result<SendStep, CallError>,
    read: Option<Result<SendAnswer, CallError>>,
}

impl SendCalls {
    async fn make(
        pipeline: &Pipeline,
        plugin: &Arc<Loaded>,
        send: &TemplateSend,
        response: Option<HttpResponse>,
    ) -> Self {
        let (plugins, metrics) = (&pipeline.core.plugins, &pipeline.core.metrics.plugins);
        let call = plugins.send(plugin, TRIAL_LANE, send.clone(), CallBudget::Trial);
        let step = metrics
            .calling(plugin, CallSubject::Message(&send.message_id), call)
            .await;
        // Only to a request there is an answer.
        let response = response.filter(|_| matches!(step, Ok(SendStep::Call(_))));
        let read = match response {
            Some(response) => {
                let call = plugins.read_answer(
                    plugin,
                    TRIAL_LANE,
                    send.clone(),
                    response,
                    CallBudget::Trial,
                );
                Some(
                    metrics
                        .calling(plugin, CallSubject::Message(&send.message_id), call)
                        .await,
                )
            }
            None => None,
        };
        Self { step, read }
    }

    fn outcome(&self) -> Option<VersionOutcome> {
        composed::outcome(&self.step, self.read.as_ref())
    }
}
