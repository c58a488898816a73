//! One attempt: the adapter composes the call, the host makes it, and the adapter reads the
//! answer. Every failure becomes an answer too.

use super::outgoing::{Outgoing, not_sent};
use super::template_send::template_send;
use crate::prelude::*;
use crate::rollout::sends;
use crate::verify::outcome::Reason;
use crate::{mask, plugin_log};
use leadhost_domain::channel::{
    AcceptedSend, Category, RefusedSend, SendAnswer, SendStep, TemplateSend,
};
use leadhost_domain::exchange::HttpRequest;
use leadhost_egress::EgressError;

pub enum PreparedSend {
    Call(Box<ProviderCall>),
    Answer(Box<Attempt>),
}

pub struct ProviderCall {
    plugin: Arc<Loaded>,
    send: TemplateSend,
    request: Box<HttpRequest>,
}

pub struct Attempt {
    pub answer: SendAnswer,
    pub took: Duration,
    /// `None` if the adapter gave no request and no answer.
    pub made: Option<Made>,
}

pub struct Made {
    pub plugin: Arc<Loaded>,
    pub send: TemplateSend,
    /// Without the secrets of the instance. `None` if there was none, or it is too long to be kept.
    pub response: Option<HttpResponse>,
}

impl Attempt {
    fn without_a_call(answer: SendAnswer, made: Option<Made>) -> PreparedSend {
        PreparedSend::Answer(Box::new(Self {
            answer,
            took: Duration::ZERO,
            made,
        }))
    }
}

pub async fn prepare(pipeline: &Pipeline, outgoing: &Outgoing) -> PreparedSend {
    let live = &outgoing.live;
    let name = &live.connection.plugin;
    let Some(active) = pipeline.plugins.active(name) else {
        let reason = format!("no version of the adapter `{name}` is active");
        let answer = not_sent(Category::Transient, "no-adapter", reason);
        return Attempt::without_a_call(answer, None);
    };
    let send = template_send(pipeline, outgoing);
    let of = (outgoing.contact, outgoing.candidate_budget());
    let chosen = sends::compose(pipeline, live, &active, &send, of).await;
    let plugin = chosen.plugin;
    match chosen.step {
        Ok(SendStep::Call(request)) => PreparedSend::Call(Box::new(ProviderCall {
            plugin,
            send,
            request,
        })),
        Ok(SendStep::Answer(answer)) => {
            let made = Made {
                plugin,
                send,
                response: None,
            };
            Attempt::without_a_call(masked(answer, live), Some(made))
        }
        Err(error) => {
            if error.is_fault() {
                tracing::warn!(message_id = %outgoing.message, plugin = %plugin.description.name, digest = plugin.digest.short(), %error, "adapter failed, retrying the message later");
            }
            let why = plugin_log::message(&error, &live.secrets);
            let reason = format!("the adapter returned no request: {why}");
            let answer = not_sent(Category::Transient, "adapter", reason);
            Attempt::without_a_call(answer, None)
        }
    }
}

