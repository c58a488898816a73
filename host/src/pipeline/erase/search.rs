//! Whether a text names a person: by an e-mail address, a number however it is
//! written, or a channel's own name of it. Names of people are not looked for: two
//! people share them.

use std::borrow::Cow;

use percent_encoding::percent_decode_str;
use serde_json::Value;

use crate::store::{Person, UnlinkedDelivery};

/// Digits of the shortest number that is looked for.
const SHORTEST: usize = 8;

/// Digits of the longest country code, which people leave out at home.
const COUNTRY: usize = 3;

#[derive(Clone, Debug, Default)]
pub struct Search {
    /// Lower-case.
    texts: Vec<String>,
    /// Whole numbers, digits alone.
    numbers: Vec<String>,
}

impl Search {
    pub fn of(person: &Person) -> Self {
        let mut search = Self::default();
        let addresses = person
            .keys
            .iter()
            .filter_map(|key| key.strip_prefix("email:"));
        for address in addresses.chain(person.email.as_deref()) {
            add(&mut search.texts, address.to_lowercase());
        }
        for name in person.names() {
            let bare = name.trim_start_matches('+');
            if bare.len() < SHORTEST {
                continue;
            }
            if bare.bytes().all(|byte| byte.is_ascii_digit()) {
                add(&mut search.numbers, bare.to_owned());
            } else {
                add(&mut search.texts, bare.to_lowercase());
            }
        }
        search
    }

    pub fn is_empty(&self) -> bool {
        self.texts.is_empty() && self.numbers.is_empty()
    }

    pub fn finds(&self, delivery: &UnlinkedDelivery) -> bool {
        self.is_in(&delivery.query)
            || self.is_in(&delivery.headers)
            || self.is_in(&String::from_utf8_lossy(&delivery.body))
    }

    /// As it stands, with percent signs decoded, and with JSON's escapes undone.
    fn is_in(&self, text: &str) -> bool {
        if self.is_plainly_in(text) {
            return true;
        }
        if text.contains('%') {
            let decoded: Cow<'_, str> = percent_decode_str(text).decode_utf8_lossy();
            if self.is_plainly_in(&decoded) {
                return true;
            }
        }
        if text.contains('\\') {
            let value: Option<Value> = serde_json::from_str(text).ok();
            return value.is_some_and(|value| self.is_in_value(&value));
        }
        false
    }

    fn is_in_value(&self, value: &Value) -> bool {
        match value {
            Value::String(text) => self.is_plainly_in(text),
            Value::Array(values) => values.iter().any(|value| self.is_in_value(value)),
            Value::Object(fields) => fields
                .iter()
                .any(|(name, value)| self.is_plainly_in(name) || self.is_in_value(value)),
            Value::Null | Value::Bool(_) | Value::Number(_) => false,
        }
    }

    fn is_plainly_in(&self, text: &str) -> bool {
        if !self.texts.is_empty() {
            let lower = text.to_lowercase();
            if self.texts.iter().any(|wanted| lower.contains(wanted)) {
                return true;
            }
        }
        !self.numbers.is_empty() && numbers(text).any(|number| self.is_number(&number))
    }

    /// With or without country code, zero or zeros before it.
    fn is_number(&self, written: &str) -> bool {
        let bare = written.trim_start_matches('0');
        bare.len() >= SHORTEST
            && self.numbers.iter().any(|number| {
                number
                    .strip_suffix(bare)
                    .is_some_and(|country| country.len() <= COUNTRY)
            })
    }
}

fn add(to: &mut Vec<String>, text: String) {
    if !text.is_empty() && !to.contains(&text) {
        to.push(text);
    }
}

/// What may be numbers of phones: digits with what people write between them.
fn numbers(text: &str) -> impl Iterator<Item = String> + '_ {
    text.split(|c: char| !c.is_ascii_digit() && !matches!(c, ' ' | '+' | '-' | '.' | '(' | ')'))
        .filter(|part| part.len() >= SHORTEST)
        .map(|part| part.chars().filter(char::is_ascii_digit).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::id::{ContactId, WorkspaceId};
    use crate::domain::time::Micros;

    fn search() -> Search {
        Search::of(&Person {
            workspace: WorkspaceId::new(Micros(1)),
            id: ContactId::new(Micros(1)),
            keys: vec![
                "phone:+551187654321".to_owned(),
                "email:rita@example.com".to_owned(),
                "whatsapp:5511987654321".to_owned(),
                "whatsapp:BR.13491208655302741918".to_owned(),
            ],
            email: None,
            phone_number: Some("+5511987654321".to_owned()),
        })
    }

    #[test]
    fn a_person_is_found_however_it_is_written() {
        for text in [
            r#"{"email":"Rita@Example.com"}"#,
            r#"{"email":"rita\u0040example.com"}"#,
            "email=rita%40example.com",
            r#"{"phone":"+55 (11) 98765-4321"}"#,
            r#"{"phone":11987654321}"#,
            r#"{"phone":"011 98765.4321"}"#,
            "phone=%2B55%2811%29+98765-4321",
            r#"{"wa_id":"551187654321"}"#,
            "005511987654321",
            r#"{"from":"br.13491208655302741918"}"#,
        ] {
            assert!(search().is_in(text), "{text}");
        }
    }

    #[test]
    fn nobody_else_is_taken_for_the_person() {
        for text in [
            "",
            r#"{"email":"margarita@example.org"}"#,
            r#"{"phone":"+55 11 98765-4322"}"#,
            r#"{"phone":"+55 21 98765-4321"}"#,
            // Two numbers that only together have its digits.
            r#"{"a":119876,"b":54321}"#,
            r#"{"id":"9911987654321"}"#,
            "4321",
        ] {
            assert!(!search().is_in(text), "{text}");
        }
        assert!(Search::default().is_empty());
    }
}
