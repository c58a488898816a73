//! Settling a send: the provider's answer becomes the outcome that is stored. The category of a
//! refusal decides whether the message fails, waits with others, or pauses its instance. Storing
//! the outcome is retried for as long as this host holds the message's lease.

use super::{
    Attempt,
    outgoing::{Outgoing, next},
};
use crate::prelude::*;
use crate::rollout::sends;
use crate::rollout::state::SentSend;
use crate::templates;
use leadhost_domain::channel::{
    AcceptedSend, AcceptedStage, AttemptOutcome, Category, ChannelError, RefusedSend, SendAnswer,
};
use leadhost_domain::connection::{ACCOUNT_ROUTE, ConnectionPause};
use leadhost_domain::contact;
use leadhost_domain::message::{MessageProgress, MessageState};
use leadhost_plugin::WatchedSend;
use leadhost_store::{
    HeldSend, IdempotencyKey, MessageOutcome, SendHold, SendOutcome, SendSettlement, StoredAnswer,
};

pub fn state_after(answer: &SendAnswer) -> MessageState {
    match answer {
        SendAnswer::Accepted(accepted) => match accepted.stage() {
            AcceptedStage::Accepted | AcceptedStage::Other(_) => MessageState::Accepted,
            AcceptedStage::Sent => MessageState::Sent,
            AcceptedStage::Delivered => MessageState::Delivered,
        },
        SendAnswer::Refused(refused) if refused.category.is_retryable() => MessageState::Waiting,
        SendAnswer::Refused(_) => MessageState::Failed,
        SendAnswer::Unknown(_) => MessageState::Unknown,
    }
}

pub fn expired(held: &HeldSend) -> ChannelError {
    ChannelError {
        code: "expired".to_owned(),
        title: "Expired".to_owned(),
        description: format!(
            "The message could not be sent in time, after {} attempt(s)",
            held.attempts
        ),
        details: String::new(),
        category: Category::Expired,
    }
}

pub fn opted_out() -> ChannelError {
    ChannelError {
        code: "opted-out".to_owned(),
        title: "Opted out".to_owned(),
        description: "The contact does not want to receive messages".to_owned(),
        details: String::new(),
        category: Category::OptOut,
    }
}

/// Stores the outcome of a send, with the holds and the pause that follow from it. `answer` is
/// stored for repeats of the request that brought the message.
pub async fn settle(
    pipeline: &Arc<Pipeline>,
    outgoing: &Outgoing,
    attempt: Attempt,
    answer: Option<(IdempotencyKey, StoredAnswer)>,
) -> Option<MessageOutcome> {
    let now = pipeline.clock.now();
    let said = &attempt.answer;
    let mut settlement = settlement(outgoing, outcome(pipeline, outgoing, said, now));
    if let SendAnswer::Accepted(accepted) = said {
        let channel = &outgoing.channel.channel;
        settlement.further_keys = contact::further_keys(channel, &accepted.further_ids);
    }
    if let SendAnswer::Refused(refused) = said {
        settlement.holds = holds(pipeline, outgoing, refused, &settlement.outcome).await;
        settlement.pause = pause(refused, now);
        if matches!(
            refused.category,
            Category::Template | Category::UnknownTemplate
        ) {
            templates::doubt(pipeline, &outgoing.live);
        }
    }
    settlement.answer = answer;
    let version = attempt.made.as_ref().map(|made| &made.plugin);
    settlement.ran = version.map(|plugin| plugin.ran_with(outgoing.live.connection.config_version));
    pipeline.metrics.messaging.send(attempt_outcome(said));
    log_outcome(outgoing, said);
    // Read before the write: after it, the instance is paused in any case. Among many concurrent
    // failures, those that find it paused log nothing.
    let pauses_first = settlement.pause.is_some() && {
        let known = pipeline.connections.get(&outgoing.channel.connection);
        !matches!(known.await, Ok(Some(live)) if live.connection.paused.is_some())
    };
    let pauses = settlement.pause.is_some();
    pipeline
        .plugins
        .tell_send(|| watched(outgoing, &attempt, &settlement, now));
    let settled = write(pipeline, outgoing, settlement).await;
    if pauses && settled.is_some() {
        pipeline.connections.forget();
        if pauses_first {
            // The provider's text may name people: it is stored with the instance, not logged.
            let connection = &outgoing.live.connection;
            tracing::error!(instance = %connection.name, adapter = %connection.plugin, category = attempt_outcome(said).as_str(), code = code(said), "instance paused: its messages wait until it is resumed or they expire; `leadhost instance show` shows the provider's reason");
        }
    }
    if let Some(made) = attempt.made
        && settled.is_some()
    {
        let sent = SentSend {
            message: outgoing.message,
            connection: outgoing.channel.connection.clone(),
            send: made.send,
            response: made.response,
        };
        sends::answered(pipeline, &made.plugin.description.name, sent);
    }
    settled
}

