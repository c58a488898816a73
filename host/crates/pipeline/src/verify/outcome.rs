//! The outcome of a delivery under one version, as fields that can be compared. The values are
//! those that a commit would store: phones and addresses are normalised, so a difference in their
//! form alone does not count. The outcome of a send is in [`composed`](super::composed).

use serde_json::Map;

use crate::prelude::*;
use leadhost_domain::contact;
use leadhost_domain::deal::ATTRIBUTES;
use leadhost_domain::difference::ItemKind;
use leadhost_domain::lead::Action;
use leadhost_domain::message::MessageState;
use leadhost_domain::phone::Phone;
use leadhost_store::{Event, NewEvent, NewFetch};

/// The fields of an item by their names: a missing value is a missing field.
pub type ItemFields = BTreeMap<String, FieldValue>;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FieldValue {
    One(String),
    /// A field with several values, whose order means nothing.
    Many(BTreeSet<String>),
}

#[derive(Clone, Debug, PartialEq)]
pub enum VersionOutcome {
    /// The items of the delivery; or the request of the send, and the reading of an answer.
    Converted(Vec<OutcomeItem>),
    Refused(Reason),
    Failed(Reason),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// In the words of the service. They quote the values of a delivery.
    Service(String),
    /// In the words of the plugin, which may name a person.
    Plugin(String),
}

impl Reason {
    pub fn as_str(&self) -> &str {
        match self {
            Self::Service(words) | Self::Plugin(words) => words,
        }
    }

    #[must_use]
    pub fn after(self, begin: &str) -> Self {
        match self {
            Self::Service(words) => Self::Service(format!("{begin}{words}")),
            Self::Plugin(words) => Self::Plugin(format!("{begin}{words}")),
        }
    }
}

impl From<&CallError> for Reason {
    fn from(error: &CallError) -> Self {
        match error {
            CallError::Trapped { .. }
            | CallError::OutOfTime { .. }
            | CallError::OutOfMemory { .. }
            | CallError::TooMuchOutput { .. }
            | CallError::Lacks { .. }
            | CallError::Busy
            | CallError::ShuttingDown => Self::Service(error.to_string()),
            // Both repeat what the plugin has answered.
            CallError::Refused { .. } | CallError::CircuitOpen { .. } => {
                Self::Plugin(error.to_string())
            }
        }
    }
}

/// One item. What identifies an event is among its fields too: an event of another message that takes
/// its place is a difference.
#[derive(Clone, Debug, PartialEq)]
pub struct OutcomeItem {
    pub kind: ItemKind,
    /// Identifies it within the delivery, besides its place.
    pub key: Option<String>,
    pub fields: ItemFields,
}

impl VersionOutcome {
    pub fn from_items<'a>(items: impl IntoIterator<Item = &'a ItemResult>) -> Self {
        Self::Converted(items.into_iter().map(OutcomeItem::from).collect())
    }
}

impl From<&ItemResult> for OutcomeItem {
    fn from(item: &ItemResult) -> Self {
        let reason =
            |why: &str| ItemFields::from([("reason".to_owned(), FieldValue::One(why.to_owned()))]);
        let (kind, key, fields) = match item {
            ItemResult::Lead(lead) => (ItemKind::Lead, lead.external_id.clone(), lead_fields(lead)),
            ItemResult::Fetch(fetch) => (
                ItemKind::Fetch,
                fetch.external_id.clone(),
                fetch_fields(fetch),
            ),
            ItemResult::Event(event) => return Self::from(&**event),
            // The reason is not compared: a different one does no harm.
            ItemResult::Ignored(_) => (ItemKind::Ignored, None, ItemFields::new()),
            ItemResult::Invalid(problem) => (ItemKind::Invalid, None, reason(&problem.to_string())),
            ItemResult::Unrouted(why) => (ItemKind::Unrouted, None, reason(why)),
        };
        Self { kind, key, fields }
    }
}

