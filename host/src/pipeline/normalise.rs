//! From a converter's items to what the store accepts: phones and e-mails
//! normalised, the key by which a repeat is recognised, what the deal keeps.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

use super::connections::Live;
use super::convert::ConvertError;
use super::routing::Routing;
use crate::domain::contact;
use crate::domain::deal;
use crate::domain::hex;
use crate::domain::lead::Lead;
use crate::domain::phone::{self, Phone};
use crate::domain::plugin::{Fetch, Item, Outcome};
use crate::domain::time::{self, Micros};
use crate::store::{DedupeKey, ItemResult, NewFetch, NewItem, NewLead};

/// Without an id of the source, the same contact, listing and message is the
/// same lead for this long.
const CONTENT_WINDOW: i64 = 10 * Micros::MINUTE;

/// Ids longer than this are hashed into the key: indexes have limits.
const LONGEST_ID: usize = 512;

/// Characters of a name: the interface's bound.
const LONGEST_NAME: usize = 255;

/// The items of a delivery as the store accepts them, each with its connection.
pub async fn items(
    routing: &Routing<'_>,
    items: Vec<Item>,
    now: Micros,
    fetch_until: Micros,
) -> Result<Vec<NewItem>, ConvertError> {
    let mut accepted = Vec::with_capacity(items.len());
    for (index, item) in items.into_iter().enumerate() {
        // What is not meant for anybody needs nobody who answers to its route.
        let connection = match item.outcome {
            Outcome::Lead(_) | Outcome::Fetch(_) => routing.find("connection", &item.route).await?,
            Outcome::Ignored(_) | Outcome::Invalid(_) => Ok(Arc::clone(routing.received_by)),
        };
        let result = match connection {
            Ok(connection) => result(&connection, item.outcome, 1, now, fetch_until),
            Err(why) => ItemResult::Unrouted(why),
        };
        accepted.push(NewItem {
            index: u32::try_from(index).expect("items are bounded"),
            result,
        });
    }
    Ok(accepted)
}

/// One outcome, addressed to its connection. `hop` is that of a further fetch.
pub fn result(
    connection: &Live,
    outcome: Outcome,
    hop: u32,
    now: Micros,
    fetch_until: Micros,
) -> ItemResult {
    match outcome {
        Outcome::Lead(lead) => ItemResult::Lead(Box::new(new_lead(connection, *lead))),
        Outcome::Fetch(fetch) => ItemResult::Fetch(Box::new(new_fetch(
            connection,
            *fetch,
            hop,
            now,
            fetch_until,
        ))),
        Outcome::Ignored(why) => ItemResult::Ignored(why),
        Outcome::Invalid(problem) => ItemResult::Invalid(problem),
    }
}

fn new_fetch(live: &Live, fetch: Fetch, hop: u32, due_at: Micros, until: Micros) -> NewFetch {
    NewFetch {
        connection: live.connection.id.clone(),
        dedupe: fetch.external_id.as_deref().map(id_key),
        external_id: fetch.external_id,
        request: fetch.request,
        state: fetch.state,
        hop,
        due_at,
        until,
    }
}

