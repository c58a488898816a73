//! The Cloud API's checks of a send: first the envelope, then the template,
//! then each component against the template's definition.

use serde_json::Value;

use super::errors::{listed, missing};
use crate::double::http::Answer;
use crate::double::placeholders;

pub struct Read {
    pub recipient: String,
    pub template: String,
    pub language: String,
}

type Checked<T = ()> = Result<T, Answer>;

/// The limit for the sender's own text, in characters.
const OPAQUE: usize = 512;

/// Digits of a phone number; the shortest may be national.
const DIGITS: std::ops::RangeInclusive<usize> = 7..=15;

/// Reads the envelope of a send. A send to the sender's `own_number`, given as digits, is
/// refused.
pub fn read(body: &Value, own_number: &str) -> Checked<Read> {
    if body["messaging_product"].is_null() {
        return Err(missing("messaging_product"));
    }
    if body["messaging_product"] != "whatsapp" {
        return one_of("messaging_product", &["whatsapp"]);
    }
    let recipient = match (&body["to"], &body["recipient"]) {
        // A user without a phone has a separate field.
        (Value::Null, Value::String(user)) => user_form(user).map(|()| user.clone())?,
        (Value::Null, _) => return Err(missing("to")),
        (other, _) => {
            let text = other.as_str().map_or(other.to_string(), str::to_owned);
            phone_form(&text, own_number)?;
            text
        }
    };
    let opaque = body["biz_opaque_callback_data"].as_str();
    if opaque.is_some_and(|text| text.chars().count() > OPAQUE) {
        let why = format!("biz_opaque_callback_data is longer than {OPAQUE} characters");
        return refuse(100, why);
    }
    match body["type"].as_str() {
        Some("template") => {}
        // Without a type it is a text, which is then required.
        None => return Err(missing("type")),
        Some(other) => {
            let why = format!("Message type {other} is not supported here");
            return refuse(131_051, why);
        }
    }
    let template = &body["template"];
    if !template.is_object() {
        return Err(missing("template"));
    }
    let text = |value: &Value, field: &str| match value.as_str() {
        Some(text) if !text.is_empty() => Ok(text.to_owned()),
        _ => Err(missing(field)),
    };
    let code = &template["language"]["code"];
    Ok(Read {
        recipient,
        template: text(&template["name"], "template['name']")?,
        language: text(code, "template['language']['code']")?,
    })
}

fn refuse<T>(code: u32, details: impl AsRef<str>) -> Checked<T> {
    Err(listed(code, None, Some(details.as_ref())))
}

/// A country and digits, such as `BR.4411`.
fn user_form(user: &str) -> Checked {
    match user.split_once('.') {
        Some((country, digits))
            if country.len() == 2 && digits.bytes().all(|byte| byte.is_ascii_alphanumeric()) =>
        {
            Ok(())
        }
        _ => refuse(131_009, "recipient is no user id"),
    }
}

fn phone_form(recipient: &str, own_number: &str) -> Checked {
    let digits: String = recipient.chars().filter(char::is_ascii_digit).collect();
    let mut others = recipient.chars().filter(|one| !one.is_ascii_digit());
    if others.any(|one| !"+-() ".contains(one)) || digits.is_empty() {
        return refuse(131_009, "to is no phone number");
    }
    if !DIGITS.contains(&digits.len()) {
        return Err(listed(131_026, None, None));
    }
    if digits == own_number {
        return Err(listed(131_021, None, None));
    }
    Ok(())
}

/// Checks a send against its template. `found` is the provider's template of that name and language,
/// if there is one.
pub fn template(found: Option<&Value>, read: &Read, body: &Value) -> Checked {
    let (name, language) = (&read.template, &read.language);
    let Some(found) = found else {
        let why = format!("template name ({name}) does not exist in {language}");
        return refuse(132_001, why);
    };
    match found["status"].as_str() {
        Some("APPROVED") => {}
        Some("PAUSED") => return Err(listed(132_015, None, None)),
        Some("DISABLED") => return Err(listed(132_016, None, None)),
        _ => {
            let why = format!("template name ({name}) in {language} is not approved");
            return refuse(132_001, why);
        }
    }
    let given = components(&body["template"]["components"])?;
    let declared = list(&found["components"]);
    let named = found["parameter_format"] == "NAMED";
    header(declared, given, named)?;
    let text = text_of(part(declared, "BODY"), "text");
    text_part("body", text, component_parameters(given, "body"), named)?;
    buttons(declared, given)
}

/// The components, after checking their form.
fn components(given: &Value) -> Checked<&[Value]> {
    if !given.is_null() && !given.is_array() {
        return refuse(100, "template['components'] must be an array.");
    }
    for (at, component) in list(given).iter().enumerate() {
        let place = format!("template['components'][{at}]");
        if !["header", "body", "button"]
            .map(|kind| is(component, kind))
            .contains(&true)
        {
            return one_of(&format!("{place}['type']"), &["HEADER", "BODY", "BUTTON"]);
        }
        for (number, parameter) in parameters(component).iter().enumerate() {
            one_parameter(parameter, &format!("{place}['parameters'][{number}]"))?;
        }
    }
    Ok(list(given))
}

/// Checks a parameter by itself, whatever the template expects.
fn one_parameter(parameter: &Value, place: &str) -> Checked {
    let kind = text_of(parameter, "type");
    let value = text_of(parameter, kind);
    match kind {
        "text" | "payload" if value.is_empty() => {
            let why = format!("Parameter of type {kind} is missing {kind} value");
            refuse(131_008, why)
        }
        "text" if value.contains(['\n', '\r', '\t']) || value.contains("     ") => refuse(
            132_018,
            "Param text cannot have new-line/tab characters or more than 4 consecutive spaces",
        ),
        "text" | "payload" => Ok(()),
        "image" | "video" | "document" => media(&parameter[kind], kind),
        _ => one_of(
            &format!("{place}['type']"),
            &["TEXT", "PAYLOAD", "IMAGE", "VIDEO", "DOCUMENT"],
        ),
    }
}

