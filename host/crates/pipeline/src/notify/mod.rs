//! Notifications: a partner sends a contact a template message, with one commit, one call and one
//! answer.
//!
//! The caller runs this in its own task, so that nothing is lost if the partner disconnects. The
//! contact, the conversation and the message are in the store before the provider is called. The
//! outcome is in the store before the partner is answered, unless the call takes longer than a
//! partner waits. With an idempotency key, a repeated request gets a replayed answer and sends
//! nothing.

mod answer;

pub use answer::NotificationResult;

use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::oneshot;

use self::answer::answer_of;
use super::connections::accepting;
use super::lease::LeaseDeadline;
use super::send::{self, outgoing::Outgoing};
use super::templates::{self, Composed, Misfit, TemplateError, requested::TemplateUse};
use crate::prelude::*;
use leadhost_domain::contact;
use leadhost_domain::message::MessageState;
use leadhost_domain::phone::Phone;
use leadhost_store::{
    Channel, IdempotencyClaim, Lease, NewMessage, NewStoredAnswer, Notification,
    NotificationDetails, Notified, StoredAnswer,
};
use leadhost_telemetry as telemetry;
use leadhost_trace as trace;

/// Words an outcome as the answer that the partner gets and repeats get.
pub type Wording = fn(&NotificationResult) -> StoredAnswer;

pub struct Request {
    pub by: PartnerId,
    pub live: Arc<Live>,
    pub channel: Channel,
    pub phone: Phone,
    pub details: NotificationDetails,
    pub template: TemplateUse,
    pub claim: Option<IdempotencyClaim>,
    pub received: Instant,
    /// Words the answer, which is stored under the idempotency key.
    pub word: Wording,
}

#[derive(Debug)]
pub enum NotifyOutcome {
    Answer {
        answer: StoredAnswer,
        /// It is the answer to an earlier request with the same key.
        replayed: bool,
    },
    /// The template takes other parameters; nothing was stored.
    Misfit(Vec<Misfit>),
    /// The contact has opted out or was banned; nothing was stored.
    Banned,
    KeyReused,
    /// The first request with the key is still in progress.
    Running,
}

#[leadhost_boxed::boxed]
pub async fn notify(
    pipeline: &Arc<Pipeline>,
    request: Request,
) -> Result<NotifyOutcome, StoreError> {
    let composing = templates::prepare(pipeline, &request.live, &request.template);
    let composed = match trace::step("compose message", composing).await? {
        Ok(composed) => composed,
        Err(TemplateError::Misfit(misfits)) => {
            // The template may have changed since the first request with this key.
            if let Some(outcome) = find_or_store_answer(pipeline, &request, None).await? {
                return Ok(outcome);
            }
            pipeline
                .metrics
                .messaging
                .notification(telemetry::NotificationOutcome::Misfit);
            return Ok(NotifyOutcome::Misfit(misfits));
        }
        Err(error) => {
            pipeline
                .metrics
                .messaging
                .notification(telemetry::NotificationOutcome::Template);
            let answer = NotificationResult::Template(error.code(), error.to_string());
            return without_a_message(pipeline, &request, &answer).await;
        }
    };
    store(pipeline, request, composed).await
}

/// Answers a request whose template cannot be used. Only the answer is stored, under the
/// request's key.
async fn without_a_message(
    pipeline: &Pipeline,
    request: &Request,
    answer: &NotificationResult,
) -> Result<NotifyOutcome, StoreError> {
    let stored = (request.word)(answer);
    let before = find_or_store_answer(pipeline, request, Some(stored.clone())).await?;
    Ok(before.unwrap_or(NotifyOutcome::Answer {
        answer: stored,
        replayed: false,
    }))
}