impl From<&NewEvent> for OutcomeItem {
    fn from(new: &NewEvent) -> Self {
        let mut fields = Collected::default();
        fields.list("ids", new.further_keys.iter().map(String::as_str));
        let key = match &new.event {
            Event::Status {
                external_id,
                progress,
                word,
                recipient_id,
                at,
                ..
            } => {
                fields.add("event", Some("status"));
                fields.add("externalId", Some(external_id.clone()));
                fields.add("state", progress.state().map(MessageState::as_str));
                fields.add("word", Some(word.clone()));
                fields.add("recipient", recipient_id.clone());
                fields.add("at", Some(at.text()));
                Some(format!("{external_id} {word}"))
            }
            Event::Inbound(inbound) => {
                fields.add("event", Some("message"));
                fields.add("externalId", Some(inbound.external_id.clone()));
                fields.add("sender", Some(inbound.sender_id.clone()));
                fields.add("name", inbound.name.clone());
                let phone = inbound.phone.as_ref();
                fields.add("phone", phone.map(Phone::best));
                fields.add("kind", Some(inbound.kind));
                fields.add("text", inbound.content.clone());
                fields.add("replyTo", inbound.reply_to.clone());
                fields.add("at", Some(inbound.at.text()));
                fields.props(&format!("{ATTRIBUTES}."), &inbound.attributes);
                Some(inbound.external_id.clone())
            }
            Event::Template {
                name,
                language,
                status,
                reason,
            } => {
                fields.add("event", Some("template"));
                fields.add("template", Some(format!("{name} {language}")));
                fields.add("status", Some(status.clone()));
                fields.add("reason", Some(reason.clone()));
                Some(format!("{name} {language}"))
            }
            Event::Consent {
                contact_keys,
                opt_out,
                at,
            } => {
                fields.add("event", Some("consent"));
                fields.list("contact", contact_keys.iter().map(String::as_str));
                fields.add("optOut", Some(opt_out.to_string()));
                fields.add("at", Some(at.text()));
                Some(contact_keys.join(" "))
            }
            Event::Number {
                contact_keys,
                new_keys,
                phone,
            } => {
                fields.add("event", Some("number"));
                fields.list("contact", contact_keys.iter().map(String::as_str));
                fields.list("keys", new_keys.iter().map(String::as_str));
                let phone = phone.as_ref();
                fields.add("phone", phone.and_then(|phone| phone.e164.clone()));
                Some(contact_keys.join(" "))
            }
        };
        Self {
            kind: ItemKind::Event,
            key,
            fields: fields.0,
        }
    }
}

/// Collects fields, without those that have no value.
#[derive(Default)]
struct Collected(ItemFields);

impl Collected {
    fn add(&mut self, name: &str, value: Option<impl Into<String>>) {
        if let Some(value) = value.map(Into::into).filter(|text| !text.is_empty()) {
            self.0.insert(name.to_owned(), FieldValue::One(value));
        }
    }

    fn list<'a>(&mut self, name: &str, values: impl IntoIterator<Item = &'a str>) {
        let values: BTreeSet<_> = values.into_iter().map(str::to_owned).collect();
        if !values.is_empty() {
            self.0.insert(name.to_owned(), FieldValue::Many(values));
        }
    }

    /// Adds each property under its name, and each attribute of the source under its own. The
    /// names of attributes are the source's: the prefix keeps them apart from fields.
    fn props(&mut self, prefix: &str, props: &Map<String, Value>) {
        for (name, value) in props {
            match value {
                Value::Object(members) if name == ATTRIBUTES => {
                    self.props(&format!("{prefix}{ATTRIBUTES}."), members);
                }
                // The values for the person, which are fields already.
                _ if name == contact::SAID => {}
                value => self.add(&format!("{prefix}{name}"), shown(value)),
            }
        }
    }
}

fn shown(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}

fn lead_fields(lead: &NewLead) -> ItemFields {
    let mut fields = Collected::default();
    let action = match lead.action {
        Action::Create => "create",
        Action::Update => "update",
        Action::Delete => "delete",
    };
    let phones = lead.phones.iter();
    fields.add("action", Some(action));
    fields.add("externalId", lead.external_id.clone());
    fields.add("name", lead.name.clone());
    fields.list("phone", phones.map(Phone::best));
    fields.list("email", lead.emails.iter().map(String::as_str));
    fields.list("listing", lead.products.iter().map(String::as_str));
    fields.add("title", lead.title.clone());
    fields.props("", &lead.deal_props);
    fields.props("contact.", &lead.contact_props);
    fields.0
}

fn fetch_fields(fetch: &NewFetch) -> ItemFields {
    let mut fields = Collected::default();
    fields.add("connection", Some(fetch.connection.as_str()));
    fields.add("externalId", fetch.external_id.clone());
    // Slots of a stored request are empty: it contains no secret.
    fields.add("request", serde_json::to_string(&fetch.request).ok());
    fields.0
}
