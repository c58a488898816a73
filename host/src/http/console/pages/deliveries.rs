//! Deliveries: the list with its filters, one delivery, and its replay.

use askama::Template;
use hyper::StatusCode;
use hyper::header::{CONTENT_DISPOSITION, HeaderValue};

use super::super::api::ApiRefusal;
use super::super::archive;
use super::super::form::{Form, encoded};
use super::super::frame::{self, Frame};
use super::super::sessions::Notice;
use super::super::{FormOutcome, Visit, page};
use super::Filters;
use crate::admin_api::captures::GoldenExport;
use crate::admin_api::connections::{ConnectionView, Connections};
use crate::admin_api::deliveries::{
    Deliveries, DeliveryDetailView, DeliveryView, ReplayRequest, Replayed, RequestView,
};
use crate::domain::delivery::DeliveryStatus;
use crate::domain::time::Micros;
use crate::http::error::ApiError;
use crate::http::reply;

#[derive(Template)]
#[template(path = "console/deliveries.html")]
pub struct DeliveriesPage {
    frame: Frame,
    filters: Filters,
    statuses: [DeliveryStatus; DeliveryStatus::ALL.len()],
    connections: Vec<ConnectionView>,
    deliveries: Vec<DeliveryView>,
    /// The address of the next page, below `/console`.
    next: Option<String>,
    /// The time back to which the page has looked, if older ones may match too.
    searched_until: Option<Micros>,
}

/// Returns the list.
///
/// # Errors
///
/// [`ApiRefusal`] if a filter is invalid, or the store cannot be read.
pub async fn list(visit: &Visit<'_>) -> Result<DeliveriesPage, ApiRefusal> {
    let names = [
        "status",
        "connection",
        "version",
        "q",
        "since",
        "until",
        "before",
    ];
    let filters = Filters::read(visit, &names);
    let api = visit.api();
    let connections: Connections = api.get("/connections").await?;
    let list: Deliveries = api.get(&format!("/deliveries{}", filters.query())).await?;
    let next = filters.next_page("/deliveries", list.next);
    Ok(DeliveriesPage {
        frame: visit.frame("deliveries", "Deliveries"),
        filters,
        statuses: DeliveryStatus::ALL,
        connections: connections.connections,
        deliveries: list.deliveries,
        next,
        searched_until: list.searched_until,
    })
}

#[derive(Template)]
#[template(path = "console/delivery.html")]
pub struct DeliveryPage {
    frame: Frame,
    delivery: DeliveryDetailView,
    body: String,
    command: String,
    /// The result of a replay that was only tried.
    replayed: Option<Replayed>,
}

/// Returns the page of a delivery.
///
/// # Errors
///
/// [`ApiRefusal`] if there is none with this id, or the store cannot be read.
pub async fn show(visit: &Visit<'_>, id: &str) -> Result<DeliveryPage, ApiRefusal> {
    with_replay(visit, id, None).await
}

async fn with_replay(
    visit: &Visit<'_>,
    id: &str,
    replayed: Option<Replayed>,
) -> Result<DeliveryPage, ApiRefusal> {
    let delivery: DeliveryDetailView = visit.api().get(&format!("/deliveries/{id}")).await?;
    Ok(DeliveryPage {
        frame: visit.frame(
            "deliveries",
            format!("Delivery of {}", delivery.facts.connection),
        ),
        body: pretty(&delivery.request),
        command: as_command(&delivery.request),
        delivery,
        replayed,
    })
}

/// Converts a delivery again: first only to show what would change, then with `apply`.
///
/// # Errors
///
/// [`ApiRefusal`] of the operation.
pub async fn replay(visit: &Visit<'_>, id: &str, form: &Form) -> Result<FormOutcome, ApiRefusal> {
    let request = ReplayRequest {
        apply: form.has("apply"),
        release: form.has("release"),
    };
    let (apply, release) = (request.apply, request.release);
    let path = format!("/deliveries/{}/replay", encoded(id));
    let replayed: Replayed = visit.api().post(&path, &request).await?;
    if apply || release {
        let notice = format!(
            "The delivery was converted again: {}.",
            replayed.status.as_str()
        );
        return Ok(FormOutcome::done(format!("/deliveries/{id}"), notice));
    }
    let shown = with_replay(visit, id, Some(replayed)).await?;
    Ok(FormOutcome::Page(page(StatusCode::OK, &shown)?))
}

/// Gives a delivery as golden cases, in an archive that the browser stores.
///
/// # Errors
///
/// [`ApiRefusal`] of the operation.
pub async fn export(visit: &Visit<'_>, id: &str) -> Result<FormOutcome, ApiRefusal> {
    let path = format!("/deliveries/{}/golden", encoded(id));
    let exported: GoldenExport = visit.api().post(&path, &serde_json::json!({})).await?;
    let mut files = Vec::new();
    for case in &exported.cases {
        for file in &case.files {
            files.push((format!("{}/{}", case.name, file.name), file.text.as_str()));
        }
    }
    let now = visit.call.http.core.clock.now();
    let archive = archive::tar(files, now.since(Micros(0)).as_secs());
    let archive = archive
        .ok_or_else(|| ApiRefusal::new(StatusCode::CONFLICT, "The name of a case is too long."))?;
    let mut reply = reply::bytes_of(StatusCode::OK, "application/x-tar", archive);
    // The id is one that the operation knows.
    let named = format!("attachment; filename=\"delivery-{id}.tar\"");
    let named = HeaderValue::from_str(&named).map_err(ApiError::internal)?;
    reply.headers_mut().insert(CONTENT_DISPOSITION, named);
    if !exported.notes.is_empty() {
        // The browser stays on its page, and the next one shows them.
        let notice = Notice {
            is_error: false,
            text: exported.notes.join(" "),
        };
        visit.call.http.sessions.notify(visit.session, notice);
    }
    Ok(FormOutcome::Page(reply))
}

