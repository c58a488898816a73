//! From the events of a provider's webhook to the items for the store: each event is
//! assigned to its instance, times are read, phones are normalised, words are mapped. A
//! wrong value costs only that value and never the event: an impossible time becomes the
//! time of receipt, an unknown word is recorded.
//!
//! One callback may be for many numbers, so an event's route names its instance. The name
//! `account` in a route is for events of a whole account: if it is the only name, the event
//! counts for every channel of that account.

use super::failure::ConvertError;
use super::normalise::tidy_name;
use super::routing::{self, Routing};
use crate::prelude::*;
use leadhost_domain::channel::{
    ChannelEvent, ContactChange, ContactChangeKind, EventBody, InboundMessage, StatusUpdate,
    TemplateChange,
};
use leadhost_domain::connection::ACCOUNT_ROUTE;
use leadhost_domain::contact;
use leadhost_domain::message::{self, MessageProgress};
use leadhost_domain::phone::{self, Phone};
use leadhost_domain::time;
use leadhost_store::{Channel, Event, NewEvent, NewInboundMessage};

/// The time by which a provider's clock may be ahead.
const AHEAD: Duration = Duration::from_hours(24);

/// The age of the oldest event that counts: providers give up long before.
const BEHIND: Duration = Duration::from_hours(366 * 24);

/// The word for a channel's connection in messages to people.
const INSTANCE: &str = "instance";

pub struct WebhookEvents {
    pub items: Vec<NewItem>,
    /// Channels whose list of templates is out of date.
    pub stale_templates: Vec<Arc<Live>>,
}

#[leadhost_boxed::boxed]
pub async fn read(
    routing: &Routing<'_>,
    events: Vec<ChannelEvent>,
    received_at: Micros,
) -> Result<WebhookEvents, ConvertError> {
    let mut results = Vec::with_capacity(events.len());
    let mut stale_templates: Vec<Arc<Live>> = Vec::new();
    for event in events {
        // Events that are not for any instance need no route.
        if let EventBody::Other(why) = event.body {
            results.push(ItemResult::Ignored(why));
            continue;
        }
        if let EventBody::Invalid(problem) = event.body {
            results.push(ItemResult::Invalid(problem));
            continue;
        }
        let channels = channels(routing, &event.route).await?;
        if let EventBody::Template(change) = event.body {
            for live in channels {
                let live = match live {
                    Ok(live) => live,
                    Err(why) => {
                        results.push(ItemResult::Unrouted(why));
                        continue;
                    }
                };
                results.push(template(&live, &change));
                let known = |one: &Arc<Live>| one.connection.id == live.connection.id;
                if !stale_templates.iter().any(known) {
                    stale_templates.push(live);
                }
            }
            continue;
        }
        let first = channels.into_iter().next();
        results.push(
            match first.expect("an event without channels has a reason") {
                Ok(first) => {
                    let result = result(&first, event.body, received_at);
                    with_further_ids(result, &event.further_ids)
                }
                Err(why) => ItemResult::Unrouted(why),
            },
        );
    }
    let items = (0..).zip(results);
    Ok(WebhookEvents {
        items: items
            .map(|(index, result)| NewItem { index, result })
            .collect(),
        stale_templates,
    })
}

/// Returns the channels that an event with this route belongs to, or why it may not reach
/// them. For a whole account, the channel that received the event comes first. Never empty.
async fn channels(
    routing: &Routing<'_>,
    route: &Pairs,
) -> Result<Vec<Result<Arc<Live>, String>>, ConvertError> {
    let narrow: Pairs = route
        .iter()
        .filter(|(name, _)| name != ACCOUNT_ROUTE)
        .cloned()
        .collect();
    if route.is_empty() || !narrow.is_empty() {
        return Ok(vec![routing.find(INSTANCE, &narrow).await?]);
    }
    let received_by = routing.received_by;
    let own = &received_by.connection;
    let all = routing.workspace_connections().await?;
    let mut of_account: Vec<_> = all
        .into_iter()
        .filter(|other| {
            other.connection.kind == ConnectionKind::Channel
                && other.connection.plugin == own.plugin
                && other.answers_to(route)
        })
        .collect();
    of_account.sort_by_key(|other| other.connection.id != own.id);
    if of_account.is_empty() && !received_by.claims_some_of(route) {
        of_account.push(Arc::clone(received_by));
    }
    if of_account.is_empty() {
        return Ok(vec![Err(routing::unclaimed(INSTANCE, route))]);
    }
    let mut channels = Vec::with_capacity(of_account.len());
    for live in of_account {
        channels.push(if routing.may_reach(&live).await? {
            Ok(live)
        } else {
            Err(routing::barred(INSTANCE, route))
        });
    }
    Ok(channels)
}