fn media(object: &Value, kind: &str) -> Checked {
    match (object["link"].as_str(), object["id"].as_str()) {
        (Some(link), None) if link.starts_with("https://") || link.starts_with("http://") => {}
        (Some(link), None) => {
            return refuse(131_009, format!("{kind}: the link {link} is no URL"));
        }
        (None, Some(_)) => {}
        _ => {
            let why = format!("Parameter of type {kind} needs either a link or an id");
            return refuse(131_008, why);
        }
    }
    if kind != "document" && !object["filename"].is_null() {
        let why = format!("Unexpected key \"filename\" on param {kind}.");
        return refuse(100, why);
    }
    Ok(())
}

fn header(declared: &[Value], given: &[Value], named: bool) -> Checked {
    let given = component_parameters(given, "header");
    let declared = part(declared, "HEADER");
    let format = declared["format"].as_str().unwrap_or("TEXT");
    if format == "TEXT" {
        return text_part("header", text_of(declared, "text"), given, named);
    }
    let received = match given {
        [one] => text_of(one, "type").to_uppercase(),
        _ => "UNKNOWN".to_owned(),
    };
    if received == format {
        Ok(())
    } else {
        mismatch("header", format, &received)
    }
}

fn mismatch(part: &str, expected: &str, received: &str) -> Checked {
    let why = format!("{part}: Format mismatch, expected {expected}, received {received}");
    refuse(132_012, why)
}

fn text_part(part: &str, text: &str, given: &[Value], named: bool) -> Checked {
    let expected = placeholders(text);
    let name = |parameter: &Value| text_of(parameter, "parameter_name").to_owned();
    if named && given.iter().any(|parameter| name(parameter).is_empty()) {
        return refuse(100, "Parameter name is missing or empty");
    }
    if given.len() != expected.len() {
        let (given, expected) = (given.len(), expected.len());
        let why = format!(
            "{part}: number of localizable_params ({given}) does not match the expected number of params ({expected})"
        );
        return refuse(132_000, why);
    }
    if let Some(other) = given.iter().find(|parameter| parameter["type"] != "text") {
        return mismatch(part, "TEXT", &text_of(other, "type").to_uppercase());
    }
    let mut names = given.iter().map(name);
    match names.find(|name| !expected.contains(name.as_str())) {
        Some(name) if named => {
            let why = format!("{part}: the template has no parameter {name}");
            refuse(132_012, why)
        }
        _ => Ok(()),
    }
}

fn buttons(declared: &[Value], given: &[Value]) -> Checked {
    let declared = list(&part(declared, "BUTTONS")["buttons"]);
    let mut parameters_of: Vec<Option<&[Value]>> = vec![None; declared.len()];
    for component in given.iter().filter(|component| is(component, "button")) {
        let index = index(&component["index"])?;
        let Some(button) = declared.get(index) else {
            return refuse(
                132_000,
                format!("buttons: there is no button at index {index}"),
            );
        };
        let (kind, expected) = (text_of(component, "sub_type"), text_of(button, "type"));
        if !kind.eq_ignore_ascii_case(expected) {
            let why = format!(
                "buttons: Format mismatch at index {index}, expected {expected}, received {}",
                kind.to_uppercase()
            );
            return refuse(132_012, why);
        }
        parameters_of[index] = Some(parameters(component));
    }
    for (index, (button, given)) in declared.iter().zip(parameters_of).enumerate() {
        let wants = !placeholders(text_of(button, "url")).is_empty();
        let missing = |kind: &str| {
            let why =
                format!("buttons: Button at index {index} of type {kind} requires a parameter");
            refuse(131_008, why)
        };
        match (text_of(button, "type"), given) {
            ("URL", None | Some([])) if wants => return missing("Url"),
            ("URL", Some([one])) if wants && one["type"] == "text" => {}
            ("QUICK_REPLY", Some([one])) if one["type"] == "payload" => {}
            ("QUICK_REPLY", Some([])) => return missing("QuickReply"),
            ("URL", Some([])) | (_, None) => {}
            (_, Some(_)) => {
                let why =
                    format!("buttons: the parameters of the button at index {index} do not match");
                return refuse(132_000, why);
            }
        }
    }
    Ok(())
}

/// A number, or a text of digits.
fn index(value: &Value) -> Checked<usize> {
    let text = value.as_str().map_or(value.to_string(), str::to_owned);
    let why = "Button index invalid: it must be a number from 0 to 9";
    text.parse().or_else(|_| refuse(131_009, why))
}

fn is(component: &Value, kind: &str) -> bool {
    text_of(component, "type").eq_ignore_ascii_case(kind)
}

fn component_parameters<'a>(given: &'a [Value], kind: &str) -> &'a [Value] {
    let found = given.iter().find(|component| is(component, kind));
    found.map(parameters).unwrap_or_default()
}

fn parameters(component: &Value) -> &[Value] {
    list(&component["parameters"])
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn part<'a>(declared: &'a [Value], kind: &str) -> &'a Value {
    let found = declared.iter().find(|part| part["type"] == kind);
    found.unwrap_or(&Value::Null)
}

fn text_of<'a>(value: &'a Value, field: &str) -> &'a str {
    value[field].as_str().unwrap_or_default()
}

fn one_of<T>(place: &str, words: &[&str]) -> Checked<T> {
    let words = words.join(", ");
    refuse(100, format!("Param {place} must be one of {{{words}}}"))
}
