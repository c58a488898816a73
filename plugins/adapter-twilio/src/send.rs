//! The request that sends a content.
//!
//! Twilio has no template names and languages, only contents with variables: the
//! configuration maps each template to a content, and parameters to variables.
//! Twilio requires a non-empty value for every variable, so a send that does not
//! fill each one is refused here, with an explanation.

use leadhost_sdk::{
    HttpRequest, Problem, Refused, RequestedTemplate, TemplateSend,
    requested::{Component as Given, Parameter, ParameterValue, Part},
    serde_json::{Map, Value},
};

use crate::{
    Config, address,
    config::{Component, Content, Variable},
};

/// Returns the call that sends the message.
///
/// # Errors
///
/// [`Refused`] if the configuration, the recipient or the requested template is wrong.
pub fn request(config: &Config, message: &TemplateSend) -> Result<HttpRequest, Refused> {
    config.check().map_err(Refused::misconfigured)?;
    if message.recipient.trim().is_empty() {
        return Err(Refused::recipient("the message has no recipient"));
    }
    let requested = message.requested()?;
    let content = content(config, &requested)?;
    let values = values(content, &requested)?;
    compose(config, message, content, values).map_err(Refused::misconfigured)
}

fn content<'a>(config: &'a Config, requested: &RequestedTemplate) -> Result<&'a Content, Refused> {
    let (name, language) = (&requested.name, &requested.language);
    let content = config.content(name, language).ok_or_else(|| {
        Refused::unknown_template(format!(
            "the instance's configuration has no content for the template `{name}` in `{language}`"
        ))
    })?;
    if content.status == "approved" {
        Ok(content)
    } else {
        Err(Refused::template(format!(
            "the template `{name}` in `{language}` is {}",
            content.status
        )))
    }
}

fn compose(
    config: &Config,
    message: &TemplateSend,
    content: &Content,
    values: Map<String, Value>,
) -> Result<HttpRequest, Problem> {
    let mut form = form_urlencoded::Serializer::new(String::new());
    form.append_pair("To", &address::on(config.channel, &message.recipient));
    if let Some(from) = &config.from {
        form.append_pair("From", &address::on(config.channel, from));
    }
    if let Some(service) = &config.messaging_service_sid {
        form.append_pair("MessagingServiceSid", service);
    }
    form.append_pair("ContentSid", &content.content_sid);
    if !values.is_empty() {
        form.append_pair("ContentVariables", &Value::Object(values).to_string());
    }
    if let Some(callback) = callback(message) {
        form.append_pair("StatusCallback", &callback);
    }
    Ok(HttpRequest::post(&config.api_url)?
        .step("2010-04-01")
        .step("Accounts")
        .step(&config.account_sid)
        .step("Messages.json")
        .header("authorization", config.credentials())
        .body("application/x-www-form-urlencoded", form.finish()))
}

/// Returns the address for the statuses of this message. Twilio does not return any
/// text of ours, but it signs and calls the address unchanged: the message's id in
/// it finds the message even if the response was lost.
fn callback(message: &TemplateSend) -> Option<String> {
    let address = message
        .context_value("callback-url")
        .map(str::trim)
        .filter(|address| !address.is_empty())?;
    let id: String = form_urlencoded::byte_serialize(message.message_id.as_bytes()).collect();
    let joint = if address.contains('?') { '&' } else { '?' };
    Some(format!("{address}{joint}{MESSAGE_ID}={id}"))
}

/// Returns the variables of the content with their values.
fn values(content: &Content, requested: &RequestedTemplate) -> Result<Map<String, Value>, Refused> {
    let variables = content.variables();
    let mut values = Map::new();
    for (component, index) in parts(&variables, requested) {
        let wanted: Vec<&Variable> = variables
            .iter()
            .filter(|variable| variable.component == component && variable.index == index)
            .collect();
        let given = given(requested, component, index);
        // The payload of a quick reply is fixed in the content.
        let fixed = wanted.is_empty() && given.iter().all(|part| is_quick_reply(&part.part));
        if fixed {
            continue;
        }
        let given: Vec<&Parameter> = given.iter().flat_map(|part| &part.parameters).collect();
        if wanted.len() != given.len() {
            return Err(Refused::request(format!(
                "the template `{}` needs {} parameters in its {}, but got {}",
                requested.name,
                wanted.len(),
                place(component, index),
                given.len()
            )));
        }
        for (place, variable) in wanted.iter().enumerate() {
            // By name if the parameters have names, else by position.
            let parameter = given
                .iter()
                .find(|parameter| parameter.name.as_deref() == Some(&variable.name))
                .or_else(|| {
                    given
                        .get(place)
                        .filter(|parameter| parameter.name.is_none())
                })
                .ok_or_else(|| {
                    Refused::request(format!(
                        "the template `{}` has no parameter named `{}`",
                        requested.name, variable.name
                    ))
                })?;
            let value = value(&requested.name, variable, parameter)?;
            values.insert(variable.name.clone(), value.into());
        }
    }
    Ok(values)
}

/// Returns each part that has variables or parameters, once.
fn parts(variables: &[Variable], requested: &RequestedTemplate) -> Vec<(Component, u32)> {
    let mut parts: Vec<(Component, u32)> = Vec::new();
    let wanted = variables
        .iter()
        .map(|variable| (variable.component, variable.index));
    let given = requested
        .components
        .iter()
        .filter(|component| !component.parameters.is_empty())
        .map(|component| part_of(&component.part));
    for part in wanted.chain(given) {
        if !parts.contains(&part) {
            parts.push(part);
        }
    }
    parts
}

fn given(requested: &RequestedTemplate, component: Component, index: u32) -> Vec<&Given> {
    requested
        .components
        .iter()
        .filter(|given| part_of(&given.part) == (component, index))
        .collect()
}

fn part_of(part: &Part) -> (Component, u32) {
    match part {
        Part::Header => (Component::Header, 0),
        Part::Body => (Component::Body, 0),
        Part::Button { index, .. } => (Component::Button, *index),
    }
}

fn is_quick_reply(part: &Part) -> bool {
    matches!(part, Part::Button { sub_type, .. } if sub_type == "quick_reply")
}

fn place(component: Component, index: u32) -> String {
    match component {
        Component::Button => format!("button {index}"),
        other => other.word().to_owned(),
    }
}

fn value(template: &str, variable: &Variable, parameter: &Parameter) -> Result<String, Refused> {
    let wrong = |what: &str| {
        Refused::request(format!(
            "the variable `{}` of the template `{template}` {what}",
            variable.name
        ))
    };
    let kind = parameter.value.kind();
    if kind != variable.kind.word() {
        return Err(wrong(&format!(
            "needs `{}`, but got `{kind}`",
            variable.kind.word()
        )));
    }
    let text = match &parameter.value {
        ParameterValue::Text(text) => text,
        ParameterValue::Document(media)
        | ParameterValue::Image(media)
        | ParameterValue::Video(media) => media
            .link
            .as_ref()
            .ok_or_else(|| wrong("needs a link: Twilio knows no ids of files"))?,
        ParameterValue::Other(..) => return Err(wrong("cannot be filled with that")),
    };
    let text = text.strip_prefix(variable.prefix.as_str()).unwrap_or(text);
    if text.trim().is_empty() {
        return Err(wrong("is empty, which Twilio does not take"));
    }
    Ok(text.to_owned())
}

/// The query field of a status callback that holds the message's id.
pub const MESSAGE_ID: &str = "message-id";