fn watched(
    outgoing: &Outgoing,
    attempt: &Attempt,
    settlement: &SendSettlement,
    now: Micros,
) -> WatchedSend {
    let is_paused = settlement.pause.is_some();
    let made = attempt.made.as_ref();
    WatchedSend {
        plugin: outgoing.live.connection.plugin.clone(),
        took: attempt.took,
        response: made.and_then(|made| made.response.clone()),
        answer: attempt.answer.clone(),
        next: match &settlement.outcome {
            SendOutcome::Later { at, .. } if !is_paused => Some(at.since(now)),
            _ => None,
        },
        is_paused,
    }
}

pub async fn as_it_is(pipeline: &Pipeline, outgoing: &Outgoing, outcome: SendOutcome) {
    match &outcome {
        SendOutcome::Unknown { reason } => {
            pipeline.metrics.messaging.send(AttemptOutcome::Unknown);
            tracing::warn!(message_id = %outgoing.message, reason, "message outcome unknown");
        }
        SendOutcome::Refused(error) => {
            pipeline
                .metrics
                .messaging
                .send(AttemptOutcome::Refused(error.category));
            tracing::warn!(message_id = %outgoing.message, category = error.category.as_str(), "message given up");
        }
        SendOutcome::Accepted { .. } | SendOutcome::Later { .. } | SendOutcome::Held { .. } => {}
    }
    write(pipeline, outgoing, settlement(outgoing, outcome)).await;
}

fn settlement(outgoing: &Outgoing, outcome: SendOutcome) -> SendSettlement {
    SendSettlement {
        channel: outgoing.channel.clone(),
        message: outgoing.message,
        lease: outgoing.lease,
        outcome,
        further_keys: Vec::new(),
        ran: None,
        holds: Vec::new(),
        pause: None,
        answer: None,
    }
}

fn outcome(
    pipeline: &Pipeline,
    outgoing: &Outgoing,
    said: &SendAnswer,
    now: Micros,
) -> SendOutcome {
    match said {
        SendAnswer::Accepted(accepted) => SendOutcome::Accepted {
            external_ids: accepted.external_ids.clone(),
            recipient_id: accepted.recipient_id.clone(),
            progress: progress(accepted, now),
            word: own_word(accepted),
        },
        SendAnswer::Refused(refused) => {
            let error = error_of(refused);
            if !refused.category.is_retryable() {
                return SendOutcome::Refused(error);
            }
            let at = match refused.category {
                // It is due at once when an operator resumes the instance.
                Category::Account | Category::Connection => now,
                _ => next(pipeline, outgoing, refused.retry_after),
            };
            // If it expires before its next attempt, it is due when it expires.
            let at = at.min(outgoing.until);
            SendOutcome::Later { at, error }
        }
        SendAnswer::Unknown(reason) => SendOutcome::Unknown {
            reason: reason.clone(),
        },
    }
}

fn progress(accepted: &AcceptedSend, now: Micros) -> MessageProgress {
    let (sent, delivered) = match accepted.stage() {
        AcceptedStage::Accepted | AcceptedStage::Other(_) => (false, false),
        AcceptedStage::Sent => (true, false),
        AcceptedStage::Delivered => (true, true),
    };
    MessageProgress {
        accepted_at: Some(now),
        sent_at: sent.then_some(now),
        delivered_at: delivered.then_some(now),
        ..MessageProgress::default()
    }
}