/// Returns the answer to an earlier request with the same key. If there is none, stores this
/// answer under the key.
async fn find_or_store_answer(
    pipeline: &Pipeline,
    request: &Request,
    answer: Option<StoredAnswer>,
) -> Result<Option<NotifyOutcome>, StoreError> {
    let Some(claim) = request.claim.clone() else {
        return Ok(None);
    };
    let write = Write::Remember(Box::new(NewStoredAnswer { claim, answer }));
    Ok(match pipeline.writer.submit(write).await? {
        WriteOutcome::Remembered(Some(found)) => again(pipeline, found, request.word),
        _ => None,
    })
}

async fn store(
    pipeline: &Arc<Pipeline>,
    request: Request,
    composed: Composed,
) -> Result<NotifyOutcome, StoreError> {
    let now = pipeline.clock.now();
    let live = Arc::clone(&request.live);
    let message = composed.into_message(&live.connection.settings, now);
    let connection = &live.connection;
    let span = accepting(message.id, &connection.plugin, &connection.name);
    let stored = store_message(pipeline, request, live, message);
    span.run(stored).await
}

async fn store_message(
    pipeline: &Arc<Pipeline>,
    request: Request,
    live: Arc<Live>,
    message: NewMessage,
) -> Result<NotifyOutcome, StoreError> {
    let now = pipeline.clock.now();
    let (payload, until) = (message.payload.clone(), message.until);
    let template = message.template.name.clone();
    let emails: Vec<String> = request.details.email.iter().cloned().collect();
    let contact_keys = contact::keys(std::slice::from_ref(&request.phone), &emails);
    // Starts before the store answers, so that the lease ends here no later than in the store.
    let held = LeaseDeadline::lasting(pipeline.config.worker.lease());
    let can_send = live.connection.paused.is_none()
        && pipeline.plugins.active(&live.connection.plugin).is_some();
    let key = request.claim.as_ref().map(|claim| claim.key.clone());
    let notification = Notification {
        by: request.by,
        channel: request.channel.clone(),
        message,
        details: request.details,
        phone: request.phone,
        contact_keys,
        deal: None,
        idempotency: request.claim,
        lease_until: can_send.then(|| now.plus(pipeline.config.worker.lease())),
    };
    let write = Write::Notify(Box::new(notification));
    let found = match pipeline.writer.submit(write).await? {
        WriteOutcome::Notified(found) => found,
        other => {
            return Err(StoreError::Inconsistent {
                what: format!("a notification was answered with {other:?}"),
            });
        }
    };
    let Notified::Stored {
        conversation,
        contact,
        message,
        recipient,
        state,
    } = found
    else {
        return Ok(again(pipeline, found, request.word).unwrap_or(NotifyOutcome::Running));
    };
    let stored = Stored {
        conversation,
        message,
        word: request.word,
    };
    if state != MessageState::Sending {
        pipeline
            .metrics
            .messaging
            .notification(telemetry::NotificationOutcome::Waiting);
        pipeline.wake();
        return Ok(stored.in_state(state));
    }
    let outgoing = Outgoing {
        channel: request.channel,
        message,
        conversation,
        contact,
        recipient,
        payload,
        attempts: 0,
        until,
        lease: Lease(0),
        held,
        live,
        is_awaited: true,
    };
    let call = InlineSend {
        outgoing,
        template,
        key,
        received: request.received,
    };
    Ok(send_at_once(pipeline, stored, call).await)
}

#[derive(Clone, Copy)]
struct Stored {
    conversation: ConversationId,
    message: MessageId,
    word: Wording,
}

impl Stored {
    fn in_state(self, state: MessageState) -> NotifyOutcome {
        let answer = NotificationResult::Taken {
            conversation: self.conversation,
            message: self.message,
            state,
        };
        NotifyOutcome::Answer {
            answer: (self.word)(&answer),
            replayed: false,
        }
    }
}

struct InlineSend {
    outgoing: Outgoing,
    template: String,
    key: Option<leadhost_store::IdempotencyKey>,
    received: Instant,
}

