//! The outcome of a message: first the configured outcomes decide, then the list of
//! templates; otherwise the message is delivered.

use leadhost_sdk::requested::{Parameter, RequestedTemplate};
use leadhost_sdk::{Accepted, Placeholder, Problem, Refused, SendAnswer, TemplateSend, digits};

use crate::config::{Category, Config, Outcome, Template, TemplateStatus};
use crate::templates;

/// Returns the sandbox's id of a message.
pub fn external_id(message_id: &str) -> String {
    format!("sandbox:{message_id}")
}

/// Returns the configured outcome of a message: accepted, unless an outcome or a list of templates
/// says otherwise.
///
/// # Errors
///
/// [`Problem`] if the requested template cannot be read.
pub fn answer(config: &Config, message: &TemplateSend) -> Result<SendAnswer, Problem> {
    let requested = message.requested()?;
    let configured = config
        .outcomes
        .iter()
        .find(|outcome| concerns(outcome, &message.recipient, &requested.name));
    if let Some(outcome) = configured {
        return Ok(configured_answer(outcome));
    }
    if let Some(templates) = &config.templates
        && let Some(refused) = misfit(templates, &requested)
    {
        return Ok(refused.into());
    }
    Ok(Accepted::new(external_id(&message.message_id))
        .recipient_id(message.recipient.clone())
        .status(config.status.word())
        .into())
}

fn concerns(outcome: &Outcome, recipient: &str, template: &str) -> bool {
    let of_recipient = outcome
        .recipient
        .as_deref()
        .is_none_or(|configured| same_recipient(configured, recipient));
    let of_template = outcome
        .template
        .as_deref()
        .is_none_or(|configured| configured == template);
    of_recipient && of_template
}

fn same_recipient(configured: &str, recipient: &str) -> bool {
    let number = digits(configured);
    configured == recipient || (!number.is_empty() && number == digits(recipient))
}

fn configured_answer(outcome: &Outcome) -> SendAnswer {
    let category = outcome.category.word();
    let text = outcome
        .text
        .clone()
        .unwrap_or_else(|| format!("the sandbox is configured to answer `{category}`"));
    if outcome.category == Category::Unknown {
        return SendAnswer::Unknown(text);
    }
    Refused::new(category, text)
        .code(outcome.code.as_deref().unwrap_or("sandbox"))
        .retry_after(outcome.retry_after_seconds)
        .into()
}

/// Returns the reason why the list of templates does not allow the message.
fn misfit(templates: &[Template], requested: &RequestedTemplate) -> Option<Refused> {
    let RequestedTemplate { name, language, .. } = requested;
    let Some(template) = templates
        .iter()
        .find(|template| template.name == *name && template.language == *language)
    else {
        let text = format!("there is no template `{name}` in `{language}`");
        return Some(Refused::unknown_template(text).code("template-unknown"));
    };
    if template.status != TemplateStatus::Approved {
        let status = template.status.word();
        let text = format!("the template `{name}` in `{language}` is {status}");
        return Some(Refused::template(text).code("template-not-approved"));
    }
    let placeholders = templates::placeholders(template);
    let of = |component: &str, index: u32| -> Vec<&Placeholder> {
        placeholders
            .iter()
            .filter(|placeholder| placeholder.component == component && placeholder.index == index)
            .collect()
    };
    let buttons = template.buttons.len();
    let header = ("header".to_owned(), of("header", 0), requested.header());
    let body = ("body".to_owned(), of("body", 0), requested.body());
    let buttons = (0_u32..).take(buttons).map(|index| {
        let given = requested
            .buttons()
            .find(|(_, at, _)| *at == index)
            .map_or(&[][..], |(_, _, parameters)| parameters);
        (format!("button {index}"), of("button", index), given)
    });
    [header, body]
        .into_iter()
        .chain(buttons)
        .find_map(|(part, wanted, given)| misfilled(name, &part, &wanted, given))
}

/// Returns how the parameters of a part differ from its placeholders. A quick-reply
/// button takes none, and its payload is ignored.
fn misfilled(
    template: &str,
    part: &str,
    wanted: &[&Placeholder],
    given: &[Parameter],
) -> Option<Refused> {
    let kinds: Vec<&str> = given
        .iter()
        .map(|parameter| parameter.value.kind())
        .filter(|kind| *kind != "payload")
        .collect();
    let wanted: Vec<&str> = wanted
        .iter()
        .map(|placeholder| placeholder.kind.as_str())
        .collect();
    if kinds == wanted {
        return None;
    }
    let text = format!(
        "the template `{template}` needs {} in its {part}, but got {}",
        list(&wanted),
        list(&kinds)
    );
    Some(Refused::request(text).code("parameters"))
}

fn list(kinds: &[&str]) -> String {
    if kinds.is_empty() {
        "nothing".to_owned()
    } else {
        kinds.join(", ")
    }
}
