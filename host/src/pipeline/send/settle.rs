//! From what a provider said to what the store keeps: the class of a refusal
//! decides whether the message has failed, waits with others, or stops its
//! instance. What came of a call is worth trying to write down for as long as
//! the message is ours.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::{Outgoing, next};
use crate::domain::channel::{Accepted, Category, ChannelError, Refused, SendAnswer};
use crate::domain::connection::{ACCOUNT_ROUTE, Connection, ConnectionKind, Pause};
use crate::domain::id::ConnectionId;
use crate::domain::message::{Progress, State};
use crate::domain::time::Micros;
use crate::limits;
use crate::pipeline::state::Pipeline;
use crate::pipeline::templates;
use crate::store::{
    HeldSend, Hold, IdempotencyKey, MessageOutcome, SendOutcome, SendSettlement, StoredAnswer,
    Write, Written,
};
use crate::telemetry::Sent;

/// What the message is after this answer.
pub fn state_after(answer: &SendAnswer) -> State {
    match answer {
        SendAnswer::Accepted(accepted) => match accepted.status.as_str() {
            "sent" => State::Sent,
            "delivered" => State::Delivered,
            _ => State::Accepted,
        },
        SendAnswer::Refused(refused) if refused.category.is_kept() => State::Waiting,
        SendAnswer::Refused(_) => State::Failed,
        SendAnswer::Unknown(_) => State::Unknown,
    }
}

/// It waited longer than messages are kept.
pub fn expired(held: &HeldSend) -> ChannelError {
    ChannelError {
        code: "expired".to_owned(),
        title: "Expired".to_owned(),
        description: format!(
            "It could not be sent in time, after {} attempt(s)",
            held.attempts
        ),
        details: String::new(),
        category: Category::Expired,
    }
}

/// The contact said so while the message waited.
pub fn opted_out() -> ChannelError {
    ChannelError {
        code: "opted-out".to_owned(),
        title: "Opted out".to_owned(),
        description: "The contact does not want to be written to".to_owned(),
        details: String::new(),
        category: Category::OptOut,
    }
}

/// Writes down what came of a send, and what others have to wait for now.
/// `answer` goes to the repeats of the request that brought the message.
pub async fn settle(
    pipeline: &Arc<Pipeline>,
    outgoing: &Outgoing,
    said: &SendAnswer,
    answer: Option<(IdempotencyKey, StoredAnswer)>,
) -> Option<MessageOutcome> {
    let now = pipeline.core.clock.now();
    let mut settlement = settlement(outgoing, outcome(pipeline, outgoing, said, now));
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
    pipeline.core.metrics.messaging.send(counted(said));
    told(outgoing, said);
    let pauses = settlement.pause.is_some();
    let settled = write(pipeline, outgoing, settlement).await;
    if pauses && settled.is_some() {
        // As it was known before: many sends that fail at once are one line.
        let known = pipeline.connections.get(&outgoing.channel.connection);
        let is_news = matches!(known.await, Ok(Some(live)) if live.connection.paused.is_none());
        pipeline.connections.forget();
        if is_news {
            // The provider's words may name people: they stay with the instance.
            let connection = &outgoing.live.connection;
            tracing::error!(instance = %connection.name, adapter = %connection.plugin, category = counted(said).as_str(), code = code(said), "the instance sends nothing any more: its messages are kept until it is resumed, or expire; `leadhost instance show` says what the provider said");
        }
    }
    settled
}

/// Settles a message for which nobody was asked.
pub async fn as_it_is(pipeline: &Pipeline, outgoing: &Outgoing, outcome: SendOutcome) {
    match &outcome {
        SendOutcome::Unknown { reason } => {
            pipeline.core.metrics.messaging.send(Sent::Unknown);
            tracing::warn!(message = %outgoing.message, reason, "nobody knows whether the message went out");
        }
        SendOutcome::Refused(error) => {
            pipeline
                .core
                .metrics
                .messaging
                .send(Sent::Refused(error.category));
            tracing::warn!(message = %outgoing.message, category = error.category.as_str(), "the message is given up");
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
            if !refused.category.is_kept() {
                return SendOutcome::Refused(error);
            }
            let at = match refused.category {
                // When an operator lets the instance go on, it goes at once.
                Category::Account | Category::Connection => now,
                _ => next(pipeline, outgoing, refused.retry_after_seconds),
            };
            // It expires when its time is up, not when it would be its turn.
            let at = at.min(outgoing.until);
            SendOutcome::Later { at, error }
        }
        SendAnswer::Unknown(reason) => SendOutcome::Unknown {
            reason: reason.clone(),
        },
    }
}

fn progress(accepted: &Accepted, now: Micros) -> Progress {
    let delivered = accepted.status == "delivered";
    let sent = delivered || accepted.status == "sent";
    Progress {
        accepted_at: Some(now),
        sent_at: sent.then_some(now),
        delivered_at: delivered.then_some(now),
        ..Progress::default()
    }
}

/// What the states do not say: `held`, or the provider's own.
fn own_word(accepted: &Accepted) -> Option<String> {
    let word = accepted.status.as_str();
    let is_own = !matches!(word, "" | "accepted" | "sent" | "delivered");
    is_own.then(|| word.to_owned())
}

fn error_of(refused: &Refused) -> ChannelError {
    ChannelError {
        code: refused.category.code(refused.code.clone()),
        title: refused.title.clone(),
        description: refused.text.clone(),
        details: refused.details.clone(),
        category: refused.category,
    }
}

