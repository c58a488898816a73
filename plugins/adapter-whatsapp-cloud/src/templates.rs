//! The account's list of templates, page by page.
//!
//! The next page is requested by its cursor; an address in a response is never
//! followed.

use leadhost_sdk::{
    HttpRequest, HttpResponse, Placeholder, Problem, Refused, Template, TemplatePage, TemplateStep,
    form, serde_json::Value, text_at,
};

use crate::{Config, answer};

/// Returns the request for the first page, if the account is configured.
///
/// # Errors
///
/// [`Problem`] if the configuration does not give a valid address.
pub fn list(config: &Config) -> Result<TemplateStep, Problem> {
    match &config.waba_id {
        Some(account) => Ok(request(config, account, None)?.into()),
        None => Ok(TemplateStep::Unlisted),
    }
}

fn request(config: &Config, account: &str, after: Option<&str>) -> Result<HttpRequest, Problem> {
    let request = config
        .call("GET", account, "message_templates")?
        .query("fields", FIELDS)
        .query("limit", PAGE);
    Ok(match after {
        Some(after) => request.query("after", after),
        None => request,
    })
}

/// Returns the templates of a response, and the request for the next page.
///
/// # Errors
///
/// [`Refused`] if the answer is an error or no list of templates.
pub fn read(config: &Config, response: &HttpResponse) -> Result<TemplatePage, Refused> {
    let body = response.json().ok();
    if let Some(refused) = answer::refusal(body.as_ref(), response) {
        return Err(for_list(refused));
    }
    let unreadable = || {
        // Reading is repeatable, so an unreadable response is retried.
        Refused::transient(format!(
            "the Graph API's answer with status {} is no list of templates",
            response.status
        ))
        .retry_after(response.retry_after())
    };
    let body = body
        .filter(|_| (200..300).contains(&response.status))
        .ok_or_else(unreadable)?;
    let rows = body
        .get("data")
        .and_then(Value::as_array)
        .ok_or_else(unreadable)?;
    let templates: Vec<Template> = rows.iter().filter_map(template).collect();
    let next = match (&config.waba_id, cursor(&body)) {
        (Some(account), Some(after)) => {
            Some(request(config, account, Some(&after)).map_err(Refused::misconfigured)?)
        }
        _ => None,
    };
    Ok(TemplatePage::from(templates).next(next))
}

/// A category that concerns one message in a send concerns the request here.
fn for_list(refused: Refused) -> Refused {
    let category = match refused.category.as_str() {
        "unknown-template" | "template" | "recipient" | "window" | "opt-out" => "request",
        "throttled-recipient" | "throttled-number" => "throttled-account",
        _ => return refused,
    };
    Refused {
        category: category.into(),
        ..refused
    }
}

/// Returns the cursor of the next page. The last page has cursors too, but no `next`.
fn cursor(body: &Value) -> Option<String> {
    let next = text_at(body, &["paging.next"])?;
    text_at(body, &["paging.cursors.after"]).or_else(|| {
        let (_, query) = next.split_once('?')?;
        form::fields(query.as_bytes())
            .into_iter()
            .find(|(name, after)| name == "after" && !after.is_empty())
            .map(|(_, after)| after)
    })
}

fn template(row: &Value) -> Option<Template> {
    let name = text_at(row, &["name"])?;
    let language = text_at(row, &["language", "language.code"])?;
    let status = text_at(row, &["status"]).unwrap_or_default();
    let reason = text_at(row, &["rejected_reason", "reason"]).unwrap_or_default();
    let empty = Value::Array(Vec::new());
    let components = row
        .get("components")
        .filter(|components| components.is_array())
        .unwrap_or(&empty);

    let mut template = Template::new(name, language, &status_word(&status))
        .category(
            text_at(row, &["category"])
                .unwrap_or_default()
                .to_ascii_lowercase(),
        )
        .reason(reason_word(&reason))
        .components(components);
    for component in components.as_array().map_or(&[][..], Vec::as_slice) {
        template = with_component(template, component);
    }
    Some(template)
}

fn with_component(template: Template, component: &Value) -> Template {
    let text = text_at(component, &["text"]).unwrap_or_default();
    match word(component, "type").as_str() {
        "header" => match word(component, "format").as_str() {
            "" | "text" => template.placeholders_of("header", 0, &text),
            // Image, video, document. A header can also ask for a location, which no
            // send can provide.
            format => template.placeholder(Placeholder::header_media(format)),
        },
        "body" => {
            let template = template.placeholders_of("body", 0, &text);
            // Unchanged: the text of the row is not trimmed.
            match component.get("text").and_then(Value::as_str) {
                Some(text) => template.text(text),
                None => template,
            }
        }
        "buttons" => component
            .get("buttons")
            .and_then(Value::as_array)
            .map_or(&[][..], Vec::as_slice)
            .iter()
            .zip(0..)
            .fold(template, |template, (button, index)| {
                with_button(template, button, index)
            }),
        _ => template,
    }
}

fn with_button(template: Template, button: &Value, index: u32) -> Template {
    let of_kind = |kind: &str| Placeholder {
        component: "button".into(),
        index,
        kind: kind.into(),
        name: String::new(),
    };
    match word(button, "type").as_str() {
        // A button has at most one placeholder, and it has no name.
        "url" => match text_at(button, &["url"]) {
            Some(url) if url.contains("{{") => template.placeholder(of_kind("text")),
            _ => template,
        },
        // The code of a one-time password is passed to the button, too.
        "otp" => template.placeholder(of_kind("text")),
        "copy_code" => template.placeholder(of_kind("coupon_code")),
        _ => template,
    }
}

/// Returns Meta's states in lower case; an appeal counts as pending.
fn status_word(status: &str) -> String {
    match status.to_ascii_lowercase().as_str() {
        "in_appeal" => "pending".into(),
        word => word.into(),
    }
}

/// Returns the reason; Meta sends `NONE` if there is none.
pub fn reason_word(reason: &str) -> String {
    if reason.eq_ignore_ascii_case("none") {
        String::new()
    } else {
        reason.to_owned()
    }
}

fn word(value: &Value, name: &str) -> String {
    text_at(value, &[name])
        .unwrap_or_default()
        .to_ascii_lowercase()
}

const FIELDS: &str = "name,language,status,category,rejected_reason,parameter_format,components";
/// Rows per page. Meta allows more, but a row can have some kilobytes.
const PAGE: &str = "100";
