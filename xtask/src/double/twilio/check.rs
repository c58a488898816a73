//! Twilio's checks of a send, in Twilio's order: recipient, sender, content.

use serde_json::{Map, Value};

use super::TwilioOptions;
use super::error;
use crate::double::channel::Outgoing;
use crate::double::http::{Answer, value};

/// Digits of a phone number with its country.
const DIGITS: std::ops::RangeInclusive<usize> = 8..=15;

pub fn read(options: &TwilioOptions, fields: &[(String, String)]) -> Result<Outgoing, Answer> {
    let given = |name| value(fields, name).filter(|text| !text.is_empty());
    let refused = |code| Err(error(code, None));
    let Some(to) = given("To") else {
        return refused(21_604);
    };
    match (given("From"), given("MessagingServiceSid")) {
        (None, None) => return refused(21_603),
        (_, Some(service)) if service == options.messaging_service_sid => {}
        (_, Some(_)) => return refused(20_404),
        (Some(from), None) if from == options.from => {}
        (Some(_), None) => return refused(63_007),
    }
    let number = match to.strip_prefix("whatsapp:") {
        None if is_number(to) => return refused(21_910),
        None => return refused(21_211),
        Some(number) => number,
    };
    // A contact without a phone has an id instead.
    if number.starts_with('+') && !is_number(number) || number.is_empty() {
        return refused(21_211);
    }
    let Some(sid) = given("ContentSid") else {
        // Without a template only an answer is allowed, and the contact has not
        // written.
        return refused(if given("Body").is_some() {
            63_016
        } else {
            21_619
        });
    };
    let Some(content) = options.contents.iter().find(|content| content.sid == sid) else {
        return refused(21_655);
    };
    if !variables_fit(&content.text, given("ContentVariables").unwrap_or("{}")) {
        return refused(21_656);
    }
    Ok(Outgoing {
        recipient: to.to_owned(),
        recipient_id: to.to_owned(),
        opaque: None,
        template: sid.to_owned(),
        callback: given("StatusCallback").map(str::to_owned),
    })
}

/// A JSON object of non-empty texts, one for each variable.
fn variables_fit(text: &str, variables: &str) -> bool {
    let Ok(given) = serde_json::from_str::<Map<String, Value>>(variables) else {
        return false;
    };
    let wanted = crate::double::placeholders(text);
    given.len() == wanted.len()
        && wanted.iter().all(|name| {
            given
                .get(*name)
                .and_then(Value::as_str)
                .is_some_and(|text| !text.is_empty())
        })
}

fn is_number(text: &str) -> bool {
    text.strip_prefix('+').is_some_and(|digits| {
        DIGITS.contains(&digits.len())
            && digits.bytes().all(|digit| digit.is_ascii_digit())
            && !digits.starts_with('0')
    })
}