fn pause(refused: &Refused, now: Micros) -> Option<Pause> {
    let stops = matches!(refused.category, Category::Account | Category::Connection);
    let category = refused.category.as_str();
    // The code is what an operator looks up.
    let whose = match refused.code.as_str() {
        "" => category.to_owned(),
        code => format!("code {code}, {category}"),
    };
    stops.then(|| Pause {
        since: now,
        reason: format!("{} ({whose})", refused.text),
    })
}

/// Who else waits: the contact, the number, or all numbers of the account.
async fn holds(
    pipeline: &Pipeline,
    outgoing: &Outgoing,
    refused: &Refused,
    outcome: &SendOutcome,
) -> Vec<Hold> {
    let SendOutcome::Later { at, .. } = outcome else {
        return Vec::new();
    };
    let hold = |connection: ConnectionId, contact| Hold {
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
            let mut all = match pipeline.connections.of_workspace(workspace).await {
                Ok(all) => all
                    .iter()
                    .map(|live| &live.connection)
                    .filter(|other| shares_account(&outgoing.live.connection, other))
                    .map(|other| other.id.clone())
                    .collect(),
                Err(error) => {
                    tracing::warn!(%error, "the account's other instances are not held");
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

/// For metrics: `accepted`, `unknown`, or the class of the refusal.
fn counted(said: &SendAnswer) -> Sent {
    match said {
        SendAnswer::Accepted(_) => Sent::Accepted,
        SendAnswer::Refused(refused) => Sent::Refused(refused.category),
        SendAnswer::Unknown(_) => Sent::Unknown,
    }
}

/// What an operator looks up.
fn code(said: &SendAnswer) -> &str {
    match said {
        SendAnswer::Refused(refused) => &refused.code,
        SendAnswer::Accepted(_) | SendAnswer::Unknown(_) => "",
    }
}

fn told(outgoing: &Outgoing, said: &SendAnswer) {
    let message = outgoing.message;
    match said {
        SendAnswer::Accepted(_) => tracing::debug!(%message, "the message is accepted"),
        // Why, in words that may be the provider's, the message says itself.
        SendAnswer::Unknown(_) => {
            tracing::warn!(%message, "nobody knows whether the message went out");
        }
        SendAnswer::Refused(refused) => tracing::info!(
            %message,
            category = refused.category.as_str(),
            code = %refused.code,
            kept = refused.category.is_kept(),
            "the message did not go out"
        ),
    }
}

/// Nobody else knows what came of the call: tried until it is somebody else's. That
/// it was taken is true after that too, and is tried for longer.
async fn write(
    pipeline: &Pipeline,
    outgoing: &Outgoing,
    settlement: SendSettlement,
) -> Option<MessageOutcome> {
    let was_taken = matches!(settlement.outcome, SendOutcome::Accepted { .. });
    let longest = Instant::now() + Duration::from_secs(limits::SETTLE_ACCEPTED_SECONDS);
    let write = Write::Sent(Box::new(settlement));
    loop {
        let error = match pipeline.core.writer.submit(write.clone()).await {
            Ok(Written::Message(outcome)) => return Some(outcome),
            Ok(_) => {
                tracing::debug!(message = %outgoing.message, "somebody else holds the message by now");
                return None;
            }
            Err(error) => error,
        };
        let may_count = !outgoing.held.has_ended() || (was_taken && Instant::now() < longest);
        if !may_count || !error.is_passing() {
            tracing::warn!(message = %outgoing.message, %error, "what came of the message cannot be written down");
            return None;
        }
        tokio::time::sleep(Duration::from_millis(limits::SETTLE_AGAIN_MS)).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accepted(status: &str) -> SendAnswer {
        SendAnswer::Accepted(Accepted {
            external_ids: vec!["x".to_owned()],
            recipient_id: None,
            status: status.to_owned(),
        })
    }

    fn refused(category: Category) -> Refused {
        Refused {
            category,
            code: "7".to_owned(),
            title: "No".to_owned(),
            text: "it does not go".to_owned(),
            details: String::new(),
            retry_after_seconds: None,
        }
    }

    #[test]
    fn every_answer_leaves_the_message_in_a_state() {
        let check = |said: &SendAnswer, expect: State| assert_eq!(state_after(said), expect);
        check(&accepted("accepted"), State::Accepted);
        check(&accepted("held"), State::Accepted);
        check(&accepted("odd"), State::Accepted);
        check(&accepted("sent"), State::Sent);
        check(&accepted("delivered"), State::Delivered);
        check(&SendAnswer::Unknown(String::new()), State::Unknown);
        for category in Category::ALL {
            let expect = if category.is_kept() {
                State::Waiting
            } else {
                State::Failed
            };
            check(&SendAnswer::Refused(refused(category)), expect);
        }
    }

    #[test]
    fn what_the_operator_has_to_mend_stops_the_instance() {
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
    fn a_word_of_the_providers_own_is_kept() {
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
    fn a_refusal_without_a_code_has_the_word_of_its_class() {
        let bare = Refused {
            code: String::new(),
            ..refused(Category::Recipient)
        };
        assert_eq!(error_of(&bare).code, "recipient");
        assert_eq!(error_of(&refused(Category::Recipient)).code, "7");
    }

    #[test]
    fn delivered_was_sent_before() {
        let Progress {
            accepted_at,
            sent_at,
            delivered_at,
            ..
        } = progress(
            &Accepted {
                external_ids: Vec::new(),
                recipient_id: None,
                status: "delivered".to_owned(),
            },
            Micros(7),
        );
        let all = [accepted_at, sent_at, delivered_at];
        assert_eq!(all, [Some(Micros(7)); 3]);
    }
}
