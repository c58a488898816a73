//! Converts one item of a body to a lead, or to the reason why it is not one.

use leadhost_sdk::html::unescaped;
use leadhost_sdk::nothing::name_in;
use leadhost_sdk::path::Step;
use leadhost_sdk::values::is_test_mark;
use leadhost_sdk::{Delivery, Item, Lead, Outcome, serde_json::Value};

use crate::config::{Attributes, Config, Field};
use crate::explain::{self, Misfit};
use crate::guess::Guess;
use crate::heuristics::looks_like_email;
use crate::leftover;
use crate::pairs;
use crate::people::Identity;
use crate::record::Record;

/// The words of `action` that a host knows.
const ACTIONS: [&str; 3] = ["create", "update", "delete"];

/// An item that was read.
pub struct ReadItem {
    pub item: Item,
    /// The places of people who are kept out of its lead's attributes.
    pub left_out: Vec<String>,
    /// Its explanation, if the configuration asks for one.
    pub explained: Vec<Value>,
    /// The configured fields that got no value, if the item was read.
    pub empty: Option<Vec<String>>,
    /// The configured fields that found a value which does not fit them, with the paths of such values, if
    /// the configuration asks for an explanation.
    pub misfits: Vec<Misfit>,
    /// Paths of values that look like the lead's phone or address, and that no field reads.
    pub unread: Vec<String>,
    /// Paths of words for nothing in place of values of the lead.
    pub nothings: Vec<String>,
}

impl From<Item> for ReadItem {
    fn from(item: Item) -> Self {
        Self {
            item,
            left_out: Vec::new(),
            explained: Vec::new(),
            empty: None,
            misfits: Vec::new(),
            unread: Vec::new(),
            nothings: Vec::new(),
        }
    }
}

/// Returns the item of a value.
/// `person` is the object in it that is the lead's person, if its name does not say so. `is_explained`: whether
/// what was not read is noted.
pub fn item(
    config: &Config,
    delivery: &Delivery,
    body: &Value,
    value: &Value,
    person: Option<&Value>,
    path: &str,
    is_explained: bool,
) -> ReadItem {
    let mut record = Record::new(value, body, delivery);
    record.person = person;
    let mut missing = Vec::new();
    for (index, pairs) in config.pairs.iter().enumerate() {
        record.pairs.extend(pairs::configured(pairs, value, body));
        if pairs.list.find(value, body).is_empty() {
            missing.push(match config.pairs.len() {
                1 => "pairs.in".to_owned(),
                _ => format!("pairs[{index}].in"),
            });
        }
    }
    if config.only.iter().any(|condition| !record.meets(condition)) {
        let item = Item::ignored("the item does not meet the conditions of `only`");
        return item.into();
    }
    if !value.is_object() {
        return Item::invalid("a lead must have named fields", path).into();
    }
    let (mut left_out, mut explained) = (Vec::new(), Vec::new());
    let item = read(config, &mut record, path, &mut left_out, &mut explained);
    let unread = match &item.outcome {
        Outcome::Lead(lead) if is_explained => explain::unread_contacts(&record, lead, &left_out),
        Outcome::Ignored(_) if is_explained => explain::unread_without_lead(&record).0,
        _ => Vec::new(),
    };
    let read = ReadItem {
        item,
        left_out,
        explained,
        empty: Some([missing, record.empty().to_vec()].concat()),
        misfits: if config.explain {
            explain::misfits(&record)
        } else {
            Vec::new()
        },
        unread,
        nothings: if is_explained {
            explain::nothings(&record)
        } else {
            Vec::new()
        },
    };
    if !config.is_guessing() || matches!(read.item.outcome, Outcome::Lead(_)) {
        return read;
    }
    let places = leftover::people_in(value, &[]);
    if places.is_empty() {
        return read;
    }
    let problem = format!(
        "people are under {}, where none is looked for: if they are leads, say so under `items`",
        quoted(&places)
    );
    ReadItem {
        item: Item::invalid(problem, path),
        ..read
    }
}

/// Whether a phone or an address is found in the item without configuration.
pub fn has_contact(delivery: &Delivery, body: &Value, value: &Value) -> bool {
    let mut record = Record::new(value, body, delivery);
    let guess = Guess::new(&mut record);
    !guess.phones(&mut record).is_empty() || !guess.emails(&mut record).is_empty()
}

