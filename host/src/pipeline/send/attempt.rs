//! One attempt: the adapter composes the call, the host makes it, and the adapter reads the
//! answer. Every failure becomes an answer too.

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

/// The adapter's result for a message.
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

/// Asks the adapter for the call that sends a message.
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
                tracing::warn!(message = %outgoing.message, plugin = %plugin.description.name, digest = plugin.digest.short(), %error, "adapter failed, retrying the message later");
            }
            let reason = format!("the adapter returned no request: {error}");
            Prepared::Answer(not_sent(Category::Transient, "adapter", reason))
        }
    }
}

/// Makes the call, unless the lease has ended right before its first byte. Returns the answer
/// and the time that the provider took.
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
            tracing::warn!(message = %outgoing.message, plugin = %call.plugin.description.name, digest = call.plugin.digest.short(), %error, "adapter could not read the provider's answer");
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
    // Without a public address there is no callback URL.
    if let Some(url) = pipeline.core.config.server.public(&webhook) {
        context.push(("callback-url".to_owned(), url));
    }
    context
}

/// Returns the answer for a failed call: unknown if it may have reached the provider, else a
/// refusal whose category says where the fault is.
fn after_egress(error: &EgressError, live: &Live) -> SendAnswer {
    let reason = mask::text(&error.to_string(), &live.secrets).into_owned();
    let (category, code) = match error {
        EgressError::NoAnswer { .. } => return SendAnswer::Unknown(reason),
        EgressError::Unreachable { .. } => (Category::Transient, "unreachable"),
        EgressError::TooLate => (Category::Transient, "too-late"),
        // The adapter is at fault; another version may compose a valid call.
        EgressError::Malformed(_) => (Category::Transient, "adapter"),
        EgressError::NotAllowed { .. } | EgressError::NotPublic { .. } => {
            (Category::Connection, "not-allowed")
        }
        EgressError::Slot(_) => (Category::Connection, "secret"),
    };
    not_sent(category, code, reason)
}

/// Masks the instance's secrets, which some providers repeat in their answers.
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
