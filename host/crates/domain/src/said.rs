//! What one partner said of a person: in its own deals, and in its own notifications. Where a
//! workspace has several partners, a partner sees no other value of the person.

use serde_json::Value;

use super::contact;
use super::deal::PersonPart;

/// The property of what a notification said with its instructions for the assistant.
pub const INSTRUCTIONS: &str = "specialInstructions";

#[derive(Debug, Default)]
pub struct Said {
    names: Vec<String>,
    /// E.164.
    phones: Vec<String>,
    emails: Vec<String>,
    instructions: Vec<String>,
}

impl Said {
    /// Adds older values, as [`contact::SAID`] holds them. Those that could not be read are left out.
    pub fn add(&mut self, said: &Value) {
        self.names.extend(contact::said(said, "name"));
        self.phones.extend(contact::said(said, "phones"));
        self.emails.extend(contact::said(said, "emails"));
        self.instructions
            .extend(contact::texts(&said[INSTRUCTIONS]));
    }

    /// Returns the match keys of the phones and addresses.
    pub fn keys(&self) -> Vec<String> {
        contact::keys_of(&self.phones, &self.emails)
    }

    /// Keeps the values of a person that this partner's leads gave, and replaces the others with values that
    /// they did give: first with `first`, such as the shown deal's.
    pub fn limit(&self, first: &Value, person: &mut PersonPart) {
        let mut own = Self::default();
        own.add(first);
        let limit = |value: &mut Option<String>, own: &[String], all: &[String]| {
            let stays = value.as_ref().is_some_and(|value| all.contains(value));
            if !stays {
                *value = own.first().or(all.first()).cloned();
            }
        };
        limit(&mut person.name, &own.names, &self.names);
        limit(&mut person.email, &own.emails, &self.emails);
        limit(&mut person.phone_number, &own.phones, &self.phones);
    }

    /// Returns whether these instructions were given.
    pub fn has_instructions(&self, text: &str) -> bool {
        self.instructions.iter().any(|own| own == text)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn person(name: Option<&str>, email: Option<&str>, phone: Option<&str>) -> PersonPart {
        PersonPart {
            id: "p".to_owned(),
            name: name.map(str::to_owned),
            email: email.map(str::to_owned),
            phone_number: phone.map(str::to_owned),
        }
    }

    #[test]
    fn a_person_has_the_values_that_were_said_and_no_others() {
        let (old, new) = ("ana@example.com", "bia@example.com");
        let phone = "+5511987654321";
        let whole = person(Some("Ana"), Some(old), Some(phone));
        for (said, expect) in [
            (vec![], person(None, None, None)),
            (
                vec![
                    json!({"name": "Bia", "emails": [new]}),
                    json!({"name": "Ana", "emails": [old]}),
                ],
                person(Some("Ana"), Some(old), None),
            ),
            (
                vec![
                    json!({"name": "Bia", "emails": ["?", new], "phones": ["12", phone]}),
                    json!({"name": "B."}),
                ],
                person(Some("Bia"), Some(new), Some(phone)),
            ),
        ] {
            let mut own = Said::default();
            said.iter().for_each(|said| own.add(said));
            let mut shown = whole.clone();
            own.limit(&Value::Null, &mut shown);
            assert_eq!(shown, expect);
        }
        let mut own = Said::default();
        own.add(&json!({"name": "Newest", "emails": ["new@example.com"]}));
        own.add(&json!({"name": "This", "phones": [phone]}));
        let mut shown = whole.clone();
        own.limit(&json!({"name": "This", "phones": [phone]}), &mut shown);
        assert_eq!(
            shown,
            person(Some("This"), Some("new@example.com"), Some(phone))
        );
        assert_eq!(own.keys(), ["phone:+551187654321", "email:new@example.com"]);
    }
}