/// Returns some of the places of people, for readers of a note.
pub fn quoted(places: &[String]) -> String {
    const MOST: usize = 5;
    let quoted = places.iter().take(MOST).map(|place| match place.as_str() {
        "" => "the top".to_owned(),
        place => format!("`{place}`"),
    });
    let quoted = quoted.collect::<Vec<_>>().join(", ");
    match places.len().saturating_sub(MOST) {
        0 => quoted,
        more => format!("{quoted} and {more} more"),
    }
}

fn read<'a>(
    config: &Config,
    record: &mut Record<'a>,
    path: &str,
    left_out: &mut Vec<String>,
    explained: &mut Vec<Value>,
) -> Item {
    let fields = &config.fields;
    let guess = config.defaults.then(|| Guess::new(record));
    let guess = guess.as_ref();
    if let Some(guess) = guess {
        guess.tell_nothings(record);
    }
    let month_first = record.delivery.context_value("region") == Some("US");

    record.reading("externalId", fields.external_id.is_some());
    let external_id = match &fields.external_id {
        Some(field) => record.first(field),
        None => guess.and_then(|guess| guess.external_id(record)),
    };
    record.reading("name", fields.name.is_some());
    let (mut name, name_of_item) = match &fields.name {
        Some(field) => (record.first_name(field), false),
        None => guess
            .and_then(|guess| guess.name(record))
            .map_or((None, false), |(name, of_item)| (Some(name), of_item)),
    };
    record.reading("phones", fields.phones.is_some());
    let phones = match &fields.phones {
        Some(field) => record.phones(field),
        None => guess.map_or(Vec::new(), |guess| guess.phones(record)),
    };
    record.reading("emails", fields.emails.is_some());
    let emails = match &fields.emails {
        Some(field) => record.emails(field),
        None => guess.map_or(Vec::new(), |guess| guess.emails(record)),
    };
    record.reading("message", fields.message.is_some());
    let message = text(record, &fields.message, guess, Guess::message);
    record.reading("listings", fields.listings.is_some());
    let listings = match &fields.listings {
        Some(field) => record
            .all(field)
            .into_iter()
            .map(|found| (found.source.kind.clone(), found.text))
            .map(|(kind, text)| (kind.unwrap_or_else(|| "client".into()), text))
            .collect(),
        None => guess.map_or(Vec::new(), |guess| {
            let found = guess.listings(record).into_iter();
            found.map(|(kind, text)| (kind.to_owned(), text)).collect()
        }),
    };
    record.reading("occurredAt", fields.occurred_at.is_some());
    let occurred_at = match &fields.occurred_at {
        Some(field) => record.time(field, month_first),
        None => guess.and_then(|guess| guess.occurred_at(record, month_first)),
    };
    record.reading("source", fields.source.is_some());
    let source = text(record, &fields.source, guess, Guess::source);
    record.reading("isTest", fields.is_test.is_some());
    let is_test = match &fields.is_test {
        Some(field) => record.truth(field).unwrap_or(false),
        None => guess
            .and_then(|guess| guess.is_test(record))
            .unwrap_or(false),
    } || record.has_test_mark()
        || name.as_deref().is_some_and(is_test_mark);
    record.reading("region", true);
    let region = fields
        .region
        .as_ref()
        .and_then(|field| record.region(field));
    record.reading("action", true);
    let action = fields
        .action
        .as_ref()
        .and_then(|field| record.word(field, &ACTIONS))
        .unwrap_or_else(|| "create".to_owned());

    let contact = !phones.is_empty() || emails.iter().any(|email| looks_like_email(email));
    // An id identifies the lead if it is configured, or if answers came with it.
    let answered =
        fields.external_id.is_some() || record.pairs.iter().any(|pair| !pair.value.is_object());
    let identified = answered && external_id.is_some();
    let event = guess.is_some_and(|guess| guess.looks_like_event);
    let named = name.is_some()
        && !(event && name_of_item)
        && (external_id.is_some() || message.is_some() || !listings.is_empty());
    if !contact && !identified && !named {
        if config.explain {
            explained.extend(explain::item(record));
        }
        let unread = || explain::unread_without_lead(record);
        return item_without_person(event, external_id.is_some(), unread, path);
    }
    if name.is_none() && fields.name.is_none() {
        record.reading("name", false);
        name = guess.and_then(|guess| guess.own_name(record));
    }
    let [name, message] =
        [name, message].map(|text| text.map(|text| unescaped(&text).into_owned()));
    let name = name.and_then(|name| name_in(&name));

    let mut lead = Lead::new()
        .external_id(external_id)
        .action(&action)
        .is_test(is_test)
        .name(name)
        .region(region)
        .message(message)
        .occurred_at(occurred_at)
        .source(source);
    for phone in phones {
        lead = lead.phone(phone);
    }
    for email in emails {
        lead = lead.email(email);
    }
    for (kind, reference) in listings {
        lead = lead.listing(&kind, reference);
    }
    record.reading("campaign", true);
    for (name, field) in &fields.campaign {
        record.reading_part(name);
        lead = lead.campaign(name, record.first(field));
    }
    if let Some(guess) = guess {
        record.reading("campaign", false);
        // Configured fields are not guessed too: otherwise a value under the usual name
        // would count as used without appearing in the lead.
        let wanted = |name: &str| !fields.campaign.contains_key(name);
        for (name, text) in guess.campaign(record, wanted) {
            lead = lead.campaign(name, text);
        }
    }
    record.reading("consents", true);
    for (purpose, field) in &fields.consents {
        record.reading_part(purpose);
        if let Some(granted) = record.is_granted(field) {
            lead = lead.consent(purpose, granted, "");
        }
    }
    if config.explain {
        explained.extend(explain::item(record));
    }
    Item::lead(attributes(&config.attributes, record, lead, left_out))
}