/// Returns the status to store beside the state: `held`, or the provider's own word. `None` if the
/// state says it already.
fn own_word(accepted: &AcceptedSend) -> Option<String> {
    match accepted.stage() {
        AcceptedStage::Accepted | AcceptedStage::Sent | AcceptedStage::Delivered => None,
        AcceptedStage::Other(word) => Some(word.to_owned()),
    }
}

fn error_of(refused: &RefusedSend) -> ChannelError {
    ChannelError {
        code: refused.category.code(refused.code.clone()),
        title: refused.title.clone(),
        description: refused.text.clone(),
        details: refused.details.clone(),
        category: refused.category,
    }
}

fn pause(refused: &RefusedSend, now: Micros) -> Option<ConnectionPause> {
    let stops = matches!(refused.category, Category::Account | Category::Connection);
    let category = refused.category.as_str();
    // An operator looks up the code.
    let whose = match refused.code.as_str() {
        "" => category.to_owned(),
        code => format!("code {code}, {category}"),
    };
    stops.then(|| ConnectionPause {
        since: now,
        reason: format!("{} ({whose})", refused.text),
    })
}

/// Returns the holds after a throttle: for the contact, the number, or all numbers of the
/// account.
async fn holds(
    pipeline: &Pipeline,
    outgoing: &Outgoing,
    refused: &RefusedSend,
    outcome: &SendOutcome,
) -> Vec<SendHold> {
    let SendOutcome::Later { at, .. } = outcome else {
        return Vec::new();
    };
    let hold = |connection: ConnectionId, contact| SendHold {
        connection,
        contact,
        until: *at,
    };
    let own = outgoing.channel.connection.clone();
    match refused.category {
        Category::ThrottledRecipient => vec![hold(own, Some(outgoing.contact))],
        Category::ThrottledNumber => vec![hold(own, None)],
        Category::ThrottledAccount => {
            let workspace = outgoing.channel.workspace;
            let mut all = match pipeline.connections.in_workspace(workspace).await {
                Ok(all) => all
                    .iter()
                    .map(|live| &live.connection)
                    .filter(|other| shares_account(&outgoing.live.connection, other))
                    .map(|other| other.id.clone())
                    .collect(),
                Err(error) => {
                    tracing::warn!(%error, "other instances of the account not read, only this one is held");
                    Vec::new()
                }
            };
            if !all.contains(&own) {
                all.push(own);
            }
            all.into_iter().map(|id| hold(id, None)).collect()
        }
        _ => Vec::new(),
    }
}

fn shares_account(one: &Connection, other: &Connection) -> bool {
    let accounts = |connection: &Connection| {
        let routes = connection.routes.get(ACCOUNT_ROUTE);
        routes.cloned().unwrap_or_default()
    };
    other.kind == ConnectionKind::Channel
        && other.plugin == one.plugin
        && accounts(other)
            .iter()
            .any(|account| accounts(one).contains(account))
}

fn attempt_outcome(said: &SendAnswer) -> AttemptOutcome {
    match said {
        SendAnswer::Accepted(_) => AttemptOutcome::Accepted,
        SendAnswer::Refused(refused) => AttemptOutcome::Refused(refused.category),
        SendAnswer::Unknown(_) => AttemptOutcome::Unknown,
    }
}

fn code(said: &SendAnswer) -> &str {
    match said {
        SendAnswer::Refused(refused) => &refused.code,
        SendAnswer::Accepted(_) | SendAnswer::Unknown(_) => "",
    }
}

fn log_outcome(outgoing: &Outgoing, said: &SendAnswer) {
    let message_id = outgoing.message;
    match said {
        SendAnswer::Accepted(_) => tracing::debug!(%message_id, "message accepted"),
        // The reason is stored with the message; it may contain the provider's text.
        SendAnswer::Unknown(_) => {
            tracing::warn!(%message_id, "message outcome unknown");
        }
        SendAnswer::Refused(refused) => tracing::info!(
            %message_id,
            category = refused.category.as_str(),
            code = %refused.code,
            kept = refused.category.is_retryable(),
            "message not sent"
        ),
    }
}

