//! A message goes out: the adapter composes the call, the host makes it, the
//! adapter reads the answer, and what came of it is written down.
//!
//! The rules inside. A message is committed as being sent before its first byte
//! goes out, and the host looks at its lease once more just before that byte.
//! What fails before the call is tried again; of what fails after it nobody
//! knows the outcome, and it is never sent again by itself. An adapter's fault
//! is nobody's but the operator's: the message is kept.

mod attempt;
mod settle;

pub(super) use settle::{settle, state_after};

use std::sync::Arc;
use std::time::Duration;

use self::attempt::Prepared;
use super::connections::Live;
use super::held::Held;
use crate::domain::channel::{Category, Refused, SendAnswer};
use crate::domain::id::{ContactId, ConversationId, MessageId};
use crate::domain::time::Micros;
use crate::limits;
use crate::pipeline::state::Pipeline;
use crate::store::{
    Channel, HeldSend, Lease, MessageOutcome, SendOutcome, SendStart, Write, Written,
};

/// A message in hand, whoever sends it: the request that brought it, or the worker.
pub(super) struct Outgoing {
    pub live: Arc<Live>,
    pub channel: Channel,
    pub message: MessageId,
    pub conversation: ConversationId,
    pub contact: ContactId,
    pub recipient: String,
    pub payload: String,
    /// Before this one.
    pub attempts: u32,
    pub until: Micros,
    pub lease: Lease,
    pub held: Held,
}

/// Sends a message that the store has as being sent already, and gives what the
/// provider said, with the time that it took to say it.
pub(super) async fn at_once(pipeline: &Pipeline, outgoing: &Outgoing) -> (SendAnswer, Duration) {
    match attempt::prepare(pipeline, outgoing).await {
        Prepared::Answer(answer) => (answer, Duration::ZERO),
        Prepared::Call(call) => attempt::call(pipeline, outgoing, *call).await,
    }
}

/// The worker's way of a message that waits.
pub async fn run(pipeline: &Arc<Pipeline>, held: HeldSend, lease: Held) {
    let live = match pipeline.connections.get(&held.connection).await {
        Ok(live) => live,
        Err(error) => {
            tracing::warn!(message = %held.message, %error, "the message waits: its instance cannot be read");
            return;
        }
    };
    let Some((live, channel)) = live.and_then(|live| {
        let channel = live.channel()?;
        Some((live, channel))
    }) else {
        tracing::warn!(message = %held.message, "the message waits: its instance has no channel any more");
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
    };
    if let Some(outcome) = without_a_call(&held, pipeline.core.clock.now()) {
        settle::as_it_is(pipeline, &outgoing, outcome).await;
        return;
    }
    let answer = match attempt::prepare(pipeline, &outgoing).await {
        Prepared::Answer(answer) => answer,
        Prepared::Call(call) => {
            if !begin(pipeline, &outgoing).await {
                return;
            }
            attempt::call(pipeline, &outgoing, *call).await.0
        }
    };
    settle(pipeline, &outgoing, &answer, None).await;
}

/// What is known of a claimed message before anybody is asked.
fn without_a_call(held: &HeldSend, now: Micros) -> Option<SendOutcome> {
    if held.was_sending {
        let reason = "the host that was sending it stopped in the middle of the call".to_owned();
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

/// From here on nobody else makes the call. False: somebody else has it, or it
/// is not to be made any more.
async fn begin(pipeline: &Pipeline, outgoing: &Outgoing) -> bool {
    let start = SendStart {
        workspace: outgoing.channel.workspace,
        message: outgoing.message,
        lease: outgoing.lease,
    };
    match pipeline
        .core
        .writer
        .submit_background(Write::Begin(start))
        .await
    {
        Ok(Written::Message(MessageOutcome { state, .. })) => {
            state == crate::domain::message::State::Sending
        }
        Ok(_) => {
            tracing::debug!(message = %outgoing.message, "somebody else has the message by now");
            false
        }
        Err(error) => {
            if !error.is_told() {
                tracing::warn!(message = %outgoing.message, %error, "the message cannot be begun; it is taken up again when its lease ends");
            }
            false
        }
    }
}

/// A refusal by the host itself, before anything went out.
fn not_sent(category: Category, code: &str, reason: String) -> SendAnswer {
    SendAnswer::Refused(Refused {
        category,
        code: code.to_owned(),
        title: "Not sent".to_owned(),
        text: reason,
        details: String::new(),
        retry_after_seconds: None,
    })
}

/// When a message goes out again that could not: the provider's word counts
/// when it asks for more patience, up to a bound.
fn next(pipeline: &Pipeline, outgoing: &Outgoing, retry_after: Option<u32>) -> Micros {
    let asked = retry_after.map_or(0, i64::from);
    let messages = &pipeline.core.config.messages;
    let backoff = crate::pipeline::backoff::doubled(
        messages.backoff_first_seconds,
        messages.backoff_longest_seconds,
        outgoing.attempts + 1,
    );
    let seconds = backoff.max(asked).min(limits::HOLD_LONGEST_SECONDS);
    pipeline.core.clock.now().plus_seconds(seconds)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::id::{ConnectionId, WorkspaceId};

    fn held() -> HeldSend {
        let now = Micros(0);
        HeldSend {
            lease: Lease(1),
            workspace: WorkspaceId::new(now),
            message: MessageId::new(now),
            conversation: ConversationId::new(now),
            contact: ContactId::new(now),
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
    fn what_is_late_held_or_was_cut_off_makes_no_call() {
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
