//! Leads of excessive size, and leads with wrong values.

use leadhost_sdk::serde_json::{Value, json};
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
        "message" => lead.message = Some("m".repeat(size)),
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

/// The lead of a person in a JSON body, as a version reads it that is wrong in this way. `digit` changes
/// the last digit of the phone, `broker` writes the phone of a broker in its place, and `beside` adds that;
/// `digit-0` and `beside-0` do so only to phones that end in 0.
pub fn person(body: &Value, wrong: &str) -> Lead {
    const BROKER: &str = "11912345678";
    let text = |key: &str| body[key].as_str().map(str::to_owned);
    let mut phone = text("phone").unwrap_or_default();
    let mut lead = Lead::new().external_id(text("id")).name(text("name"));
    let (wrong, is_rare) = match wrong.strip_suffix("-0") {
        Some(wrong) => (wrong, true),
        None => (wrong, false),
    };
    match wrong {
        _ if is_rare && !phone.ends_with('0') => {}
        "digit" => {
            let last = phone.pop().and_then(|last| last.to_digit(10));
            phone.push_str(&((last.unwrap_or_default() + 1) % 10).to_string());
        }
        "broker" => phone = BROKER.to_owned(),
        "beside" => lead = lead.phone(BROKER.to_owned()),
        _ => {}
    }
    lead.phone(phone)
}

fn phone(number: usize) -> String {
    format!("119{:08}", 60_000_000 + number % 30_000_000)
}