/// Sends a message and returns the answer for the partner: after the provider's answer, or when
/// the partner has waited `messages.answer_seconds`. In the second case the send continues.
async fn send_at_once(pipeline: &Arc<Pipeline>, stored: Stored, call: InlineSend) -> NotifyOutcome {
    let patience = pipeline.config.messages.answer_time();
    let deadline = call.received + patience;
    // The side that sets it first decides the partner's answer.
    let is_answered = Arc::new(AtomicBool::new(false));
    let (sender, receiver) = oneshot::channel();
    let task = {
        let (pipeline, is_answered) = (Arc::clone(pipeline), Arc::clone(&is_answered));
        async move {
            let answer = send_and_settle(&pipeline, &call, stored.word, &is_answered).await;
            // This fails if the partner was answered already.
            let _ = sender.send(answer);
        }
    };
    drop(pipeline.spawn(task));
    let mut receiver = std::pin::pin!(receiver);
    let late = tokio::time::timeout_at(deadline.into(), receiver.as_mut()).await;
    let answer = match late {
        Ok(answer) => answer.ok(),
        Err(_) if is_answered.swap(true, Ordering::SeqCst) => receiver.await.ok(),
        Err(_) => None,
    };
    match answer {
        Some(answer) => NotifyOutcome::Answer {
            answer,
            replayed: false,
        },
        None => {
            pipeline
                .metrics
                .messaging
                .notification(telemetry::NotificationOutcome::Late);
            stored.in_state(MessageState::Sending)
        }
    }
}

async fn send_and_settle(
    pipeline: &Arc<Pipeline>,
    call: &InlineSend,
    word: Wording,
    is_answered: &AtomicBool,
) -> StoredAnswer {
    let outgoing = &call.outgoing;
    let attempt = send::at_once(pipeline, outgoing).await;
    let provider = attempt.took;
    let waits = !is_answered.swap(true, Ordering::SeqCst);
    let answer = if waits {
        answer_of(outgoing, &call.template, &attempt.answer)
    } else {
        // The partner was answered with this state.
        NotificationResult::Taken {
            conversation: outgoing.conversation,
            message: outgoing.message,
            state: MessageState::Sending,
        }
    };
    let kept = call.key.clone().map(|key| (key, word(&answer)));
    let settled = send::settle(pipeline, outgoing, attempt, kept).await;
    let answer = match answer {
        // The lease was lost, and its next holder cannot know that nothing was sent.
        NotificationResult::Taken {
            conversation,
            message,
            state: MessageState::Waiting,
        } if settled.is_none() => NotificationResult::Taken {
            conversation,
            message,
            state: MessageState::Unknown,
        },
        answer => answer,
    };
    if waits {
        pipeline.metrics.messaging.notification(answer.outcome());
        let host = call.received.elapsed().saturating_sub(provider);
        pipeline.metrics.messaging.notified(host);
    }
    word(&answer)
}

fn again(pipeline: &Pipeline, found: Notified, word: Wording) -> Option<NotifyOutcome> {
    let (answer, outcome) = match found {
        Notified::Stored { .. } => return None,
        Notified::Banned => (
            NotifyOutcome::Banned,
            telemetry::NotificationOutcome::Banned,
        ),
        Notified::KeyReused => (
            NotifyOutcome::KeyReused,
            telemetry::NotificationOutcome::KeyReused,
        ),
        Notified::Replayed(answer) => {
            let replayed = true;
            (
                NotifyOutcome::Answer { answer, replayed },
                telemetry::NotificationOutcome::Replayed,
            )
        }
        Notified::Running {
            conversation: Some(conversation),
            message: Some(message),
            state,
            alive: false,
        } => {
            // The host of the first request is gone: the answer follows from the message's state.
            let answer = word(&NotificationResult::from_state(
                conversation,
                message,
                state,
            ));
            let replayed = true;
            (
                NotifyOutcome::Answer { answer, replayed },
                telemetry::NotificationOutcome::Replayed,
            )
        }
        Notified::Running { .. } => (
            NotifyOutcome::Running,
            telemetry::NotificationOutcome::Running,
        ),
    };
    pipeline.metrics.messaging.notification(outcome);
    Some(answer)
}