fn event(channel: Channel, event: Event) -> ItemResult {
    ItemResult::Event(Box::new(NewEvent {
        channel,
        event,
        further_keys: Vec::new(),
    }))
}

fn with_further_ids(mut result: ItemResult, ids: &[String]) -> ItemResult {
    if let ItemResult::Event(new) = &mut result {
        new.further_keys = contact::further_keys(&new.channel.channel, ids);
    }
    result
}

fn invalid(message: &str) -> ItemResult {
    ItemResult::Invalid(InputProblem {
        message: message.to_owned(),
        path: String::new(),
    })
}

fn result(live: &Live, body: EventBody, received_at: Micros) -> ItemResult {
    let Some(channel) = live.channel() else {
        return invalid("the address no longer has an instance");
    };
    match body {
        EventBody::Status(update) => status(channel, *update, received_at),
        EventBody::Inbound(message) => inbound(live, channel, *message, received_at),
        EventBody::Contact(change) => contact_change(live, channel, *change, received_at),
        EventBody::Template(change) => template(live, &change),
        EventBody::Other(why) => ItemResult::Ignored(why),
        EventBody::Invalid(problem) => ItemResult::Invalid(problem),
    }
}

fn status(channel: Channel, update: StatusUpdate, received_at: Micros) -> ItemResult {
    let message = update.message_id.as_deref().and_then(|id| id.parse().ok());
    if update.external_id.is_empty() && message.is_none() {
        return invalid("a status without the id of a message");
    }
    let at = at(update.occurred_at.as_deref(), received_at);
    event(
        channel,
        Event::Status {
            external_id: update.external_id,
            message,
            progress: MessageProgress {
                errors: update.errors,
                ..progress(&update.status, at)
            },
            word: update.status,
            recipient_id: update.recipient_id.filter(|id| !id.is_empty()),
            at,
        },
    )
}

/// Maps a word to a status; an unknown word gives an empty one.
fn progress(word: &str, at: Micros) -> MessageProgress {
    let mut progress = MessageProgress::default();
    let place = match word {
        "accepted" => &mut progress.accepted_at,
        "sent" => &mut progress.sent_at,
        "delivered" => &mut progress.delivered_at,
        "read" => &mut progress.read_at,
        "failed" => &mut progress.failed_at,
        _ => return progress,
    };
    *place = Some(at);
    progress
}

fn inbound(
    live: &Live,
    channel: Channel,
    message: InboundMessage,
    received_at: Micros,
) -> ItemResult {
    if message.external_id.is_empty() || message.sender_id.is_empty() {
        return invalid("a message without its id or its sender's id");
    }
    let phone = read_phone(live, message.sender_phone.as_deref());
    let kind = message::kind_of(&message.kind);
    let inbound = NewInboundMessage {
        contact_keys: keys(&channel, phone.as_ref(), &message.sender_id),
        external_id: message.external_id,
        sender_id: message.sender_id,
        name: message
            .sender_name
            .as_deref()
            .map(tidy_name)
            .filter(|name| !name.is_empty()),
        phone,
        kind,
        channel_type: (kind != message.kind).then_some(message.kind),
        content: message.content.filter(|content| !content.is_empty()),
        at: at(message.occurred_at.as_deref(), received_at),
        reply_to: message.reply_to.filter(|id| !id.is_empty()),
        attributes: message.attributes,
    };
    event(channel, Event::Inbound(Box::new(inbound)))
}

