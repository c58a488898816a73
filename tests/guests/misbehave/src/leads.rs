//! Leads of excessive size.

use leadhost_sdk::serde_json::json;
use leadhost_sdk::{Item, Lead};

/// A lead with `size` pieces of what the word names, or with one of this many
/// bytes.
pub fn excessive(word: &str, size: usize) -> Lead {
    let mut lead = Lead::new();
    // A valid phone, if the word is about something else.
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

/// This many leads, each with its own id and phone.
pub fn many(delivery: &str, size: usize) -> Vec<Item> {
    let lead = |number| {
        let lead = Lead::new().external_id(format!("{delivery}/{number}"));
        Item::lead(lead.phone(phone(number)))
    };
    (0..size).map(lead).collect()
}

/// A lead of blank texts alone, and one with a phone and an attribute that is not JSON besides them.
pub fn blank() -> Vec<Item> {
    let mut lead = Lead::new().attribute("x", &json!(1));
    lead.external_id = Some(" ".to_owned());
    lead.name = Some("\t".to_owned());
    lead.message = Some("\u{200b}".to_owned());
    lead.phones = vec![String::new(), " \u{a0}".to_owned()];
    lead.emails = vec!["\u{feff}".to_owned()];
    lead.region = Some(" ".to_owned());
    lead.source = Some(String::new());
    lead.campaign = vec![("utm_term".to_owned(), "\u{1}".to_owned())];
    let mut other = lead.clone();
    other.phones.push("11987654321".to_owned());
    other
        .attributes
        .push(("budget".to_owned(), "10 mil".to_owned()));
    vec![Item::lead(lead), Item::lead(other)]
}

fn phone(number: usize) -> String {
    format!("119{:08}", 60_000_000 + number % 30_000_000)
}