/// Stores the outcome of a call. Only this host knows it, so a failed write is retried until the
/// lease ends. An acceptance stays true after that, and is retried for longer.
async fn write(
    pipeline: &Pipeline,
    outgoing: &Outgoing,
    settlement: SendSettlement,
) -> Option<MessageOutcome> {
    let was_taken = matches!(settlement.outcome, SendOutcome::Accepted { .. });
    let longest = Instant::now() + limits::SETTLE_ACCEPTED_FOR;
    let write = Write::Sent(Box::new(settlement));
    loop {
        let error = match pipeline.writer.submit(write.clone()).await {
            Ok(WriteOutcome::Message(outcome)) => return Some(outcome),
            Ok(_) => {
                tracing::debug!(message_id = %outgoing.message, "lease lost, outcome of the message discarded");
                return None;
            }
            Err(error) => error,
        };
        let may_count = !outgoing.held.has_ended() || (was_taken && Instant::now() < longest);
        if !may_count || !error.is_temporary() {
            tracing::warn!(message_id = %outgoing.message, %error, "outcome of the message not stored");
            return None;
        }
        tokio::time::sleep(limits::SETTLE_AGAIN_AFTER).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accepted(status: &str) -> SendAnswer {
        SendAnswer::Accepted(AcceptedSend {
            external_ids: vec!["x".to_owned()],
            recipient_id: None,
            further_ids: Vec::new(),
            status: status.to_owned(),
        })
    }

    fn refused(category: Category) -> RefusedSend {
        RefusedSend {
            category,
            code: "7".to_owned(),
            title: "No".to_owned(),
            text: "it does not go".to_owned(),
            details: String::new(),
            retry_after: None,
        }
    }

    #[test]
    fn every_answer_leaves_the_message_in_a_state() {
        let check = |said: &SendAnswer, expect: MessageState| assert_eq!(state_after(said), expect);
        check(&accepted("accepted"), MessageState::Accepted);
        check(&accepted("held"), MessageState::Accepted);
        check(&accepted("odd"), MessageState::Accepted);
        check(&accepted("sent"), MessageState::Sent);
        check(&accepted("delivered"), MessageState::Delivered);
        check(&SendAnswer::Unknown(String::new()), MessageState::Unknown);
        for category in Category::ALL {
            let expect = if category.is_retryable() {
                MessageState::Waiting
            } else {
                MessageState::Failed
            };
            check(&SendAnswer::Refused(refused(category)), expect);
        }
    }

    #[test]
    fn a_fault_that_an_operator_must_correct_pauses_the_instance() {
        for category in Category::ALL {
            let stops = matches!(category, Category::Account | Category::Connection);
            let pause = pause(&refused(category), Micros(7));
            assert_eq!(pause.is_some(), stops, "{}", category.as_str());
            if let Some(pause) = pause {
                assert!(pause.reason.contains("it does not go"), "{}", pause.reason);
            }
        }
    }

    #[test]
    fn a_status_word_of_the_provider_is_kept() {
        let check = |word: &str, expect: Option<&str>| {
            let SendAnswer::Accepted(accepted) = accepted(word) else {
                panic!("it is accepted");
            };
            assert_eq!(own_word(&accepted).as_deref(), expect, "{word}");
        };
        check("held", Some("held"));
        check("queued", Some("queued"));
        for word in ["", "accepted", "sent", "delivered"] {
            check(word, None);
        }
    }

    #[test]
    fn a_refusal_without_a_code_gets_its_category_as_code() {
        let bare = RefusedSend {
            code: String::new(),
            ..refused(Category::Recipient)
        };
        assert_eq!(error_of(&bare).code, "recipient");
        assert_eq!(error_of(&refused(Category::Recipient)).code, "7");
    }

    #[test]
    fn a_delivered_message_counts_as_sent() {
        let MessageProgress {
            accepted_at,
            sent_at,
            delivered_at,
            ..
        } = progress(
            &AcceptedSend {
                external_ids: Vec::new(),
                recipient_id: None,
                further_ids: Vec::new(),
                status: "delivered".to_owned(),
            },
            Micros(7),
        );
        let all = [accepted_at, sent_at, delivered_at];
        assert_eq!(all, [Some(Micros(7)); 3]);
    }
}