/// Makes the call, unless the lease has ended right before its first byte.
pub async fn call(pipeline: &Pipeline, outgoing: &Outgoing, mut call: ProviderCall) -> Attempt {
    let live = &outgoing.live;
    let budget = outgoing.candidate_budget();
    let started = Instant::now();
    let mut response = make(pipeline, outgoing, &call.request).await;
    let first = Arc::clone(&call.plugin);
    let mut refused = None;
    let instead = match &response {
        // Nothing was sent: the request of the stable version may be one that is accepted.
        Ok(response) if is_refusal(response.status) => {
            let asked = (&call.plugin, &call.send, &*call.request);
            let after = sends::after_refusal(pipeline, live, asked, response, budget);
            let after = Box::pin(after).await;
            after.map(|(stable, request, why)| {
                refused = Some(why);
                (stable, request)
            })
        }
        // Nothing went out: the request of the stable version may be one that can be made.
        Err(error) if is_the_requests(error) => {
            // It may quote the request.
            let why = Reason::Plugin(error.to_string());
            Box::pin(sends::instead(
                pipeline,
                live,
                &call.plugin,
                &call.send,
                why,
            ))
            .await
        }
        _ => None,
    };
    if let Some((stable, request)) = instead {
        (call.plugin, call.request) = (stable, request);
        response = make(pipeline, outgoing, &call.request).await;
    }
    let took = started.elapsed();
    pipeline.metrics.messaging.provider(took);
    let mut made = Made {
        plugin: call.plugin,
        send: call.send,
        response: None,
    };
    let response = match response {
        Ok(response) => response,
        Err(error) => {
            // No server answered the request, which was made as the version asked.
            sends::counted(pipeline, &made.plugin, true);
            return Attempt {
                answer: after_egress(&error, live),
                took,
                made: Some(made),
            };
        }
    };
    let status = response.status;
    made.response = masked_answer(&response, live);
    let read = sends::read(pipeline, live, &made.plugin, &made.send, (response, budget)).await;
    let answer = match read {
        Ok(answer) => masked(answer, live),
        Err(error) => {
            tracing::warn!(message_id = %outgoing.message, plugin = %made.plugin.description.name, digest = made.plugin.digest.short(), %error, "adapter could not read the provider's answer");
            let why = plugin_log::message(&error, &live.secrets);
            SendAnswer::Unknown(format!(
                "the provider answered with status {status}, and the adapter could not read it: {why}"
            ))
        }
    };
    if let Some(why) = refused {
        let is_refused_to_both = matches!(answer, SendAnswer::Refused(_));
        sends::counted(pipeline, &first, is_refused_to_both);
        if !is_refused_to_both {
            sends::failed(pipeline, live, &first, &made.send, why);
        }
    }
    Attempt {
        answer,
        took,
        made: Some(made),
    }
}

async fn make(
    pipeline: &Pipeline,
    outgoing: &Outgoing,
    request: &HttpRequest,
) -> Result<HttpResponse, EgressError> {
    let live = &outgoing.live;
    let sending = pipeline
        .egress
        .call_once(request, &live.secrets, &live.connection.allow, || {
            !outgoing.held.has_ended()
        });
    pipeline.metrics.egress.sending(sending).await
}

/// Returns whether a provider that answers with this status has sent nothing. A timeout, a conflict
/// with an earlier request, and requests that come too early or too often do not say that.
fn is_refusal(status: u16) -> bool {
    (400..500).contains(&status) && ![408, 409, 425, 429].contains(&status)
}

/// Returns whether the request itself could not be made, so that another one might.
fn is_the_requests(error: &EgressError) -> bool {
    matches!(
        error,
        EgressError::Malformed(_)
            | EgressError::NotAllowed { .. }
            | EgressError::NotPublic { .. }
            | EgressError::Slot(_)
    )
}

/// Returns an answer without the instance's secrets, if it is short enough to be kept.
fn masked_answer(response: &HttpResponse, live: &Live) -> Option<HttpResponse> {
    let is_short = response.body.len() <= limits::COMPARED_ANSWER_BYTES;
    is_short.then(|| mask::response(response.clone(), &live.secrets))
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
        SendAnswer::Refused(refused) => SendAnswer::Refused(RefusedSend {
            category: refused.category,
            code: mask(refused.code),
            title: mask(refused.title),
            text: mask(refused.text),
            details: mask(refused.details),
            retry_after: refused.retry_after,
        }),
        SendAnswer::Unknown(reason) => SendAnswer::Unknown(mask(reason)),
        SendAnswer::Accepted(accepted) => SendAnswer::Accepted(AcceptedSend {
            status: mask(accepted.status),
            ..accepted
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_definite_status_is_a_refusal() {
        let check = |status: u16, expect: bool| assert_eq!(is_refusal(status), expect, "{status}");
        for status in [400, 401, 403, 404, 422] {
            check(status, true);
        }
        for status in [200, 202, 302, 408, 409, 425, 429, 500, 502, 504] {
            check(status, false);
        }
    }
}
