//! The Cloud API's checks of a send: first the envelope, then the template,
//! then each component against the template's definition.

use serde_json::Value;

use super::errors::Refusal;
use crate::double::placeholders;

/// The envelope of a send.
pub struct Read {
    /// As in the send.
    pub recipient: String,
    pub template: String,
    pub language: String,
}

/// The limit for the sender's own text, in characters.
const OPAQUE: usize = 512;

/// Digits of a phone number; the shortest may be national.
const DIGITS: std::ops::RangeInclusive<usize> = 7..=15;

/// Reads the envelope of a send. A send to the sender's `own_number`, given as digits, is
/// refused.
pub fn read(body: &Value, own_number: &str) -> Result<Read, Refusal> {
    if body["messaging_product"].is_null() {
        return Err(Refusal::missing("messaging_product"));
    }
    if body["messaging_product"] != "whatsapp" {
        return Err(one_of("messaging_product", &["whatsapp"]));
    }
    let recipient = match (&body["to"], &body["recipient"]) {
        // A user without a phone has a separate field.
        (Value::Null, Value::String(user)) => user_form(user).map(|()| user.clone())?,
        (Value::Null, _) => return Err(Refusal::missing("to")),
        (Value::String(text), _) => phone_form(text, own_number).map(|()| text.clone())?,
        (other, _) => phone_form(&other.to_string(), own_number).map(|()| other.to_string())?,
    };
    if let Some(text) = body["biz_opaque_callback_data"].as_str()
        && text.chars().count() > OPAQUE
    {
        return Err(Refusal::with(
            100,
            format!("biz_opaque_callback_data is longer than {OPAQUE} characters"),
        ));
    }
    match body["type"].as_str() {
        Some("template") => {}
        // Without a type it is a text, which is then required.
        None => return Err(Refusal::missing("type")),
        Some(other) => {
            return Err(Refusal::with(
                131_051,
                format!("Message type {other} is not supported here"),
            ));
        }
    }
    let template = &body["template"];
    if !template.is_object() {
        return Err(Refusal::missing("template"));
    }
    let text = |value: &Value, field: &str| match value.as_str() {
        Some(text) if !text.is_empty() => Ok(text.to_owned()),
        _ => Err(Refusal::missing(field)),
    };
    Ok(Read {
        recipient,
        template: text(&template["name"], "template['name']")?,
        language: text(
            &template["language"]["code"],
            "template['language']['code']",
        )?,
    })
}

/// A country and digits, such as `BR.4411`.
fn user_form(user: &str) -> Result<(), Refusal> {
    let fits = user.split_once('.').is_some_and(|(country, digits)| {
        country.len() == 2 && digits.bytes().all(|byte| byte.is_ascii_alphanumeric())
    });
    fits.then_some(())
        .ok_or_else(|| Refusal::with(131_009, "recipient is no user id"))
}

fn phone_form(recipient: &str, own_number: &str) -> Result<(), Refusal> {
    let digits: String = recipient.chars().filter(char::is_ascii_digit).collect();
    let strange = recipient
        .chars()
        .any(|character| !character.is_ascii_digit() && !"+-() ".contains(character));
    if strange || digits.is_empty() {
        return Err(Refusal::with(131_009, "to is no phone number"));
    }
    if !DIGITS.contains(&digits.len()) {
        return Err(Refusal::documented(131_026));
    }
    if digits == own_number {
        return Err(Refusal::documented(131_021));
    }
    Ok(())
}

/// Checks a send against its template. `found` is the provider's template of that name and language,
/// if there is one.
pub fn template(found: Option<&Value>, read: &Read, body: &Value) -> Result<(), Refusal> {
    let Read {
        template: name,
        language,
        ..
    } = read;
    let Some(found) = found else {
        return Err(Refusal::with(
            132_001,
            format!("template name ({name}) does not exist in {language}"),
        ));
    };
    match found["status"].as_str() {
        Some("APPROVED") => {}
        Some("PAUSED") => return Err(Refusal::documented(132_015)),
        Some("DISABLED") => return Err(Refusal::documented(132_016)),
        _ => {
            return Err(Refusal::with(
                132_001,
                format!("template name ({name}) in {language} is not approved"),
            ));
        }
    }
    let given = components(&body["template"]["components"])?;
    let declared = found["components"]
        .as_array()
        .map_or(&[][..], Vec::as_slice);
    let named = found["parameter_format"] == "NAMED";
    header(declared, &given, named)?;
    text_part(
        "body",
        text_of(declared, "BODY"),
        &component_parameters(&given, "body"),
        named,
    )?;
    buttons(declared, &given)
}

