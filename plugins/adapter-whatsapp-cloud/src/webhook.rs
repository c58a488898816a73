//! A webhook of Meta: entries of accounts, each with changes.
//!
//! Every status, message and change is a separate event, so that one that cannot be
//! read does not affect the others. The reader does not depend on the parts that
//! relays strip (the object, the account, the field, the number). Changes that are
//! not about messages become an `other` that names them. Content of a change is
//! copied into its events only within a bound, so that a hostile body costs no more
//! than its length.

use leadhost_sdk::{
    Event, MAX_ITEMS, Problem, Webhook, is_absent,
    serde_json::{Map, Value},
    text_at, text_of,
};

use crate::{
    account,
    errors::Reported,
    inbound::{self, Senders},
    preferences, status, template_change,
};

/// Returns the events of a webhook.
///
/// # Errors
///
/// [`Problem`] if the body is no webhook, or has more events than a host accepts.
pub fn read(body: &Value) -> Result<Webhook, Problem> {
    let mut events = Events::default();
    match body {
        // Some relays batch several webhooks into one.
        Value::Array(bodies) => {
            for (index, body) in bodies.iter().enumerate() {
                if let Err(problem) = read_body(body, &format!("{index}."), &mut events) {
                    events.push(Event::invalid(problem.message, index.to_string()));
                }
            }
        }
        body => read_body(body, "", &mut events)?,
    }
    if events.too_many {
        return Err(Problem::new(format!(
            "the body has more than {MAX_ITEMS} events, Meta sends at most 1000"
        )));
    }
    Ok(events.list.into())
}

/// Holds as many events as a host accepts; further ones are dropped.
#[derive(Default)]
struct Events {
    list: Vec<Event>,
    too_many: bool,
}

impl Events {
    fn push(&mut self, event: Event) {
        if self.list.len() < MAX_ITEMS {
            self.list.push(event);
        } else {
            self.too_many = true;
        }
    }
}

fn read_body(body: &Value, at: &str, events: &mut Events) -> Result<(), Problem> {
    let Value::Object(fields) = body else {
        return Err(Problem::new("the body must be a JSON object with `entry`"));
    };
    if let Some(object) = fields.get("object").and_then(text_of)
        && object != "whatsapp_business_account"
    {
        events.push(Event::other(format!(
            "a webhook of `{object}`, not of a WhatsApp account"
        )));
        return Ok(());
    }
    match fields.get("entry") {
        Some(Value::Array(entries)) => {
            for (index, entry) in entries.iter().enumerate() {
                read_entry(entry, &format!("{at}entry.{index}"), events);
            }
        }
        Some(entry @ Value::Object(_)) => read_entry(entry, &format!("{at}entry"), events),
        Some(_) => return Err(Problem::new("`entry` must be a list").at("entry")),
        None if fields.contains_key("changes") => {
            read_entry(body, at.trim_end_matches('.'), events)
        }
        None if fields.get("value").is_some_and(Value::is_object) => {
            read_change(body, None, at.trim_end_matches('.'), events);
        }
        None if guess(fields).is_some() => {
            let change = Change::new(None, body, None, at.trim_end_matches('.').to_owned());
            read_value(&change, fields, events);
        }
        None => {
            return Err(Problem::new(
                "the body has no `entry`: it is no webhook of a WhatsApp account",
            ));
        }
    }
    Ok(())
}

fn read_entry(entry: &Value, at: &str, events: &mut Events) {
    let account = text_at(entry, &["id"]);
    match entry.get("changes") {
        Some(Value::Array(changes)) => {
            for (index, change) in changes.iter().enumerate() {
                let at = format!("{at}.changes.{index}");
                read_change(change, account.as_deref(), &at, events);
            }
        }
        Some(change @ Value::Object(_)) => {
            read_change(change, account.as_deref(), &format!("{at}.changes"), events);
        }
        Some(_) => events.push(Event::invalid(
            "`changes` must be a list",
            format!("{at}.changes"),
        )),
        None if entry.is_object() => {
            let event = Event::other("the entry has no `changes`");
            events.push(match account {
                Some(account) => event.route("account", account),
                None => event,
            });
        }
        None => events.push(Event::invalid("an entry must be an object", at)),
    }
}

fn read_change(change: &Value, account: Option<&str>, at: &str, events: &mut Events) {
    let field = change.get("field").and_then(text_of);
    match change.get("value") {
        Some(value @ Value::Object(fields)) => {
            let change = Change::new(field, value, account, format!("{at}.value"));
            read_value(&change, fields, events);
        }
        Some(_) => events.push(Event::invalid(
            "the value of a change must be an object",
            format!("{at}.value"),
        )),
        None => events.push(Event::invalid("the change has no `value`", at)),
    }
}

/// A change, and the known parts of its address.
pub struct Change<'a> {
    field: Option<String>,
    number: Option<String>,
    account: Option<&'a str>,
    /// The path of the value in the body.
    pub at: String,
}

impl<'a> Change<'a> {
    fn new(field: Option<String>, value: &Value, account: Option<&'a str>, at: String) -> Self {
        Self {
            field,
            number: text_at(value, &["metadata.phone_number_id"]).filter(|id| id.len() <= MAX_ID),
            account: account.filter(|id| id.len() <= MAX_ID),
            at,
        }
    }

    /// Returns the event with its route: the number that it is about, else the account,
    /// which all its numbers share. Never both, because an instance of the account with
    /// another number would accept it.
    pub fn routed(&self, event: impl Into<Event>) -> Event {
        let event = event.into();
        match (&self.number, self.account) {
            (Some(number), _) => event.route("phone-number-id", number.clone()),
            (None, Some(account)) => event.route("account", account),
            (None, None) => event,
        }
    }