fn text<'a>(
    record: &mut Record<'a>,
    field: &Option<Field>,
    guess: Option<&Guess<'a>>,
    guessed: fn(&Guess<'a>, &mut Record<'a>) -> Option<String>,
) -> Option<String> {
    match field {
        Some(field) => record.first(field),
        None => guess.and_then(|guess| guessed(guess, record)),
    }
}

/// Returns the outcome of an item that names no person: ignored if it is an event or
/// points to a lead that is elsewhere; else a lead that could not be read. `unread`: the paths of
/// contacts that no field reads; with them, an id does not point elsewhere. And of values that are no contacts.
fn item_without_person(
    event: bool,
    has_id: bool,
    unread: impl Fn() -> (Vec<String>, Vec<String>),
    path: &str,
) -> Item {
    if event {
        return Item::ignored("an event that names no person");
    }
    let (unread, unreadable) = unread();
    if !unread.is_empty() {
        let what = if has_id {
            "only an id is under a usual name"
        } else {
            "no phone, e-mail address or id is under a usual name"
        };
        let problem = format!(
            "{what}; what looks like a phone or an e-mail address is under {}: if it is the lead's, say so under `fields`; if not, leave such items out with `only`",
            quoted(&unread)
        );
        return Item::invalid(problem, path);
    }
    if has_id {
        return Item::ignored(
            "an id that names no person: a pointer or a change of a known lead; configure `externalId` to accept it as a lead",
        );
    }
    let problem = match &unreadable[..] {
        [] => "no phone, e-mail address or id is under a usual name; say under `fields` where they are".to_owned(),
        paths => format!(
            "no phone or e-mail address can be read from what is under {}, and no id is under a usual name: correct it at the source, or say under `fields` where they are",
            quoted(paths)
        ),
    };
    Item::invalid(problem, path)
}

fn attributes(
    wanted: &Attributes,
    record: &mut Record<'_>,
    lead: Lead,
    left_out: &mut Vec<String>,
) -> Lead {
    match wanted {
        Attributes::None => lead,
        Attributes::Rest => {
            let own = Identity::new(&lead.phones, &lead.emails);
            let (rest, people) = record.rest(&own);
            left_out.extend(people);
            rest.iter()
                .fold(lead, |lead, (name, value)| lead.attribute(name, value))
        }
        Attributes::Paths(paths) => paths.iter().fold(lead, |lead, path| {
            let name = path.steps.iter().rev().find_map(|step| match step {
                Step::Key(key) => Some(key.as_str()),
                _ => None,
            });
            match (name, record.find(path).as_slice()) {
                (_, []) | (None, _) => lead,
                (Some(name), [one]) => lead.attribute(name, *one),
                (Some(name), many) => {
                    let all = many.iter().map(|value| (*value).clone()).collect();
                    lead.attribute(name, &Value::Array(all))
                }
            }
        }),
        Attributes::Named(named) => {
            named
                .iter()
                .fold(lead, |lead, (name, path)| match record.find(path).first() {
                    Some(value) => lead.attribute(name, *value),
                    None => lead,
                })
        }
    }
}