/// Returns the components, after checking their form.
fn components(given: &Value) -> Result<Vec<Value>, Refusal> {
    let list = match given {
        Value::Null => return Ok(Vec::new()),
        Value::Array(list) => list,
        _ => {
            return Err(Refusal::with(
                100,
                "template['components'] must be an array.",
            ));
        }
    };
    for (at, component) in list.iter().enumerate() {
        let kind = component["type"].as_str().unwrap_or_default();
        if !["header", "body", "button"].contains(&kind.to_lowercase().as_str()) {
            return Err(one_of(
                &format!("template['components'][{at}]['type']"),
                &["HEADER", "BODY", "BUTTON"],
            ));
        }
        for (number, parameter) in parameters(component).iter().enumerate() {
            let place = format!("template['components'][{at}]['parameters'][{number}]");
            one_parameter(parameter, &place)?;
        }
    }
    Ok(list.clone())
}

/// Checks a parameter by itself, whatever the template expects.
fn one_parameter(parameter: &Value, place: &str) -> Result<(), Refusal> {
    let kind = parameter["type"].as_str().unwrap_or_default();
    match kind {
        "text" => match parameter["text"].as_str() {
            None | Some("") => Err(Refusal::with(
                131_008,
                "Parameter of type text is missing text value",
            )),
            Some(text) if text.contains(['\n', '\r', '\t']) || text.contains("     ") => {
                Err(Refusal::with(
                    132_018,
                    "Param text cannot have new-line/tab characters or more than 4 consecutive spaces",
                ))
            }
            Some(_) => Ok(()),
        },
        "payload" => match parameter["payload"].as_str() {
            None | Some("") => Err(Refusal::with(
                131_008,
                "Parameter of type payload is missing payload value",
            )),
            Some(_) => Ok(()),
        },
        "image" | "video" | "document" => media(&parameter[kind], kind),
        _ => Err(one_of(
            &format!("{place}['type']"),
            &["TEXT", "PAYLOAD", "IMAGE", "VIDEO", "DOCUMENT"],
        )),
    }
}

fn media(object: &Value, kind: &str) -> Result<(), Refusal> {
    match (object["link"].as_str(), object["id"].as_str()) {
        (Some(link), None) if link.starts_with("https://") || link.starts_with("http://") => {}
        (Some(link), None) => {
            return Err(Refusal::with(
                131_009,
                format!("{kind}: the link {link} is no URL"),
            ));
        }
        (None, Some(_)) => {}
        _ => {
            return Err(Refusal::with(
                131_008,
                format!("Parameter of type {kind} needs either a link or an id"),
            ));
        }
    }
    if kind != "document" && !object["filename"].is_null() {
        return Err(Refusal::with(
            100,
            format!("Unexpected key \"filename\" on param {kind}."),
        ));
    }
    Ok(())
}

fn header(declared: &[Value], given: &[Value], named: bool) -> Result<(), Refusal> {
    let given = component_parameters(given, "header");
    let Some(declared) = declared.iter().find(|part| part["type"] == "HEADER") else {
        return text_part("header", "", &given, named);
    };
    let format = declared["format"].as_str().unwrap_or("TEXT");
    if format == "TEXT" {
        return text_part(
            "header",
            declared["text"].as_str().unwrap_or_default(),
            &given,
            named,
        );
    }
    let received = match given.as_slice() {
        [one] => one["type"].as_str().unwrap_or_default().to_uppercase(),
        _ => "UNKNOWN".to_owned(),
    };
    if received == format {
        Ok(())
    } else {
        Err(Refusal::with(
            132_012,
            format!("header: Format mismatch, expected {format}, received {received}"),
        ))
    }
}

