//! The request that sends a template message.
//!
//! The interface's template is nearly Meta's. Components without parameters are
//! left out, since Meta accepts no empty lists and fills components without
//! placeholders itself; the payload of such a quick reply is its own text, unless the
//! instance configures another.

use leadhost_sdk::{
    HttpRequest, Problem, Refused, TemplateSend,
    requested::{Component, Media, Parameter, ParameterValue, Part},
    serde_json::{Map, Value, json},
};

use crate::{Config, phone};

/// Returns the call that sends the message.
///
/// # Errors
///
/// [`Refused`] if the configuration or the requested template is wrong.
pub fn request(config: &Config, message: &TemplateSend) -> Result<HttpRequest, Refused> {
    config.check().map_err(Refused::misconfigured)?;
    let body = body(config, message)?;
    compose(config, &body).map_err(Refused::misconfigured)
}

fn compose(config: &Config, body: &Value) -> Result<HttpRequest, Problem> {
    Ok(config
        .call("POST", &config.phone_number_id, "messages")?
        .body("application/json", body.to_string()))
}

fn body(config: &Config, message: &TemplateSend) -> Result<Value, Refused> {
    let requested = message.requested()?;
    let components: Vec<Value> = requested
        .components
        .iter()
        .map(|part| component(config, message, &requested.name, part))
        .filter_map(Result::transpose)
        .collect::<Result<_, _>>()?;

    let mut template = Map::new();
    template.insert("name".into(), requested.name.into());
    template.insert("language".into(), json!({"code": requested.language}));
    if !components.is_empty() {
        template.insert("components".into(), Value::Array(components));
    }

    let recipient = message.recipient.trim();
    if recipient.is_empty() {
        return Err(Refused::recipient("the message has no recipient"));
    }
    // A user without a phone is named by an id, in a separate field.
    let (field, recipient) = if phone::is_user_id(recipient) {
        ("recipient", recipient)
    } else {
        ("to", recipient.trim_start_matches('+'))
    };
    Ok(json!({
        "messaging_product": "whatsapp",
        "recipient_type": "individual",
        field: recipient,
        "type": "template",
        "template": template,
        "biz_opaque_callback_data": message.message_id,
    }))
}

/// Returns a component in Meta's shape; `None` if Meta needs none.
fn component(
    config: &Config,
    message: &TemplateSend,
    template: &str,
    component: &Component,
) -> Result<Option<Value>, Refused> {
    let given = &component.parameters;
    let (kind, parameters) = match &component.part {
        Part::Header => ("header", parameters(given)?),
        Part::Body => ("body", parameters(given)?),
        Part::Button { sub_type, index } => {
            let sub_type = match sub_type.as_str() {
                "url" | "quick_reply" => sub_type,
                "" if given.is_empty() => "quick_reply",
                "" => "url",
                other => {
                    return Err(Refused::request(format!(
                        "the button {index} has the sub_type `{other}`: url and quick_reply are known"
                    )));
                }
            };
            let parameters = if sub_type == "quick_reply" {
                payloads(config, message, template, *index, given)?
            } else {
                parameters(given)?
            };
            if parameters.is_empty() {
                return Ok(None);
            }
            return Ok(Some(json!({
                "type": "button",
                "sub_type": sub_type,
                // A text, as in Meta's own examples; a number works too.
                "index": index.to_string(),
                "parameters": parameters,
            })));
        }
    };
    Ok((!parameters.is_empty()).then(|| json!({"type": kind, "parameters": parameters})))
}

fn parameters(given: &[Parameter]) -> Result<Vec<Value>, Refused> {
    given.iter().map(parameter).collect()
}

fn parameter(given: &Parameter) -> Result<Value, Refused> {
    let mut out = Map::new();
    let (kind, value) = match &given.value {
        ParameterValue::Text(text) => ("text", Value::String(text.clone())),
        ParameterValue::Document(document) => ("document", media(document, true)),
        ParameterValue::Image(image) => ("image", media(image, false)),
        ParameterValue::Video(video) => ("video", media(video, false)),
        ParameterValue::Other(kind, _) => {
            return Err(Refused::request(format!(
                "a parameter has the type `{kind}`: text, document, image and video are known"
            )));
        }
    };
    out.insert("type".into(), kind.into());
    out.insert(kind.into(), value);
    if let Some(name) = &given.name {
        out.insert("parameter_name".into(), name.as_str().into());
    }
    Ok(Value::Object(out))
}

/// Meta accepts a link or an id, not both, and a file name only for documents.
fn media(media: &Media, takes_filename: bool) -> Value {
    let mut out = Map::new();
    match (&media.id, &media.link) {
        (Some(id), _) => out.insert("id".into(), id.as_str().into()),
        (None, Some(link)) => out.insert("link".into(), link.as_str().into()),
        (None, None) => None,
    };
    if let Some(filename) = media.filename.as_deref().filter(|_| takes_filename) {
        out.insert("filename".into(), filename.into());
    }
    Value::Object(out)
}

/// Returns the payload of a quick reply: the sender's text, else the configured payload,
/// else none.
fn payloads(
    config: &Config,
    message: &TemplateSend,
    template: &str,
    index: u32,
    given: &[Parameter],
) -> Result<Vec<Value>, Refused> {
    let payload = match given.first().map(|parameter| &parameter.value) {
        Some(ParameterValue::Text(text)) => Some(text.clone()),
        Some(ParameterValue::Other(kind, parameter)) if kind == "payload" => {
            // Unchanged, including spaces.
            parameter["payload"].as_str().map(str::to_owned)
        }
        Some(other) => {
            return Err(Refused::request(format!(
                "the quick reply {index} has a parameter of the type `{}`: only text is possible",
                other.kind()
            )));
        }
        None => config.quick_reply_payload.as_ref().map(|pattern| {
            pattern
                .replace(
                    "{conversation}",
                    message.context_value("conversation-id").unwrap_or(""),
                )
                .replace("{message}", &message.message_id)
                .replace("{template}", template)
                .replace("{index}", &index.to_string())
        }),
    };
    Ok(payload
        .filter(|payload| !payload.is_empty())
        .map(|payload| json!({"type": "payload", "payload": payload}))
        .into_iter()
        .collect())
}
