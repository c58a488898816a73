//! The properties of a deal: everything of its lead that has no column of its own, as far
//! as it fits, the most important first: the origin, the message, the person, the listings;
//! then attributes. The rest stays in the raw delivery, and a note says so.

use serde_json::Map;

use crate::mask::Mask;
use crate::prelude::*;
use leadhost_domain::json as text;
use leadhost_domain::lead::Lead;
use leadhost_domain::phone::Phone;
use leadhost_domain::provenance::OCCURRED_AT;
use leadhost_domain::source_time;
use leadhost_domain::{contact, deal};

/// The end of a cut message.
const CUT: &str = " […]";

/// The properties with the phones and addresses that could not be read.
const UNREAD_PHONES: &str = "unreadPhones";
const UNREAD_EMAILS: &str = "unreadEmails";

/// Properties, and the names of those that did not fit.
pub struct BoundedProps {
    pub props: Map<String, Value>,
    pub left_out: Vec<String>,
}

/// Returns the properties of the deal. `name` and `phones` are those that could be read.
pub fn deal_props(live: &Live, lead: Lead, name: Option<&str>, phones: &[Phone]) -> BoundedProps {
    let mut kept = PropsBuilder::new(limits::DEAL_PROPS_BYTES);
    let connection = &live.connection;
    let source = lead.source.as_deref().unwrap_or(&connection.name);
    kept.put("source", json!(source));
    kept.put("connection", json!(connection.name));
    if lead.is_test {
        kept.put(deal::TEST, json!(true));
    }
    if let Some(at) = &lead.occurred_at {
        let read = source_time::parse(at, &connection.time_zone).map(|time| time.text());
        kept.put(OCCURRED_AT, json!(read.as_deref().unwrap_or(at)));
    }
    if let Some(message) = lead.message.filter(|text| !text.is_empty()) {
        kept.message(message);
    }
    kept.put_person(person_values(name, phones, &lead.emails));
    // Phones and addresses that could not be read are kept.
    let unread = phones
        .iter()
        .filter(|phone| phone.e164.is_none() && !phone.raw.is_empty());
    kept.list(UNREAD_PHONES, unread.map(|phone| json!(phone.raw)));
    let unread = lead
        .emails
        .iter()
        .filter(|raw| !raw.trim().is_empty() && contact::email(raw).is_none());
    kept.list(UNREAD_EMAILS, unread.map(|raw| json!(raw)));
    let listings = lead
        .listings
        .iter()
        .map(|listing| json!({"kind": listing.kind, "reference": listing.reference}));
    kept.list("listings", listings);
    let campaign = lead.campaign.into_iter();
    kept.fields(
        "campaign",
        campaign.map(|(name, value)| (name, Value::String(value))),
    );
    let consents = lead.consents.iter().map(|consent| {
        json!({"purpose": consent.purpose, "granted": consent.granted, "text": consent.text})
    });
    kept.list("consents", consents);
    kept.fields(deal::ATTRIBUTES, lead.attributes.into_iter());
    // A plugin may decode what the host does not, such as Base64.
    let mask = Mask::new(&live.secrets);
    kept.props.values_mut().for_each(|value| mask.json(value));
    kept.done()
}

/// Returns the lead's values for the person, for [`contact::SAID`]. An existing contact
/// keeps its own values, so this keeps the new ones.
pub fn person_values(
    name: Option<&str>,
    phones: &[Phone],
    emails: &[String],
) -> Map<String, Value> {
    let mut said = Map::new();
    if let Some(name) = name {
        said.insert("name".into(), json!(name));
    }
    let phones: Vec<_> = phones
        .iter()
        .map(Phone::best)
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

/// Adds notes about the properties of leads that did not fit or are not JSON.
pub fn note_properties<'r>(results: impl Iterator<Item = &'r ItemResult>, notes: &mut Vec<String>) {
    let mut leads = results.filter_map(|result| match result {
        ItemResult::Lead(lead) if !lead.left_out.is_empty() || !lead.as_text.is_empty() => {
            Some(lead)
        }
        _ => None,
    });
    for lead in leads.by_ref().take(limits::LEFT_OUT_LEADS) {
        let whose = match &lead.external_id {
            Some(id) => format!("lead {}", short(id)),
            None => "a lead".to_owned(),
        };
        let no_room = || deal::no_room(&whose, &lead.left_out);
        let no_json = || deal::no_json(&whose, &lead.as_text);
        let of_lead = [
            (!lead.left_out.is_empty()).then(no_room),
            (!lead.as_text.is_empty()).then(no_json),
        ];
        for note in of_lead.into_iter().flatten() {
            if !notes.contains(&note) {
                notes.push(note);
            }
        }
    }
    let others = leads.count();
    if others > 0 {
        notes.push(format!(
            "{others} more leads have properties that did not fit in their deals or are not JSON"
        ));
    }
}

