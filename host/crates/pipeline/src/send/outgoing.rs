//! A message that is being sent, and its next attempt.

use super::super::lease::LeaseDeadline;
use crate::prelude::*;
use leadhost_domain::channel::{Category, RefusedSend, SendAnswer};
use leadhost_store::{Channel, Lease};

pub struct Outgoing {
    pub live: Arc<Live>,
    pub channel: Channel,
    pub message: MessageId,
    pub conversation: ConversationId,
    pub contact: ContactId,
    pub recipient: String,
    pub payload: String,
    pub attempts: u32,
    pub until: Micros,
    pub lease: Lease,
    pub held: LeaseDeadline,
    /// Whether a request waits for it.
    pub is_awaited: bool,
}

impl Outgoing {
    /// Returns the budget of the candidate of a rollout: short while a request waits, because the stable
    /// version may have to take over within its time.
    pub fn candidate_budget(&self) -> CallBudget {
        if self.is_awaited {
            CallBudget::Brief
        } else {
            CallBudget::Worker
        }
    }
}

/// Returns a refusal by the host itself, before anything was sent.
pub fn not_sent(category: Category, code: &str, reason: String) -> SendAnswer {
    SendAnswer::Refused(RefusedSend {
        category,
        code: code.to_owned(),
        title: "Not sent".to_owned(),
        text: reason,
        details: String::new(),
        retry_after: None,
    })
}

/// Returns the time of the next attempt: after the backoff, or after the provider's retry-after
/// if that is longer, up to a bound.
pub fn next(pipeline: &Pipeline, outgoing: &Outgoing, retry_after: Option<Duration>) -> Micros {
    let asked = retry_after.unwrap_or_default();
    let messages = &pipeline.config.messages;
    let backoff = crate::backoff::doubled(
        messages.backoff_first(),
        messages.backoff_longest(),
        outgoing.attempts + 1,
    );
    let wait = backoff.max(asked).min(limits::HOLD_LONGEST);
    pipeline.clock.now().plus(wait)
}