fn new_lead(live: &Live, lead: Lead) -> NewLead {
    let connection = &live.connection;
    let region = lead.region.as_deref().unwrap_or(&connection.region);
    let phones: Vec<Phone> = lead
        .phones
        .iter()
        .map(|raw| phone::normalise(raw, region))
        .collect();
    let emails: Vec<String> = lead
        .emails
        .iter()
        .filter_map(|raw| contact::email(raw))
        .collect();
    let contact_keys = contact::keys(&phones, &emails);
    let external_id = lead.external_id.clone().filter(|id| !id.trim().is_empty());
    let dedupe = match &external_id {
        Some(id) => Some(id_key(id)),
        None if connection.dedupe_by_content => content_key(&contact_keys, &lead),
        None => None,
    };
    let name = lead
        .name
        .as_deref()
        .map(tidy_name)
        .filter(|name| !name.is_empty());
    let title = title(name.as_deref(), &phones, &emails, &lead);
    NewLead {
        connection: connection.id.clone(),
        agent: connection.agent,
        dedupe,
        action: lead.action,
        products: lead
            .listings
            .iter()
            .map(|listing| listing.reference.clone())
            .collect(),
        deal_props: deal_props(live, &lead, name.as_deref(), &phones),
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

fn id_key(id: &str) -> DedupeKey {
    let key = if id.len() <= LONGEST_ID {
        format!("id:{id}")
    } else {
        format!("id-sha256:{}", hash(&[id]))
    };
    DedupeKey { key, window: None }
}

/// Nothing to recognise by: no key, so the lead is never taken for another's.
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
    hex::of(&hash.finalize())
}

/// Control characters out, runs of white space to one, at most the interface's length.
pub fn tidy_name(raw: &str) -> String {
    let words: Vec<&str> = raw
        .split(|c: char| c.is_whitespace() || c.is_control())
        .filter(|word| !word.is_empty())
        .collect();
    words.join(" ").chars().take(LONGEST_NAME).collect()
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

/// What was said of a deal's person, for [`contact::SAID`]. The contact may be
/// somebody who was known before and keeps what was known; nothing of what came is
/// lost by that.
pub fn said(name: Option<&str>, phones: &[Phone], emails: &[String]) -> Map<String, Value> {
    let mut said = Map::new();
    if let Some(name) = name {
        said.insert("name".into(), json!(name));
    }
    let phones: Vec<_> = phones
        .iter()
        .map(|phone| phone.e164.as_deref().unwrap_or(&phone.raw))
        .filter(|phone| !phone.is_empty())
        .collect();
    if !phones.is_empty() {
        said.insert("phones".into(), json!(phones));
    }
    let emails: Vec<_> = emails
        .iter()
        .map(|raw| contact::email(raw).unwrap_or_else(|| raw.trim().to_owned()))
        .filter(|email| !email.is_empty())
        .collect();
    if !emails.is_empty() {
        said.insert("emails".into(), json!(emails));
    }
    said
}

/// What the deal keeps of the lead: everything that has no column of its own.
fn deal_props(
    live: &Live,
    lead: &Lead,
    name: Option<&str>,
    phones: &[Phone],
) -> Map<String, Value> {
    let mut props = Map::new();
    props.insert(
        "source".into(),
        json!(lead.source.as_deref().unwrap_or(&live.connection.name)),
    );
    props.insert("connection".into(), json!(live.connection.name));
    if let Some(message) = lead.message.as_deref().filter(|text| !text.is_empty()) {
        props.insert("message".into(), json!(message));
    }
    if let Some(at) = &lead.occurred_at {
        let read = time::parse_source(at, &live.connection.time_zone).map(|time| time.text());
        props.insert("occurredAt".into(), json!(read.as_deref().unwrap_or(at)));
    }
    let said = said(name, phones, &lead.emails);
    if !said.is_empty() {
        props.insert(contact::SAID.into(), Value::Object(said));
    }
    if lead.is_test {
        props.insert(deal::TEST.into(), json!(true));
    }
    if !lead.listings.is_empty() {
        let listings: Vec<_> = lead
            .listings
            .iter()
            .map(|listing| json!({"kind": listing.kind, "reference": listing.reference}))
            .collect();
        props.insert("listings".into(), Value::Array(listings));
    }
    if !lead.campaign.is_empty() {
        let campaign: Map<_, _> = lead
            .campaign
            .iter()
            .map(|(name, value)| (name.clone(), json!(value)))
            .collect();
        props.insert("campaign".into(), Value::Object(campaign));
    }
    if !lead.consents.is_empty() {
        let consents: Vec<_> = lead
            .consents
            .iter()
            .map(|consent| json!({"purpose": consent.purpose, "granted": consent.granted, "text": consent.text}))
            .collect();
        props.insert("consents".into(), Value::Array(consents));
    }
    // What was not understood as a phone or an address is not lost.
    let unread: Vec<_> = phones
        .iter()
        .filter(|phone| phone.e164.is_none() && !phone.raw.is_empty())
        .map(|phone| json!(phone.raw))
        .collect();
    if !unread.is_empty() {
        props.insert("unreadPhones".into(), Value::Array(unread));
    }
    let unread: Vec<_> = lead
        .emails
        .iter()
        .filter(|raw| !raw.trim().is_empty() && contact::email(raw).is_none())
        .map(|raw| json!(raw))
        .collect();
    if !unread.is_empty() {
        props.insert("unreadEmails".into(), Value::Array(unread));
    }
    if !lead.attributes.is_empty() {
        props.insert("attributes".into(), Value::Object(lead.attributes.clone()));
    }
    props
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_line_of_bounded_length() {
        assert_eq!(tidy_name(" Ana\u{0}\n  Souza\t"), "Ana Souza");
        assert_eq!(tidy_name(&"x".repeat(10_000)).chars().count(), LONGEST_NAME);
    }

    #[test]
    fn the_parts_of_a_content_key_do_not_run_together() {
        assert_ne!(hash(&["ab", "c"]), hash(&["a", "bc"]));
    }
}