/// Adds a note if a lead has a phone or an address that could not be read: its contact is not found by it.
pub fn note_unread<'r>(results: impl Iterator<Item = &'r ItemResult>, notes: &mut Vec<String>) {
    let leads: Vec<_> = results
        .filter_map(|result| match result {
            ItemResult::Lead(lead) => Some(lead),
            _ => None,
        })
        .collect();
    for (prop, what) in [
        (UNREAD_PHONES, "a phone is no number of the lead's region"),
        (UNREAD_EMAILS, "an e-mail address is not valid"),
    ] {
        if leads.iter().any(|lead| lead.deal_props.contains_key(prop)) {
            notes.push(format!(
                "{what}: the deal has it in `{prop}`, and no message can be sent to it"
            ));
        }
    }
}

struct PropsBuilder {
    props: Map<String, Value>,
    room: usize,
    left_out: Vec<String>,
}

impl PropsBuilder {
    fn new(bytes: usize) -> Self {
        Self {
            props: Map::new(),
            room: bytes.saturating_sub("{}".len()),
            left_out: Vec::new(),
        }
    }

    fn done(self) -> BoundedProps {
        BoundedProps {
            props: self.props,
            left_out: self.left_out,
        }
    }

    fn takes(&mut self, bytes: usize) -> bool {
        let left = self.room.checked_sub(bytes);
        self.room = left.unwrap_or(self.room);
        left.is_some()
    }

    fn put(&mut self, name: &str, value: Value) {
        if self.takes(bytes_of(name, &value)) {
            self.props.insert(name.to_owned(), value);
        } else {
            self.left_out.push(name.to_owned());
        }
    }

    fn message(&mut self, message: String) {
        let most = limits::DEAL_MESSAGE_BYTES;
        if text::length(&message) <= most {
            return self.put("message", Value::String(message));
        }
        let kept = prefix(&message, most - CUT.len());
        let cut = deal::cut_from("message", message.len(), kept.len());
        self.left_out.push(cut);
        self.put("message", json!(format!("{kept}{CUT}")));
    }

    /// Keeps the name in any case, and the first phones and e-mail addresses.
    fn put_person(&mut self, mut said: Map<String, Value>) {
        for list in ["emails", "phones"] {
            while bytes_of(contact::SAID, &said) > self.room
                && let Some(Value::Array(values)) = said.get_mut(list)
                && values.pop().is_some()
            {
                let place = values.len();
                self.left_out
                    .push(format!("{}.{list}[{place}]", contact::SAID));
            }
        }
        if !said.is_empty() {
            self.put(contact::SAID, Value::Object(said));
        }
    }

    fn list(&mut self, name: &str, values: impl Iterator<Item = Value>) {
        let mut values = values.enumerate().peekable();
        if values.peek().is_none() {
            return;
        }
        let mut kept = Vec::new();
        if self.takes(bytes_of(name, &json!([]))) {
            while let Some((_, value)) = values.peek()
                && self.takes(text::length(value) + ",".len())
            {
                kept.extend(values.next().map(|(_, value)| value));
            }
        }
        self.left_out
            .extend(values.map(|(place, _)| format!("{name}[{place}]")));
        if !kept.is_empty() {
            self.props.insert(name.to_owned(), Value::Array(kept));
        }
    }

    fn fields(&mut self, name: &str, values: impl Iterator<Item = (String, Value)>) {
        let mut kept = Map::new();
        let mut values = values.peekable();
        let has_room = values.peek().is_none() || self.takes(bytes_of(name, &json!({})));
        for (key, value) in values {
            if has_room && self.takes(bytes_of(&key, &value)) {
                kept.insert(key, value);
            } else {
                self.left_out.push(format!("{name}.{}", short(&key)));
            }
        }
        if !kept.is_empty() {
            self.props.insert(name.to_owned(), Value::Object(kept));
        }
    }
}

