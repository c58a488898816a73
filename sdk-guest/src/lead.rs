//! Filling a lead. Setters take a text or an optional one, and leave out empty
//! values, so that a converter can pass on whatever it read.

use serde_json::Value;

use crate::text::present;
use crate::{Consent, Item, Lead, Listing, Problem};

/// Maximum bytes of a long text of a lead: its message, the text of a consent, the
/// value of an attribute or of a campaign's field. A lead with a longer one is
/// invalid.
pub const MAX_TEXT_BYTES: usize = 64 << 10;

/// Maximum bytes of a short text of a lead: an e-mail, an id, a reference, a source's
/// name, the name of an attribute.
pub const MAX_WORD_BYTES: usize = 1 << 10;

/// Maximum attributes of a lead.
pub const MAX_ATTRIBUTES: usize = 200;

/// Maximum bytes of a lead's name, and of a phone as it came.
pub const MAX_NAME_BYTES: usize = 4 << 10;
pub const MAX_PHONE_BYTES: usize = 256;

/// Maximum phones, and e-mails, of a lead.
pub const MAX_PHONES: usize = 20;
pub const MAX_EMAILS: usize = 20;

/// Maximum listings of a lead, and maximum fields of its campaign.
pub const MAX_LISTINGS: usize = 50;
pub const MAX_CAMPAIGN_FIELDS: usize = 100;

impl Default for Lead {
    /// An empty lead.
    fn default() -> Self {
        Self {
            external_id: None,
            action: "create".into(),
            is_test: false,
            name: None,
            phones: Vec::new(),
            emails: Vec::new(),
            region: None,
            listings: Vec::new(),
            message: None,
            occurred_at: None,
            source: None,
            consents: Vec::new(),
            campaign: Vec::new(),
            attributes: Vec::new(),
        }
    }
}

impl Lead {
    /// The same as [`Lead::default`].
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the source's own id of the lead, as text.
    pub fn external_id(mut self, id: impl Into<Option<String>>) -> Self {
        self.external_id = present(id);
        self
    }

    /// Sets the action: `create`, `update` or `delete`.
    pub fn action(mut self, action: &str) -> Self {
        self.action = action.into();
        self
    }

    /// Marks the lead as a test of the source.
    pub fn is_test(mut self, is_test: bool) -> Self {
        self.is_test = is_test;
        self
    }

    /// Sets the person's full name.
    pub fn name(mut self, name: impl Into<Option<String>>) -> Self {
        self.name = present(name);
        self
    }

    /// Adds a phone as the source wrote it; add the best first.
    pub fn phone(mut self, phone: impl Into<Option<String>>) -> Self {
        push(&mut self.phones, phone);
        self
    }

    /// Adds an e-mail address as the source wrote it; add the best first.
    pub fn email(mut self, email: impl Into<Option<String>>) -> Self {
        push(&mut self.emails, email);
        self
    }

    /// Sets the region for phones without a country code, in ISO 3166 alpha-2.
    pub fn region(mut self, region: impl Into<Option<String>>) -> Self {
        self.region = present(region);
        self
    }

    /// Adds a listing: `client`, `portal` or the source's own word, and its
    /// reference; add the best first.
    pub fn listing(mut self, kind: &str, reference: impl Into<Option<String>>) -> Self {
        if let Some(reference) = present(reference) {
            self.listings.push(Listing {
                kind: kind.into(),
                reference,
            });
        }
        self
    }

    /// Sets the person's message.
    pub fn message(mut self, message: impl Into<Option<String>>) -> Self {
        self.message = present(message);
        self
    }

    /// Sets the time: RFC 3339, or local in the connection's time zone.
    pub fn occurred_at(mut self, time: impl Into<Option<String>>) -> Self {
        self.occurred_at = present(time);
        self
    }

    /// Sets the source's name if one connection serves several.
    pub fn source(mut self, source: impl Into<Option<String>>) -> Self {
        self.source = present(source);
        self
    }

    /// Adds a consent: its purpose, whether it was granted, and the text that the person saw.
    pub fn consent(mut self, purpose: &str, granted: bool, text: &str) -> Self {
        self.consents.push(Consent {
            purpose: purpose.into(),
            granted,
            text: text.into(),
        });
        self
    }

    /// Adds a field of the campaign: `campaign-id`, `ad-id`, `form-id` and the like.
    pub fn campaign(mut self, name: &str, value: impl Into<Option<String>>) -> Self {
        if let Some(value) = present(value) {
            self.campaign.push((name.into(), value));
        }
        self
    }

    /// Adds phones as the source wrote them, best first.
    pub fn phones(self, phones: impl IntoIterator<Item = String>) -> Self {
        phones.into_iter().fold(self, Self::phone)
    }

