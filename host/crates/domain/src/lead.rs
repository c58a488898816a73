//! A lead as a converter returns it: raw contact data, not normalised, and not yet assigned
//! to a contact or deal.

use serde_json::{Map, Value};

use super::exchange::Pairs;
use super::nothing::{is_no_id, is_nothing, name_in};
use super::word::words;

/// A person's request, as a converter read it.
#[derive(Clone, Debug, PartialEq)]
pub struct Lead {
    pub external_id: Option<String>,
    pub action: Action,
    pub is_test: bool,
    pub name: Option<String>,
    pub phones: Vec<String>,
    pub emails: Vec<String>,
    pub region: Option<String>,
    pub listings: Vec<Listing>,
    pub message: Option<String>,
    pub occurred_at: Option<String>,
    pub source: Option<String>,
    pub consents: Vec<Consent>,
    pub campaign: Pairs,
    pub attributes: Map<String, Value>,
    /// The attributes whose values are not JSON, and kept as texts.
    pub as_text: Vec<String>,
    /// What was cut or left out because it is too long.
    pub cuts: Vec<String>,
}

impl Lead {
    /// Returns whether nothing says whose request it is, or what it is about.
    pub fn says_nothing(&self) -> bool {
        self.external_id.is_none()
            && self.name.is_none()
            && self.phones.is_empty()
            && self.emails.is_empty()
            && self.message.is_none()
            && self.listings.is_empty()
    }

    /// Takes words for nothing and templates that were not filled out of the fields: a lead whose id is
    /// one has none. Such an id, name, message or source stays as an attribute.
    pub fn take_nothings(&mut self) {
        let fields = [
            ("externalId", &mut self.external_id),
            ("name", &mut self.name),
            ("message", &mut self.message),
            ("occurredAt", &mut self.occurred_at),
            ("source", &mut self.source),
        ];
        for (field, text) in fields {
            let Some(word) = text.take() else { continue };
            *text = match field {
                "name" => name_in(&word),
                "externalId" => Some(word.clone()).filter(|word| !is_no_id(word)),
                _ => Some(word.clone()).filter(|word| !is_nothing(word)),
            };
            if text.is_none() && !word.trim().is_empty() {
                let place = self.attributes.entry(field);
                place.or_insert(Value::String(word));
            }
        }
        self.phones.retain(|phone| !is_nothing(phone));
        self.emails.retain(|email| !is_nothing(email));
        self.listings
            .retain(|listing| !is_no_id(&listing.reference));
    }
}

words! {
    /// The change that the source reports for the lead.
    Action: "the action" {
        Create = "create",
        Update = "update",
        Delete = "delete",
    }
}

/// A product that the person asks about, as the source names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listing {
    pub kind: String,
    pub reference: String,
}

/// The person's answer to a request for consent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Consent {
    pub purpose: String,
    pub granted: bool,
    pub text: String,
}