    /// Returns an invalid event of this change, with the place of the mistake within the
    /// change.
    pub fn invalid(&self, message: &str, path: &str) -> Event {
        self.routed(Event::invalid(message, format!("{}.{path}", self.at)))
    }
}

fn read_value(change: &Change<'_>, value: &Map<String, Value>, events: &mut Events) {
    let field = match &change.field {
        Some(field) => field.as_str(),
        None => guess(value).unwrap_or("messages"),
    };
    match field {
        "messages" => read_messages(change, value, events),
        "user_preferences" => {
            each(
                change,
                value,
                "user_preferences",
                events,
                preferences::event,
            );
        }
        "message_template_status_update" => {
            events.push(change.routed(template_change::from_status_update(value)));
        }
        "template_category_update"
        | "message_template_quality_update"
        | "message_template_components_update" => {
            events.push(change.routed(template_change::from_other_update(field, value)));
        }
        _ => events.push(change.routed(Event::other(account::words(field, value)))),
    }
}

/// Returns the kind of a change whose field is not named.
fn guess(value: &Map<String, Value>) -> Option<&'static str> {
    let has = |name: &str| value.contains_key(name);
    if has("statuses") || has("messages") || has("errors") {
        Some("messages")
    } else if has("user_preferences") {
        Some("user_preferences")
    } else if has("message_template_name") && has("event") {
        Some("message_template_status_update")
    } else if has("message_template_name") {
        Some("template_category_update")
    } else {
        None
    }
}

fn read_messages(change: &Change<'_>, value: &Map<String, Value>, events: &mut Events) {
    let senders = Senders::from_contacts(value.get("contacts"));
    let errors = value.get("errors").filter(|errors| !is_absent(errors));
    let count = |name: &str| match value.get(name) {
        Some(Value::Array(entries)) => entries.len(),
        Some(Value::Null) | None => 0,
        Some(_) => 1,
    };
    let (statuses, messages) = (count("statuses"), count("messages"));
    // Errors beside one message explain why Meta could not pass it on completely, and
    // are kept with it. All others are about the number.
    let with_message = errors.filter(|_| messages == 1);

    each(change, value, "statuses", events, |entry| {
        status::event(entry, &senders)
    });
    each(change, value, "messages", events, |entry| {
        inbound::event(entry, &senders, with_message)
    });
    if let Some(errors) = errors.filter(|_| messages != 1) {
        let words = status::list(Some(errors))
            .iter()
            .take(MAX_WORDS)
            .map(|error| Reported::read(error).words())
            .collect::<Vec<_>>()
            .join("; ");
        events.push(change.routed(Event::other(format!("errors of the number: {words}"))));
    } else if statuses + messages == 0 {
        events.push(change.routed(Event::other(
            "a change of `messages` without a status or a message",
        )));
    }
}

/// Adds one event for each entry of a list, if the list exists.
fn each(
    change: &Change<'_>,
    value: &Map<String, Value>,
    name: &str,
    events: &mut Events,
    read: impl Fn(&Value) -> Result<Event, &'static str>,
) {
    let entries = match value.get(name) {
        None | Some(Value::Null) => return,
        Some(Value::Array(entries)) => entries.as_slice(),
        Some(entry @ Value::Object(_)) => std::slice::from_ref(entry),
        Some(_) => {
            events.push(change.invalid(&format!("`{name}` must be a list"), name));
            return;
        }
    };
    for (index, entry) in entries.iter().enumerate() {
        events.push(match read(entry) {
            Ok(event) => change.routed(event),
            Err(why) => change.invalid(why, &format!("{name}.{index}")),
        });
    }
}

/// Meta's ids of numbers and accounts have some 17 digits.
const MAX_ID: usize = 64;
/// Maximum errors of a number in one line.
const MAX_WORDS: usize = 10;

#[cfg(test)]
mod tests {
    use leadhost_sdk::serde_json::json;

    use super::*;

    #[test]
    fn a_batch_above_the_event_limit_is_refused() {
        let refused = |body: Value| read(&body).is_err();
        let status = json!({"id": "wamid.1", "status": "sent"});
        let change = |count: usize| json!({"value": {"statuses": vec![status.clone(); count]}});
        assert!(!refused(
            json!({"entry": [{"changes": [change(MAX_ITEMS)]}]})
        ));
        assert!(refused(
            json!({"entry": [{"changes": [change(MAX_ITEMS), 1]}]})
        ));
        assert!(refused(json!({"entry": vec![1; MAX_ITEMS + 1]})));
    }

    #[test]
    fn a_thousand_events_do_not_repeat_a_long_text_of_their_change() {
        let long = "9".repeat(100_000);
        let message = json!({"from": "5511900000001", "id": "wamid.1", "type": "text"});
        let body = json!({"entry": [{"id": long, "changes": [{"value": {
            "metadata": {"phone_number_id": long},
            "contacts": [{"wa_id": "5511900000001", "user_id": long,
                "profile": {"name": long, "username": long}}],
            "errors": [{"code": 1, "title": long}],
            "messages": vec![message; 1000],
        }}]}]});
        let webhook = read(&body).expect("a webhook of WhatsApp");
        assert_eq!(webhook.events.len(), 1001);
        let size = format!("{:?}", webhook.events).len();
        assert!(size < 2_000_000, "{size} bytes of text");
    }
}