    /// Adds e-mail addresses as the source wrote them, best first.
    pub fn emails(self, emails: impl IntoIterator<Item = String>) -> Self {
        emails.into_iter().fold(self, Self::email)
    }

    /// Adds any other value from the source, if there is one. It keeps its JSON type and digits.
    pub fn attribute(mut self, name: impl Into<String>, value: impl AttributeValue) -> Self {
        if let Some(json) = value.into_json() {
            self.attributes.push((name.into(), json));
        }
        self
    }

    /// Whether nothing in the lead says who it is or what it is about.
    fn is_empty(&self) -> bool {
        let texts = [&self.external_id, &self.name, &self.message];
        texts.iter().all(|text| text.is_none())
            && self.phones.is_empty()
            && self.emails.is_empty()
            && self.listings.is_empty()
    }
}

/// A lead that cannot be read is an invalid item, and the others of the delivery are not affected.
impl From<Result<Lead, Problem>> for Item {
    fn from(read: Result<Lead, Problem>) -> Self {
        read.map_or_else(
            |problem| Self::invalid(problem.message, problem.path),
            Self::from,
        )
    }
}

/// An item with the lead, or an invalid one if there is nothing in it by which the lead is known.
impl From<Lead> for Item {
    fn from(lead: Lead) -> Self {
        if lead.is_empty() {
            Self::invalid(
                "the lead has no id, name, phone, e-mail address, message or listing",
                "",
            )
        } else {
            Self::lead(lead)
        }
    }
}

fn push(list: &mut Vec<String>, text: impl Into<Option<String>>) {
    if let Some(text) = present(text)
        && !list.contains(&text)
    {
        list.push(text);
    }
}

/// A value that can be an attribute: a value of the body, a text, a number, a yes or no, or one of these that
/// may be absent.
pub trait AttributeValue {
    /// Returns the value as JSON. `None`: it is absent, or a blank text.
    fn into_json(self) -> Option<String>;
}

impl AttributeValue for &Value {
    fn into_json(self) -> Option<String> {
        Some(self.to_string())
    }
}

impl<T: AttributeValue> AttributeValue for Option<T> {
    fn into_json(self) -> Option<String> {
        self.and_then(T::into_json)
    }
}

impl AttributeValue for String {
    fn into_json(self) -> Option<String> {
        present(self).map(|text| Value::from(text).to_string())
    }
}

impl AttributeValue for &str {
    fn into_json(self) -> Option<String> {
        self.to_owned().into_json()
    }
}

impl AttributeValue for Vec<String> {
    fn into_json(self) -> Option<String> {
        (!self.is_empty()).then(|| Value::from(self).to_string())
    }
}

macro_rules! plain {
    ($($kind:ty),*) => {$(
        impl AttributeValue for $kind {
            fn into_json(self) -> Option<String> {
                // A number that JSON does not have is absent.
                Some(Value::from(self)).filter(|value| !value.is_null()).map(|value| value.to_string())
            }
        }
    )*};
}

plain!(bool, f64, i64, u64);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_and_repeated_values_are_left_out() {
        let lead = Lead::new()
            .name("  ".to_owned())
            .phone(" 11 90000-0000 ".to_owned())
            .phone("11 90000-0000".to_owned())
            .email(None)
            .listing("client", String::new())
            .campaign("ad-id", None);
        assert_eq!(
            lead,
            Lead {
                phones: vec!["11 90000-0000".into()],
                ..Lead::default()
            }
        );
    }

    #[test]
    fn a_lead_that_cannot_be_read_is_an_invalid_item() {
        let read = |name: &str| match name {
            "" => Err(Problem::new("no name").at("a.b")),
            name => Ok(Lead::new().name(name.to_owned())),
        };
        let items = ["Ana", ""].map(|name| Item::from(read(name)));
        assert!(matches!(items[0].outcome, crate::Outcome::Lead(_)));
        assert_eq!(items[1], Item::invalid("no name", "a.b"));
    }

    #[test]
    fn an_attribute_is_any_value_that_may_be_absent() {
        let read = serde_json::json!({ "floor": 3 });
        let lead = Lead::new()
            .attribute("unit", &read)
            .attribute("floor", read.get("floor"))
            .attribute("none", read.get("none"))
            .attribute("text", Some("10 mil".to_owned()))
            .attribute("blank", " ")
            .attribute("number", 4.5)
            .attribute("endless", f64::NAN)
            .attribute("yes", true);
        let attributes = lead.attributes.iter();
        let attributes: Vec<(&str, &str)> =
            attributes.map(|(name, json)| (&**name, &**json)).collect();
        assert_eq!(
            attributes,
            [
                ("unit", "{\"floor\":3}"),
                ("floor", "3"),
                ("text", "\"10 mil\""),
                ("number", "4.5"),
                ("yes", "true"),
            ]
        );
    }
}