/// A component with text and placeholders.
fn text_part(part: &str, text: &str, given: &[Value], named: bool) -> Result<(), Refusal> {
    let expected = placeholders(text);
    if named
        && given.iter().any(|parameter| {
            parameter["parameter_name"]
                .as_str()
                .is_none_or(str::is_empty)
        })
    {
        return Err(Refusal::with(100, "Parameter name is missing or empty"));
    }
    if given.len() != expected.len() {
        return Err(Refusal::with(
            132_000,
            format!(
                "{part}: number of localizable_params ({}) does not match the expected number of params ({})",
                given.len(),
                expected.len()
            ),
        ));
    }
    if let Some(other) = given.iter().find(|parameter| parameter["type"] != "text") {
        let other = other["type"].as_str().unwrap_or_default().to_uppercase();
        return Err(Refusal::with(
            132_012,
            format!("{part}: Format mismatch, expected TEXT, received {other}"),
        ));
    }
    let unknown = given.iter().find_map(|parameter| {
        let name = parameter["parameter_name"].as_str()?;
        (named && !expected.iter().any(|expected| expected == name)).then_some(name)
    });
    match unknown {
        Some(name) => Err(Refusal::with(
            132_012,
            format!("{part}: the template has no parameter {name}"),
        )),
        None => Ok(()),
    }
}

fn buttons(declared: &[Value], given: &[Value]) -> Result<(), Refusal> {
    let declared: &[Value] = declared
        .iter()
        .find(|part| part["type"] == "BUTTONS")
        .and_then(|part| part["buttons"].as_array())
        .map_or(&[], Vec::as_slice);
    let mut parameters_of: Vec<Option<Vec<Value>>> = vec![None; declared.len()];
    for component in given.iter().filter(|component| is(component, "button")) {
        let index = index(&component["index"])?;
        let Some(button) = declared.get(index) else {
            return Err(Refusal::with(
                132_000,
                format!("buttons: there is no button at index {index}"),
            ));
        };
        let kind = component["sub_type"].as_str().unwrap_or_default();
        if !kind.eq_ignore_ascii_case(button["type"].as_str().unwrap_or_default()) {
            return Err(Refusal::with(
                132_012,
                format!(
                    "buttons: Format mismatch at index {index}, expected {}, received {}",
                    button["type"].as_str().unwrap_or_default(),
                    kind.to_uppercase()
                ),
            ));
        }
        parameters_of[index] = Some(parameters(component));
    }
    for (index, (button, given)) in declared.iter().zip(parameters_of).enumerate() {
        let wants = !placeholders(button["url"].as_str().unwrap_or_default()).is_empty();
        match (button["type"].as_str(), given.as_deref()) {
            (Some("URL"), None | Some([])) if wants => {
                return Err(Refusal::with(
                    131_008,
                    format!("buttons: Button at index {index} of type Url requires a parameter"),
                ));
            }
            (Some("URL"), Some([one])) if wants && one["type"] == "text" => {}
            (Some("URL"), Some([]) | None) => {}
            (Some("QUICK_REPLY"), None) => {}
            (Some("QUICK_REPLY"), Some([one])) if one["type"] == "payload" => {}
            (Some("QUICK_REPLY"), Some([])) => {
                return Err(Refusal::with(
                    131_008,
                    format!(
                        "buttons: Button at index {index} of type QuickReply requires a parameter"
                    ),
                ));
            }
            (_, None) => {}
            (_, Some(_)) => {
                return Err(Refusal::with(
                    132_000,
                    format!("buttons: the parameters of the button at index {index} do not match"),
                ));
            }
        }
    }
    Ok(())
}

/// A number, or a text of digits.
fn index(value: &Value) -> Result<usize, Refusal> {
    let text = match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    text.parse().map_err(|_| {
        Refusal::with(
            131_009,
            "Button index invalid: it must be a number from 0 to 9",
        )
    })
}

fn is(component: &Value, kind: &str) -> bool {
    component["type"]
        .as_str()
        .is_some_and(|given| given.eq_ignore_ascii_case(kind))
}

/// The parameters of the component of this kind; none if it is missing.
fn component_parameters(given: &[Value], kind: &str) -> Vec<Value> {
    let found = given.iter().find(|component| is(component, kind));
    found.map(parameters).unwrap_or_default()
}

fn parameters(component: &Value) -> Vec<Value> {
    component["parameters"]
        .as_array()
        .cloned()
        .unwrap_or_default()
}

fn text_of<'a>(declared: &'a [Value], kind: &str) -> &'a str {
    let part = declared.iter().find(|part| part["type"] == kind);
    part.and_then(|part| part["text"].as_str())
        .unwrap_or_default()
}

fn one_of(place: &str, words: &[&str]) -> Refusal {
    Refusal::with(
        100,
        format!("Param {place} must be one of {{{}}}", words.join(", ")),
    )
}
