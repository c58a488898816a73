//! One attempt: what the adapter makes of a message, the call, and what the
//! adapter makes of the answer. Whatever happens is an answer in the end.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::{Outgoing, not_sent};
use crate::domain::channel::{Accepted, Category, Refused, SendAnswer, SendStep, TemplateSend};
use crate::domain::exchange::{HttpRequest, Pairs};
use crate::egress::EgressError;
use crate::pipeline::connections::{self, Live};
use crate::pipeline::mask;
use crate::pipeline::state::Pipeline;
use crate::plugin::{Budget, Loaded};

/// What the adapter makes of a message.
pub enum Prepared {
    Call(Box<Call>),
    /// No call is needed, or none can be made.
    Answer(SendAnswer),
}

pub struct Call {
    plugin: Arc<Loaded>,
    send: TemplateSend,
    request: Box<HttpRequest>,
}

pub async fn prepare(pipeline: &Pipeline, outgoing: &Outgoing) -> Prepared {
    let live = &outgoing.live;
    let name = &live.connection.plugin;
    let Some(plugin) = pipeline.core.plugins.active(name) else {
        let reason = format!("no version of the adapter `{name}` is active");
        return Prepared::Answer(not_sent(Category::Transient, "no-adapter", reason));
    };
    let send = TemplateSend {
        message_id: outgoing.message.to_string(),
        recipient: outgoing.recipient.clone(),
        template: outgoing.payload.clone(),
        config: live.connection.config.clone(),
        context: context(pipeline, outgoing),
    };
    let lane = live.connection.id.as_str();
    let call = pipeline
        .core
        .plugins
        .send(&plugin, lane, send.clone(), Budget::Worker);
    match pipeline.core.metrics.plugins.calling(&plugin, call).await {
        Ok(SendStep::Call(request)) => Prepared::Call(Box::new(Call {
            plugin,
            send,
            request,
        })),
        Ok(SendStep::Answer(answer)) => Prepared::Answer(masked(answer, live)),
        Err(error) => {
            if error.is_fault() {
                tracing::warn!(message = %outgoing.message, plugin = %plugin.description.name, digest = plugin.digest.short(), %error, "the adapter failed; the message is kept and tried again");
            }
            let reason = format!("the adapter gave no request: {error}");
            Prepared::Answer(not_sent(Category::Transient, "adapter", reason))
        }
    }
}

/// Makes the call, unless the message is somebody else's by the time its first
/// byte is to go out. With the time that the provider took.
pub async fn call(pipeline: &Pipeline, outgoing: &Outgoing, call: Call) -> (SendAnswer, Duration) {
    let live = &outgoing.live;
    let started = Instant::now();
    let sending = pipeline.core.egress.call_once(
        &call.request,
        &live.secrets,
        &live.connection.allow,
        || !outgoing.held.has_ended(),
    );
    let response = pipeline.core.metrics.egress.sending(sending).await;
    let took = started.elapsed();
    pipeline.core.metrics.messaging.provider(took.as_secs_f64());
    let response = match response {
        Ok(response) => response,
        Err(error) => return (after_egress(&error, live), took),
    };
    let status = response.status;
    let lane = live.connection.id.as_str();
    let read =
        pipeline
            .core
            .plugins
            .read_answer(&call.plugin, lane, call.send, response, Budget::Worker);
    let answer = match pipeline
        .core
        .metrics
        .plugins
        .calling(&call.plugin, read)
        .await
    {
        Ok(answer) => masked(answer, live),
        Err(error) => {
            tracing::warn!(message = %outgoing.message, plugin = %call.plugin.description.name, digest = call.plugin.digest.short(), %error, "the adapter could not read the provider's answer");
            SendAnswer::Unknown(format!(
                "the provider answered with status {status}, and the adapter could not read it: {error}"
            ))
        }
    };
    (answer, took)
}

fn context(pipeline: &Pipeline, outgoing: &Outgoing) -> Pairs {
    let connection = &outgoing.live.connection;
    let mut context = outgoing.live.context();
    let conversation = outgoing.conversation.to_string();
    context.push(("conversation-id".to_owned(), conversation));
    let agent = outgoing.channel.agent;
    context.push(("instance-id".to_owned(), agent.to_string()));
    let webhook = connections::webhook_path(agent, &connection.id);
    // Without a public address there is none to call back.
    if let Some(url) = pipeline.core.config.server.public(&webhook) {
        context.push(("callback-url".to_owned(), url));
    }
    context
}

/// Whose matter it is that there is no answer.
fn after_egress(error: &EgressError, live: &Live) -> SendAnswer {
    let reason = mask::text(&error.to_string(), &live.secrets).into_owned();
    let (category, code) = match error {
        EgressError::NoAnswer { .. } => return SendAnswer::Unknown(reason),
        EgressError::Unreachable { .. } => (Category::Transient, "unreachable"),
        EgressError::TooLate => (Category::Transient, "too-late"),
        // The adapter's fault: another version may do better.
        EgressError::Malformed(_) => (Category::Transient, "adapter"),
        EgressError::NotAllowed { .. } | EgressError::NotPublic { .. } => {
            (Category::Connection, "not-allowed")
        }
        EgressError::Slot(_) => (Category::Connection, "secret"),
    };
    not_sent(category, code, reason)
}

/// The answer without the instance's secrets, which some providers repeat.
fn masked(answer: SendAnswer, live: &Live) -> SendAnswer {
    let mask = |text: String| mask::text(&text, &live.secrets).into_owned();
    match answer {
        SendAnswer::Refused(refused) => SendAnswer::Refused(Refused {
            category: refused.category,
            code: mask(refused.code),
            title: mask(refused.title),
            text: mask(refused.text),
            details: mask(refused.details),
            retry_after_seconds: refused.retry_after_seconds,
        }),
        SendAnswer::Unknown(reason) => SendAnswer::Unknown(mask(reason)),
        SendAnswer::Accepted(accepted) => SendAnswer::Accepted(Accepted {
            status: mask(accepted.status),
            ..accepted
        }),
    }
}