/// Bytes of a member with its colon and comma.
fn bytes_of(name: &str, value: &impl serde::Serialize) -> usize {
    text::length(&name) + text::length(value) + ":,".len()
}

/// Returns the longest beginning that has at most so many bytes as JSON text, quotes
/// included.
fn prefix(message: &str, bytes: usize) -> &str {
    let mut room = bytes.saturating_sub("\"\"".len());
    let mut buffer = [0; 4];
    for (at, character) in message.char_indices() {
        let character = &*character.encode_utf8(&mut buffer);
        let own = text::length(&character) - "\"\"".len();
        match room.checked_sub(own) {
            Some(left) => room = left,
            None => return &message[..at],
        }
    }
    message
}

fn short(name: &str) -> String {
    const SHOWN: usize = 64;
    match name.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}...", &name[..end]),
        None => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(bytes: usize, fill: impl FnOnce(&mut PropsBuilder)) -> BoundedProps {
        let mut filling = PropsBuilder::new(bytes);
        fill(&mut filling);
        let kept = filling.done();
        let length = text::length(&kept.props);
        assert!(length <= bytes, "{length} of {bytes}");
        kept
    }

    #[test]
    fn a_value_that_does_not_fit_is_named_and_shorter_ones_are_kept() {
        let long = "x".repeat(80);
        let kept = filled(100, |filling| {
            filling.put("source", json!("site"));
            filling.put("long", json!(long));
            let fields = [("a".to_owned(), json!(long)), ("b".to_owned(), json!(1.50))];
            filling.fields("attributes", fields.into_iter());
            filling.list("consents", [json!(1), json!(long), json!(2)].into_iter());
            filling.list("none", [].into_iter());
        });
        assert_eq!(
            Value::Object(kept.props),
            json!({"source": "site", "attributes": {"b": 1.50}, "consents": [1]})
        );
        assert_eq!(
            kept.left_out,
            ["long", "attributes.a", "consents[1]", "consents[2]"]
        );
    }

    #[test]
    fn properties_of_every_size_keep_within_their_bytes() {
        let texts = ["", "é\"\n", "\u{1}\u{1}\u{1}", "plain", "\\\\", "😀"];
        let fields: Vec<_> = (0..40)
            .map(|at| {
                (
                    format!("n{at}\u{1}"),
                    json!(texts[at % texts.len()].repeat(at)),
                )
            })
            .collect();
        for bytes in (2..3_000).step_by(31) {
            filled(bytes, |filling| {
                filling.put("source", json!("a source"));
                filling.list("listings", fields.iter().map(|(_, value)| value.clone()));
                filling.fields("attributes", fields.iter().cloned());
            });
        }
    }

    #[test]
    fn a_long_message_ends_with_a_mark_and_its_json_is_no_longer_than_it_may_be() {
        let most = limits::DEAL_MESSAGE_BYTES;
        for text in ["x", "é", "\u{1}", "\"", "😀"] {
            let message = text.repeat(most);
            let kept = filled(limits::DEAL_PROPS_BYTES, |filling| {
                filling.message(message.clone())
            });
            let shown = kept.props["message"].as_str().expect("a text");
            assert!(shown.ends_with(CUT) && message.starts_with(shown.trim_end_matches(CUT)));
            let length = text::length(&kept.props["message"]);
            assert!(length <= most && length > most - 16, "{text:?}: {length}");
            assert!(
                kept.left_out[0].starts_with("the end of message (cut from "),
                "{:?}",
                kept.left_out
            );
        }
        let whole = "x".repeat(most - 2);
        let kept = filled(limits::DEAL_PROPS_BYTES, |filling| {
            filling.message(whole.clone())
        });
        assert_eq!(kept.props["message"], json!(whole));
        assert!(kept.left_out.is_empty());
    }

    #[test]
    fn the_first_phones_and_emails_that_fit_are_kept() {
        let emails: Vec<_> = (0..20)
            .map(|at| format!("{at}{}", "\u{1}".repeat(1_000)))
            .collect();
        let said = person_values(Some("Ana"), &[], &emails);
        let kept = filled(limits::DEAL_PROPS_BYTES, |filling| filling.put_person(said));
        let said = &kept.props[contact::SAID];
        assert_eq!(said["name"], "Ana");
        assert_eq!(said["emails"].as_array().map(Vec::len), Some(10));
        assert_eq!(kept.left_out.len(), 10);
    }
}
