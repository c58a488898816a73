//! Sending a message: the adapter composes the call, the host makes it, the adapter reads the
//! answer, and the outcome is stored.
//!
//! The state `sending` is committed before the first byte of a call, and the host checks its
//! lease again right before that byte. A send that fails before the call is retried. If it fails
//! after the call has begun, its outcome is unknown, and the service never sends the message
//! again automatically. If the adapter itself fails before the call, the message is kept and retried,
//! since only an operator can correct that fault.

mod attempt;
pub mod outgoing;
mod settle;
mod template_send;

pub(super) use attempt::Attempt;
pub(super) use settle::{settle, state_after};

use self::attempt::PreparedSend;
use self::outgoing::Outgoing;
use super::connections::describe_message;
use super::lease::LeaseDeadline;
use crate::prelude::*;
use leadhost_domain::channel::SendAnswer;
use leadhost_store::{HeldSend, MessageOutcome, SendOutcome, SendStart};
use leadhost_trace::{self as trace, Span, SpanKind, StepFailure, StepOutcome};

pub(super) async fn at_once(pipeline: &Pipeline, outgoing: &Outgoing) -> Attempt {
    let span = send_span(outgoing);
    let sending = async {
        match attempt::prepare(pipeline, outgoing).await {
            PreparedSend::Answer(attempt) => *attempt,
            PreparedSend::Call(call) => attempt::call(pipeline, outgoing, *call).await,
        }
    };
    let attempt = span.run(sending).await;
    note_answer(&span, &attempt);
    attempt
}

/// Begins the span of an attempt. It names the instance and the message, and no recipient.
fn send_span(outgoing: &Outgoing) -> Span {
    let span = trace::span("send message", SpanKind::Producer);
    let connection = &outgoing.live.connection;
    let names = (&*connection.plugin, &*connection.name);
    describe_message(&span, outgoing.message, names, "send");
    span
}

/// Notes the result of an attempt. The provider's own words are left out: they may name people.
fn note_answer(span: &Span, attempt: &Attempt) {
    match &attempt.answer {
        SendAnswer::Accepted(_) => span.set("leadhost.send.outcome", StepOutcome::Accepted),
        SendAnswer::Refused(refused) => span.fail(refused.category.as_str()),
        SendAnswer::Unknown(_) => span.fail(StepFailure::Unknown),
    }
}

/// Sends a waiting message that the worker has claimed.
pub async fn run(pipeline: &Arc<Pipeline>, held: HeldSend, lease: LeaseDeadline) {
    let finding = pipeline.connections.get(&held.connection);
    let live = match trace::step("find instance", finding).await {
        Ok(live) => live,
        Err(error) => {
            tracing::warn!(message_id = %held.message, %error, "instance not read, message waits");
            return;
        }
    };
    let Some((live, channel)) = live.and_then(|live| {
        let channel = live.channel()?;
        Some((live, channel))
    }) else {
        tracing::warn!(message_id = %held.message, "instance has no channel any more, message waits");
        return;
    };
    let outgoing = Outgoing {
        live,
        channel,
        message: held.message,
        conversation: held.conversation,
        contact: held.contact,
        recipient: held.recipient.clone(),
        payload: held.payload.clone(),
        attempts: held.attempts,
        until: held.until,
        lease: held.lease,
        held: lease,
        is_awaited: false,
    };
    if let Some(outcome) = without_a_call(&held, pipeline.clock.now()) {
        settle::as_it_is(pipeline, &outgoing, outcome).await;
        return;
    }
    let span = send_span(&outgoing);
    let sending = async {
        Some(match attempt::prepare(pipeline, &outgoing).await {
            PreparedSend::Answer(attempt) => *attempt,
            PreparedSend::Call(call) => {
                if !begin(pipeline, &outgoing).await {
                    return None;
                }
                attempt::call(pipeline, &outgoing, *call).await
            }
        })
    };
    let Some(attempt) = span.run(sending).await else {
        span.fail(StepFailure::NotBegun);
        return;
    };
    note_answer(&span, &attempt);
    drop(span);
    settle(pipeline, &outgoing, attempt, None).await;
}

fn without_a_call(held: &HeldSend, now: Micros) -> Option<SendOutcome> {
    if held.was_sending {
        let reason = "the host that was sending the message stopped during the call".to_owned();
        return Some(SendOutcome::Unknown { reason });
    }
    if held.is_banned {
        return Some(SendOutcome::Refused(settle::opted_out()));
    }
    if now >= held.until {
        return Some(SendOutcome::Refused(settle::expired(held)));
    }
    let held_until = held.held_until.filter(|until| *until > now)?;
    let at = held_until.min(held.until);
    Some(SendOutcome::Held { at })
}

/// Commits that the call is about to be made, so that no other host makes it. Returns false if
/// the lease was lost, the call is not to be made any more, or the commit failed.
async fn begin(pipeline: &Pipeline, outgoing: &Outgoing) -> bool {
    let start = SendStart {
        workspace: outgoing.channel.workspace,
        message: outgoing.message,
        lease: outgoing.lease,
    };
    match pipeline.writer.submit_background(Write::Begin(start)).await {
        Ok(WriteOutcome::Message(MessageOutcome { state, .. })) => {
            state == leadhost_domain::message::MessageState::Sending
        }
        Ok(_) => {
            tracing::debug!(message_id = %outgoing.message, "lease lost, message not sent by this host");
            false
        }
        Err(error) => {
            if !error.is_logged() {
                tracing::warn!(message_id = %outgoing.message, %error, "send not started, retrying after the lease expires");
            }
            false
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use leadhost_store::Lease;

    fn held() -> HeldSend {
        let now = Micros(0);
        HeldSend {
            lease: Lease(1),
            workspace: WorkspaceId::new(now),
            message: MessageId::new(now),
            conversation: ConversationId::new(now),
            contact: ContactId::random(),
            connection: ConnectionId::generate(),
            recipient: "+5511900000001".to_owned(),
            payload: "{}".to_owned(),
            attempts: 0,
            until: Micros(100),
            was_sending: false,
            held_until: None,
            is_banned: false,
        }
    }

    #[test]
    fn an_expired_held_or_interrupted_send_makes_no_call() {
        let check = |held: HeldSend, now: i64, expect: &str| {
            let found = match without_a_call(&held, Micros(now)) {
                None => "call".to_owned(),
                Some(SendOutcome::Unknown { .. }) => "unknown".to_owned(),
                Some(SendOutcome::Refused(error)) => error.code,
                Some(SendOutcome::Held { at }) => format!("held {}", at.0),
                Some(other) => panic!("{other:?}"),
            };
            assert_eq!(found, expect);
        };
        check(held(), 99, "call");
        check(held(), 100, "expired");
        let until = |until: i64| HeldSend {
            held_until: Some(Micros(until)),
            ..held()
        };
        check(until(50), 49, "held 50");
        check(until(50), 50, "call");
        check(until(500), 49, "held 100");
        let banned = HeldSend {
            is_banned: true,
            ..until(500)
        };
        check(banned.clone(), 49, "opted-out");
        let cut_off = HeldSend {
            was_sending: true,
            ..banned
        };
        check(cut_off, 1_000, "unknown");
    }
}