fn contact_change(
    live: &Live,
    channel: Channel,
    change: ContactChange,
    received_at: Micros,
) -> ItemResult {
    if change.sender_id.is_empty() {
        return invalid("a contact change without the contact's id");
    }
    let phone = read_phone(live, change.sender_phone.as_deref());
    let contact_keys = keys(&channel, phone.as_ref(), &change.sender_id);
    let opt_out = match change.kind {
        ContactChangeKind::OptOut => true,
        ContactChangeKind::OptIn => false,
        ContactChangeKind::Number if change.value.is_empty() => {
            return invalid("a number change without the new number");
        }
        ContactChangeKind::Number => {
            let phone = read_phone(live, Some(&change.value));
            let number = Event::Number {
                contact_keys,
                new_keys: keys(&channel, phone.as_ref(), &change.value),
                phone,
            };
            return event(channel, number);
        }
        ContactChangeKind::Unknown(word) => {
            return ItemResult::Ignored(format!("`{word}` is not a known contact change"));
        }
    };
    let consent = Event::Consent {
        contact_keys,
        opt_out,
        at: at(change.occurred_at.as_deref(), received_at),
    };
    event(channel, consent)
}

fn template(live: &Live, change: &TemplateChange) -> ItemResult {
    match live.channel() {
        // The list is requested again in any case.
        _ if change.status.is_empty() => {
            ItemResult::Ignored(format!("template {} changed", change.name))
        }
        Some(channel) => event(
            channel,
            Event::Template {
                name: change.name.clone(),
                language: change.language.clone(),
                status: change.status.clone(),
                reason: change.reason.clone(),
            },
        ),
        None => invalid("the address no longer has an instance"),
    }
}

/// Returns the phone's key, if there is a phone with one, and then the channel's own.
fn keys(channel: &Channel, phone: Option<&Phone>, id: &str) -> Vec<String> {
    phone
        .and_then(|phone| phone.match_key.as_deref())
        .map(contact::phone_key)
        .into_iter()
        .chain([contact::channel_key(&channel.channel, id)])
        .collect()
}

fn read_phone(live: &Live, raw: Option<&str>) -> Option<Phone> {
    let phone = phone::normalise(raw?, &live.connection.region);
    phone.e164.is_some().then_some(phone)
}

/// Returns when the event happened; an impossible time becomes the time of receipt.
fn at(text: Option<&str>, received_at: Micros) -> Micros {
    text.and_then(time::parse)
        .filter(|at| *at <= received_at.plus(AHEAD) && *at >= received_at.minus(BEHIND))
        .unwrap_or(received_at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_impossible_time_becomes_the_time_of_receipt() {
        let received_at = time::parse("2030-01-15T12:00:00Z").expect("a time");
        let check = |text: Option<&str>, expect: &str| {
            let expect = time::parse(expect).expect("a time");
            assert_eq!(at(text, received_at), expect, "{text:?}");
        };
        check(Some("2030-01-15T11:59:00Z"), "2030-01-15T11:59:00Z");
        check(Some("2030-01-16T11:59:00Z"), "2030-01-16T11:59:00Z");
        check(Some("2029-12-15T08:00:00-03:00"), "2029-12-15T11:00:00Z");
        for wrong in [
            None,
            Some(""),
            Some("soon"),
            Some("1893456000"),
            Some("2030-01-16T12:00:01Z"),
            Some("1970-01-01T00:00:00Z"),
            Some("9999-01-01T00:00:00Z"),
        ] {
            check(wrong, "2030-01-15T12:00:00Z");
        }
    }

    #[test]
    fn an_unknown_status_word_gives_no_progress() {
        let at = Micros(7);
        assert_eq!(progress("read", at).read_at, Some(at));
        assert_eq!(progress("failed", at).failed_at, Some(at));
        for word in ["", "played", "deleted", "READ"] {
            assert_eq!(progress(word, at), MessageProgress::default(), "{word}");
        }
    }
}
