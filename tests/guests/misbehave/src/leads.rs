//! Leads of a size that no person has.

use leadhost_sdk::serde_json::json;
use leadhost_sdk::{Item, Lead};

/// A lead with `size` of what the word names, or with that of so many bytes.
pub fn excessive(word: &str, size: usize) -> Lead {
    let mut lead = Lead::new();
    // One that is taken, where the word is about something else.
    lead.phones.push("11987654321".to_owned());
    match word {
        "phones" => lead.phones = (0..size).map(phone).collect(),
        "emails" => {
            let address = |number| format!("lead.{number}@example.com");
            lead.emails = (0..size).map(address).collect();
        }
        "listings" => {
            for number in 0..size {
                lead = lead.listing("client", format!("AP-{number}"));
            }
        }
        "attributes" => {
            for number in 0..size {
                lead = lead.attribute(format!("name-{number}"), &json!(number));
            }
        }
        "name" => lead.name = Some("n".repeat(size)),
        "long-attribute" => lead = lead.attribute("long", &json!("a".repeat(size))),
        _ => {}
    }
    lead
}

/// So many leads, each with an id and a phone of its own.
pub fn many(delivery: &str, size: usize) -> Vec<Item> {
    let lead = |number| {
        let lead = Lead::new().external_id(format!("{delivery}/{number}"));
        Item::lead(lead.phone(phone(number)))
    };
    (0..size).map(lead).collect()
}

fn phone(number: usize) -> String {
    format!("119{:08}", 60_000_000 + number % 30_000_000)
}
