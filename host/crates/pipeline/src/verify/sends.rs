//! Compares two versions of an adapter on one send: both are asked for the request, and both read
//! the provider's answer if there is one. Nothing is sent.

use std::sync::Arc;

use super::compare::{AnsweredVersions, ComparedOutcomes, ComparedSubject, Subject};
use super::outcome::{Reason, VersionOutcome};
use super::{
    composed,
    conversion::{Both, Compared},
};
use crate::connections::Live;
use crate::offload;
use crate::send::{Addressed, template_send};
use crate::state::Pipeline;
use leadhost_domain::channel::{SendAnswer, SendStep, TemplateSend};
use leadhost_domain::exchange::HttpResponse;
use leadhost_domain::id::{ConnectionId, MessageId, WorkspaceId};
use leadhost_domain::limits;
use leadhost_egress::Egress;
use leadhost_plugin::{CallBudget, CallError, Loaded, TRIAL_LANE};
use leadhost_store::StoreError;
use leadhost_telemetry::CallSubject;

/// Compares both versions on a kept send.
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
    let before = SendCalls::make(pipeline, serving, &send, kept.response.clone()).await;
    let mut after = SendCalls::make(pipeline, candidate, &send, kept.response).await;
    // A secret that was removed since keeps both versions from sending.
    if before.obstacle(&live).is_none() {
        after.obstacle = after.obstacle(&live);
    }
    Ok(compare(of, &send, before, after).await)
}

/// Compares both versions on a send that was made, with the provider's answer if there is one.
/// Whether their requests can be sent is not checked: a rollout sees that when it sends.
pub async fn both(
    pipeline: &Pipeline,
    serving: &Arc<Loaded>,
    candidate: &Arc<Loaded>,
    of: (MessageId, &ConnectionId),
    send: &TemplateSend,
    response: Option<HttpResponse>,
) -> Compared {
    let before = SendCalls::make(pipeline, serving, send, response.clone()).await;
    let after = SendCalls::make(pipeline, candidate, send, response).await;
    compare(of, send, before, after).await
}

async fn compare(
    (message, connection): (MessageId, &ConnectionId),
    send: &TemplateSend,
    before: SendCalls,
    after: SendCalls,
) -> Compared {
    let connection = connection.clone();
    let is_long = send.template.len() > limits::COMPARED_BYTES;
    let comparison = offload::run(is_long, move || {
        let compared = ComparedSubject {
            subject: Subject::Message(message),
            connection: &connection,
            answered: AnsweredVersions::default(),
        };
        let (before, after) = (before.outcome()?, after.outcome()?);
        Some(ComparedOutcomes::compare(&compared, &before, &after))
    });
    match comparison.await {
        Some(comparison) => Compared::Both(Box::new(Both {
            comparison,
            memory: None,
            processor: None,
        })),
        None => Compared::NotTried,
    }
}

/// The calls of a version for a send.
struct SendCalls {
    step: Result<SendStep, CallError>,
    read: Option<Result<SendAnswer, CallError>>,
    /// Why its request cannot be sent.
    obstacle: Option<Reason>,
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
            .calling_for(
                CallBudget::Trial,
                plugin,
                CallSubject::Message(&send.message_id),
                call,
            )
            .await;
        // There is an answer only if the step is a request.
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
                        .calling_for(
                            CallBudget::Trial,
                            plugin,
                            CallSubject::Message(&send.message_id),
                            call,
                        )
                        .await,
                )
            }
            None => None,
        };
        Self {
            step,
            read,
            obstacle: None,
        }
    }

    /// Returns why the request of the version cannot be sent by this instance: its host is not on the
    /// allow-list, or a secret is missing. Nothing is sent.
    fn obstacle(&self, live: &Live) -> Option<Reason> {
        let Ok(SendStep::Call(request)) = &self.step else {
            return None;
        };
        let checked = Egress::check(request, &live.secrets, &live.connection.allow);
        // It may quote the request.
        let why = Reason::Plugin(checked.err()?.to_string());
        Some(why.after("its request cannot be sent: "))
    }

    fn outcome(&self) -> Option<VersionOutcome> {
        let outcome = composed::outcome(&self.step, self.read.as_ref())?;
        Some(match &self.obstacle {
            Some(why) => VersionOutcome::Failed(why.clone()),
            None => outcome,
        })
    }
}
