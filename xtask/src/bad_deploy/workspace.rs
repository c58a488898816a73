//! The workspace as its partner and its data client see it.

use std::collections::BTreeMap;

use serde_json::Value;
use xtask::double::http::{Received, encoded};

use super::portal;
use crate::client;
use crate::failure::Failure;

pub struct Workspace {
    /// The gateway, which serves the data API too.
    gateway: String,
    pub connection: String,
    pub partner_key: String,
    workspace_key: String,
}

#[derive(Clone)]
pub struct Lead {
    pub id: String,
    pub deal: String,
    pub contact: String,
    /// Phone, name, e-mail address and message.
    pub values: [Option<String>; 4],
    /// The stamps of the rows of its deal and its contact.
    pub stamps: [String; 2],
}

impl Workspace {
    pub fn applied(gateway: &str, printed: &str) -> Result<Self, Failure> {
        let word = |start: &str| {
            let mut words = printed.split_whitespace();
            let found = words.find(|word| word.starts_with(start));
            found.map(str::to_owned).ok_or_else(|| {
                Failure::new(format!("`leadhost apply` printed no word with {start}"))
            })
        };
        Ok(Self {
            gateway: gateway.to_owned(),
            connection: word("/ingest-lead/")?,
            partner_key: word("pk_")?,
            workspace_key: word("mk_")?,
        })
    }

    pub fn address(&self, deal: &str) -> String {
        format!("http://{}/deal/{deal}", self.gateway)
    }

    pub fn deal(&self, deal: &str, change: Option<&Value>) -> Result<Received, Failure> {
        let body = change.map(Value::to_string).unwrap_or_default();
        let mut headers = vec![("x-service-api-key", self.partner_key.clone())];
        if change.is_some() {
            headers.push(("Content-Type", "application/json".to_owned()));
        }
        let method = if change.is_some() { "PATCH" } else { "GET" };
        let path = format!("/deal/{deal}");
        client::send(&self.gateway, method, &path, &headers, &body)
    }

    pub fn leads(&self) -> Result<Vec<Lead>, Failure> {
        // In this order: the contact of a deal is there when the deal is.
        let deals = self.rows("deals")?;
        let contacts = self.rows("contacts")?;
        let contacts: BTreeMap<&str, &Value> = contacts
            .iter()
            .filter_map(|contact| Some((contact["id"].as_str()?, contact)))
            .collect();
        deals
            .iter()
            .map(|deal| {
                let person = deal["person_id"].as_str().unwrap_or_default();
                let contact = contacts.get(person).ok_or_else(|| {
                    Failure::new(format!("the export has no contact of the deal {deal}"))
                })?;
                Ok(Lead {
                    id: text(&deal["external_id"]),
                    deal: text(&deal["id"]),
                    contact: person.to_owned(),
                    values: [
                        &contact["phone_number"],
                        &contact["name"],
                        &contact["email"],
                        &deal["props"]["message"],
                    ]
                    .map(|value| value.as_str().map(str::to_owned)),
                    stamps: [text(&deal["cursor_at"]), text(&contact["cursor_at"])],
                })
            })
            .collect()
    }

    /// Returns the rows of all deals and contacts by their ids, without their stamps.
    pub fn snapshot(&self) -> Result<BTreeMap<String, Value>, Failure> {
        let mut rows = self.rows("deals")?;
        rows.append(&mut self.rows("contacts")?);
        let without_stamps = rows.into_iter().map(|mut row| {
            row["cursor_at"].take();
            row["updated_at"].take();
            (text(&row["id"]), row)
        });
        Ok(without_stamps.collect())
    }

    fn rows(&self, entity: &str) -> Result<Vec<Value>, Failure> {
        let headers = [("Authorization", format!("Bearer {}", self.workspace_key))];
        let mut rows = Vec::new();
        let mut cursor = String::new();
        loop {
            let path = format!("/v1/export/{entity}?limit=1000{cursor}");
            let answer = client::send(&self.gateway, "GET", &path, &headers, "")?;
            let mut page = client::json(&answer)?;
            let Some(data) = page["data"].as_array_mut() else {
                return Err(Failure::new(format!("{path}: {}", answer.body)));
            };
            rows.append(data);
            match page["next_cursor"].as_str() {
                Some(next) => cursor = format!("&cursor={}", encoded(next)),
                None => return Ok(rows),
            }
        }
    }
}

impl Lead {
    /// Returns whether it has other values than the portal sent.
    pub fn is_harmed(&self) -> bool {
        portal::person(&self.id).map(portal::values).as_ref() != Some(&self.values)
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
