//! From a converter's items to items for the store: normalised phones and e-mail addresses,
//! the dedupe key, and the values that the deal keeps.

use serde_json::Map;
use sha2::{Digest as _, Sha256};

use super::failure::ConvertError;
use super::props;
use super::routing::{Reachable, Routing};
use crate::prelude::*;
use leadhost_domain::contact;
use leadhost_domain::deal::cut_from;
use leadhost_domain::hex;
use leadhost_domain::lead::{Action, Lead};
use leadhost_domain::nothing::is_no_id;
use leadhost_domain::phone::{self, Phone};
use leadhost_domain::plugin::{ConversionOutcome, ConvertedItem, FetchRequest};
use leadhost_domain::source_time;
use leadhost_plugin::give_way;
use leadhost_store::{DedupeKey, NewFetch};

/// Without an external id, leads with the same contact, listing and message are duplicates
/// within this time.
const CONTENT_WINDOW: Duration = Duration::from_mins(10);

/// Returns the items of a delivery in the form for the store, each with its connection.
pub async fn items(
    routing: &Routing<'_>,
    items: Vec<ConvertedItem>,
    now: Micros,
    fetch_until: Micros,
) -> Result<Vec<NewItem>, ConvertError> {
    let mut addressed = Vec::with_capacity(items.len());
    for (index, item) in items.into_iter().enumerate() {
        // Items that are not for any connection need no route.
        let connection = match item.outcome {
            ConversionOutcome::Lead(_) | ConversionOutcome::Fetch(_) => {
                routing.find("connection", &item.route).await?
            }
            ConversionOutcome::Ignored(_) | ConversionOutcome::Invalid(_) => {
                Ok(Arc::clone(routing.received_by))
            }
        };
        addressed.push((connection, item.outcome));
        if index % AT_ONCE == AT_ONCE - 1 {
            tokio::task::yield_now().await;
        }
    }
    let accept =
        move |(index, (connection, outcome)): (usize, (Result<Arc<Live>, String>, _))| NewItem {
            index: u32::try_from(index).expect("items are bounded"),
            result: match connection {
                Ok(connection) => result(&connection, outcome, 1, now, fetch_until),
                Err(why) => ItemResult::Unrouted(why),
            },
        };
    let parts: usize = addressed.iter().map(|(_, outcome)| parts(outcome)).sum();
    let addressed = addressed.into_iter().enumerate();
    let caller = match &routing.among {
        Reachable::Stored(caller) if parts > limits::NORMALISED_INLINE => caller,
        Reachable::Stored(_) | Reachable::Captured(_) => {
            return Ok(addressed.map(accept).collect());
        }
    };
    let lane = routing.received_by.lane(caller.budget);
    let work = async move {
        let mut accepted = Vec::with_capacity(addressed.len());
        for item in addressed {
            accepted.push(accept(item));
            give_way().await;
        }
        accepted
    };
    let plugins = &caller.pipeline.plugins;
    Ok(plugins.compute(lane, &caller.plugin.digest, work).await?)
}

/// Items that are processed before other tasks get a turn.
const AT_ONCE: usize = 64;

fn parts(outcome: &ConversionOutcome) -> usize {
    match outcome {
        ConversionOutcome::Lead(lead) => {
            let named = lead.phones.len() + lead.emails.len();
            let listed = lead.listings.len() + lead.campaign.len() + lead.consents.len();
            let texts = [&lead.name, &lead.message].into_iter().flatten();
            let texts: usize = texts.map(String::len).sum();
            1 + named + listed + lead.attributes.len() / 8 + texts / limits::LEAD_WORD_BYTES
        }
        ConversionOutcome::Fetch(_)
        | ConversionOutcome::Ignored(_)
        | ConversionOutcome::Invalid(_) => 1,
    }
}

/// Returns one outcome in the form for the store, assigned to its connection. `hop` applies
/// to a further fetch.
pub fn result(
    connection: &Live,
    outcome: ConversionOutcome,
    hop: u32,
    now: Micros,
    fetch_until: Micros,
) -> ItemResult {
    match outcome {
        ConversionOutcome::Lead(mut lead) => {
            lead.take_nothings();
            if lead.says_nothing() && lead.action != Action::Delete {
                return ItemResult::Invalid(InputProblem {
                    message: "the lead has no id, name, phone, e-mail address, message or listing"
                        .to_owned(),
                    path: String::new(),
                });
            }
            ItemResult::Lead(Box::new(new_lead(connection, *lead)))
        }
        ConversionOutcome::Fetch(fetch) => ItemResult::Fetch(Box::new(new_fetch(
            connection,
            *fetch,
            hop,
            now,
            fetch_until,
        ))),
        ConversionOutcome::Ignored(why) => ItemResult::Ignored(why),
        ConversionOutcome::Invalid(problem) => ItemResult::Invalid(problem),
    }
}