/// Returns the body as a person reads it: a form by its fields, JSON indented, with the digits of its
/// numbers kept.
fn pretty(request: &RequestView) -> String {
    let Some(body) = &request.body else {
        return request.body_base64.clone().unwrap_or_default();
    };
    let mut headers = request.headers.iter();
    let is_form = headers
        .any(|(name, value)| name.eq_ignore_ascii_case("content-type") && value.starts_with(FORM));
    if is_form {
        let fields = form_urlencoded::parse(body.as_bytes());
        let lines: Vec<String> = fields
            .map(|(name, value)| format!("{name} = {value}"))
            .collect();
        return lines.join("\n");
    }
    let raw: Result<Box<serde_json::value::RawValue>, _> = serde_json::from_str(body);
    match raw {
        Ok(raw) => indent(raw.get()),
        Err(_) => body.clone(),
    }
}

const FORM: &str = "application/x-www-form-urlencoded";

/// Indents JSON text without reading its values, so that no digit and no order changes.
fn indent(json: &str) -> String {
    let mut text = String::with_capacity(json.len() * 2);
    let (mut depth, mut in_string, mut is_escaped) = (0usize, false, false);
    let line = |text: &mut String, depth: usize| {
        text.push('\n');
        text.extend(std::iter::repeat_n("  ", depth));
    };
    let mut characters = json.chars().peekable();
    while let Some(character) = characters.next() {
        if in_string {
            text.push(character);
            in_string = is_escaped || character != '"';
            is_escaped = !is_escaped && character == '\\';
            continue;
        }
        match character {
            '"' => {
                in_string = true;
                text.push(character);
            }
            '{' | '[' => {
                text.push(character);
                while characters.next_if(|next| next.is_whitespace()).is_some() {}
                if characters
                    .peek()
                    .is_some_and(|next| matches!(next, '}' | ']'))
                {
                    text.extend(characters.next());
                } else {
                    depth += 1;
                    line(&mut text, depth);
                }
            }
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                line(&mut text, depth);
                text.push(character);
            }
            ',' => {
                text.push(character);
                line(&mut text, depth);
            }
            ':' => text.push_str(": "),
            space if space.is_whitespace() => {}
            other => text.push(other),
        }
    }
    text
}

/// Returns the command that sends the request again. Its secrets stay masked.
fn as_command(request: &RequestView) -> String {
    let quoted = |text: &str| format!("'{}'", text.replace('\'', r"'\''"));
    let query: Vec<String> = request
        .query
        .iter()
        .map(|(name, value)| format!("{}={}", encoded(name), encoded(value)))
        .collect();
    let query = if query.is_empty() {
        String::new()
    } else {
        format!("?{}", query.join("&"))
    };
    let mut command = format!(
        "curl -X {} {}",
        request.method,
        quoted(&format!("$URL{}{query}", request.path)).replace("'$URL", "\"$URL\"'")
    );
    for (name, value) in &request.headers {
        let is_own = ["host", "content-length", "connection", "accept-encoding"];
        if !is_own.contains(&name.to_ascii_lowercase().as_str()) {
            command += &format!(" \\\n  -H {}", quoted(&format!("{name}: {value}")));
        }
    }
    if let Some(body) = &request.body
        && !body.is_empty()
    {
        command += &format!(" \\\n  --data-binary {}", quoted(body));
    }
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_indented_with_its_digits_and_its_order() {
        let check = |json: &str, expect: &str| assert_eq!(indent(json), expect);
        check(
            r#"{"b":12345678901234567890,"a":[1.10,{}],"t":"x: \"{,"}"#,
            "{\n  \"b\": 12345678901234567890,\n  \"a\": [\n    1.10,\n    {}\n  ],\n  \"t\": \"x: \\\"{,\"\n}",
        );
        check("[ ]", "[]");
        check("\"text\"", "\"text\"");
    }

    #[test]
    fn a_form_is_shown_by_its_fields() {
        let request = RequestView {
            method: "POST".to_owned(),
            path: "/".to_owned(),
            query: Vec::new(),
            headers: vec![("Content-Type".to_owned(), format!("{FORM}; charset=utf-8"))],
            body: Some("first=Rui&text=Quero+visitar%21".to_owned()),
            body_base64: None,
        };
        assert_eq!(pretty(&request), "first = Rui\ntext = Quero visitar!");
    }

    #[test]
    fn the_command_quotes_what_a_shell_would_read() {
        let request = RequestView {
            method: "POST".to_owned(),
            path: "/ingest-lead/x".to_owned(),
            query: vec![("a b".to_owned(), "c&d".to_owned())],
            headers: vec![
                ("Host".to_owned(), "old".to_owned()),
                ("X-Name".to_owned(), "it's".to_owned()),
            ],
            body: Some("{\"a\":\"$(id) 'x'\"}".to_owned()),
            body_base64: None,
        };
        let expect = "curl -X POST \"$URL\"'/ingest-lead/x?a%20b=c%26d' \\\n  -H 'X-Name: it'\\''s' \\\n  --data-binary '{\"a\":\"$(id) '\\''x'\\''\"}'";
        assert_eq!(as_command(&request), expect);
    }
}