fn new_fetch(
    live: &Live,
    fetch: FetchRequest,
    hop: u32,
    due_at: Micros,
    until: Micros,
) -> NewFetch {
    NewFetch {
        connection: live.connection.id.clone(),
        dedupe: fetch
            .external_id
            .as_deref()
            .filter(|id| !is_no_id(id))
            .map(DedupeKey::from_id),
        external_id: fetch.external_id,
        request: fetch.request,
        state: fetch.state,
        hop,
        due_at,
        until,
    }
}

fn new_lead(live: &Live, mut lead: Lead) -> NewLead {
    let connection = &live.connection;
    let region = lead.region.as_deref().unwrap_or(&connection.region);
    let phones: Vec<Phone> = lead
        .phones
        .iter()
        .map(|raw| phone::normalise(raw, region))
        .collect();
    // A text may hold several addresses of the lead; an invalid one is kept as it is written.
    let written = std::mem::take(&mut lead.emails);
    let mut emails: Vec<String> = written
        .iter()
        .flat_map(|raw| contact::emails(raw))
        .collect();
    emails.truncate(limits::LEAD_EMAILS);
    let unread = written
        .into_iter()
        .filter(|raw| contact::emails(raw).is_empty());
    lead.emails = emails.iter().cloned().chain(unread).collect();
    let zone = &connection.time_zone;
    if let Some(zero) = lead
        .occurred_at
        .take_if(|at| source_time::is_zero(at, zone))
    {
        let place = lead.attributes.entry("occurredAt");
        place.or_insert(Value::String(zero));
    }
    let contact_keys = contact::keys(&phones, &emails);
    let external_id = lead.external_id.clone();
    let dedupe = match &external_id {
        Some(id) => Some(DedupeKey::from_id(id)),
        None if connection.dedupe_by_content => content_key(&contact_keys, &lead),
        None => None,
    };
    let mut left_out = std::mem::take(&mut lead.cuts);
    let name = lead
        .name
        .as_deref()
        .map(words_of)
        .filter(|name| !name.is_empty());
    let name = name.map(|whole| {
        let name = cut_name(&whole);
        if name.len() < whole.len() {
            left_out.push(cut_from("name", whole.len(), name.len()));
        }
        name
    });
    let title = title(name.as_deref(), &phones, &emails, &lead);
    let action = lead.action;
    let references = lead.listings.iter();
    let products = references.map(|one| one.reference.clone()).collect();
    let as_text = std::mem::take(&mut lead.as_text);
    let kept = props::deal_props(live, lead, name.as_deref(), &phones);
    left_out.extend(kept.left_out);
    NewLead {
        connection: connection.id.clone(),
        agent: connection.agent,
        dedupe,
        action,
        products,
        deal_props: kept.props,
        left_out,
        as_text,
        contact_props: Map::new(),
        greeting: None,
        external_id,
        name,
        phones,
        emails,
        contact_keys,
        title,
    }
}

/// Returns no key if there is nothing to recognise the lead by, so that it is never taken
/// for another lead.
fn content_key(contact_keys: &[String], lead: &Lead) -> Option<DedupeKey> {
    let contact = contact_keys.first()?;
    let listing = lead
        .listings
        .first()
        .map_or("", |listing| listing.reference.as_str());
    let message = lead.message.as_deref().unwrap_or_default();
    Some(DedupeKey {
        key: format!("content:{}", hash(&[contact, listing, message])),
        window: Some(CONTENT_WINDOW),
    })
}

fn hash(parts: &[&str]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        // Lengths keep the parts apart: ("ab", "c") is not ("a", "bc").
        hash.update(part.len().to_be_bytes());
        hash.update(part.as_bytes());
    }
    hex::encode(&hash.finalize())
}

/// Removes control characters, collapses white space, and cuts to the interface's length.
pub fn tidy_name(raw: &str) -> String {
    cut_name(&words_of(raw))
}

fn cut_name(name: &str) -> String {
    name.chars().take(limits::NAME_CHARACTERS).collect()
}

fn words_of(raw: &str) -> String {
    let words = raw.split(|c: char| c.is_whitespace() || c.is_control());
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    words.join(" ")
}

fn title(name: Option<&str>, phones: &[Phone], emails: &[String], lead: &Lead) -> Option<String> {
    let who = name
        .or_else(|| phones.iter().find_map(|phone| phone.e164.as_deref()))
        .or_else(|| emails.first().map(String::as_str))
        .or(lead.external_id.as_deref())?;
    Some(match lead.listings.first() {
        Some(listing) => format!("{who} · {}", listing.reference),
        None => who.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_line_of_bounded_length() {
        assert_eq!(tidy_name(" Ana\u{0}\n  Souza\t"), "Ana Souza");
        assert_eq!(
            tidy_name(&"x".repeat(10_000)).chars().count(),
            limits::NAME_CHARACTERS
        );
    }

    #[test]
    fn the_parts_of_a_content_key_do_not_run_together() {
        assert_ne!(hash(&["ab", "c"]), hash(&["a", "bc"]));
    }
}
