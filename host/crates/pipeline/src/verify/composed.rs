//! The outcome of one send under one version of an adapter, as fields that can be compared: the parts
//! of the request, and the version's reading of the provider's answer. Slots stay empty: a slot is
//! compared by its function and arguments, so no secret is involved.

use sha2::{Digest as _, Sha256};

use super::outcome::{FieldValue, ItemFields, OutcomeItem, Reason, VersionOutcome};
use crate::prelude::*;
use leadhost_domain::channel::{Category, SendAnswer, SendStep};
use leadhost_domain::difference::ItemKind;
use leadhost_domain::exchange::{HttpRequest, Slot, TextSegment};
use leadhost_domain::{hex, json};

/// The field of an answer that decides the result of the message.
pub const RESULT: &str = "answer.result";

/// The field of an answer with the ids by which later statuses find the message.
pub const IDS: &str = "answer.ids";

/// Returns the outcome of a send under a version: the step by which it would send the message, and its
/// reading of the provider's answer, if there is one. `None`: the host could not make a call, which
/// says nothing about the version.
pub fn outcome(
    step: &Result<SendStep, CallError>,
    read: Option<&Result<SendAnswer, CallError>>,
) -> Option<VersionOutcome> {
    let errors = [
        step.as_ref().err(),
        read.and_then(|read| read.as_ref().err()),
    ];
    if errors.into_iter().flatten().any(CallError::is_not_made) {
        return None;
    }
    let first = match step {
        Ok(SendStep::Call(request)) => request_item(request),
        Ok(SendStep::Answer(answer @ SendAnswer::Accepted(_))) => answer_item(answer),
        // It sends nothing.
        Ok(SendStep::Answer(SendAnswer::Refused(refused))) => {
            let why = format!("{}: {}", refused.category.as_str(), refused.text);
            return Some(VersionOutcome::Refused(Reason::Plugin(why)));
        }
        Ok(SendStep::Answer(SendAnswer::Unknown(why))) => {
            return Some(VersionOutcome::Refused(Reason::Plugin(why.clone())));
        }
        Err(error) => return Some(VersionOutcome::Failed(error.into())),
    };
    let mut items = vec![first];
    match read {
        Some(Ok(answer)) => items.push(answer_item(answer)),
        Some(Err(error)) => {
            let why = Reason::from(error).after("it cannot read the provider's answer: ");
            return Some(VersionOutcome::Failed(why));
        }
        None => {}
    }
    Some(VersionOutcome::Converted(items))
}

/// Returns the result of a message after this answer: it is out, it has failed, its contact has opted
/// out, it is sent again later, its instance is paused, or it is unknown.
pub fn result(answer: &SendAnswer) -> &'static str {
    match answer {
        SendAnswer::Accepted(_) => "accepted",
        SendAnswer::Refused(refused) => consequence(refused.category),
        SendAnswer::Unknown(_) => "unknown",
    }
}

fn consequence(category: Category) -> &'static str {
    match category {
        Category::Request
        | Category::Template
        | Category::UnknownTemplate
        | Category::Recipient
        | Category::Window
        | Category::Expired
        | Category::GivenUp => "failed",
        Category::OptOut => "opted out",
        Category::ThrottledRecipient
        | Category::ThrottledNumber
        | Category::ThrottledAccount
        | Category::Transient => "retried",
        Category::Account | Category::Connection => "paused",
    }
}

/// Returns whether a candidate's reading does no harm compared with the stable version's: it has the same
/// result, and every provider id of an accepted message.
pub fn is_harmless(stable: &SendAnswer, candidate: &SendAnswer) -> bool {
    let has_ids = match (stable, candidate) {
        (SendAnswer::Accepted(stable), SendAnswer::Accepted(own)) => {
            let mut ids = stable.external_ids.iter();
            ids.all(|id| own.external_ids.contains(id))
        }
        _ => true,
    };
    has_ids && result(stable) == result(candidate)
}

/// Collects fields, without those that have no value. The values of a name that occurs several
/// times are one field.
#[derive(Default)]
struct CollectedParts(ItemFields);

impl CollectedParts {
    fn add(&mut self, name: impl Into<String>, value: impl Into<String>) {
        let value = value.into();
        if value.is_empty() {
            return;
        }
        match self
            .0
            .entry(name.into())
            .or_insert_with(|| FieldValue::One(String::new()))
        {
            FieldValue::One(known) if known.is_empty() => *known = value,
            FieldValue::One(known) => {
                known.push_str(", ");
                known.push_str(&value);
            }
            FieldValue::Many(known) => {
                known.insert(value);
            }
        }
    }

    fn item(self, kind: ItemKind) -> OutcomeItem {
        OutcomeItem {
            kind,
            key: None,
            fields: self.0,
        }
    }
}

fn request_item(request: &HttpRequest) -> OutcomeItem {
    let mut fields = CollectedParts::default();
    fields.add("request.method", request.method.as_str());
    fields.add(
        "request.host",
        format!("{}://{}", request.scheme, request.authority),
    );
    fields.add("request.path", text(&request.path));
    for (name, value) in &request.query {
        fields.add(format!("query.{name}"), text(value));
    }
    let mut content_type = String::new();
    for (name, value) in &request.headers {
        let (name, value) = (name.to_ascii_lowercase(), text(value));
        if name == "content-type" {
            content_type.clone_from(&value);
        }
        fields.add(format!("header.{name}"), value);
    }
    add_body(&mut fields, &bytes(&request.body), &content_type);
    fields.item(ItemKind::Send)
}

/// Adds a body by its parts: the values of JSON by their paths, the fields of a form by their names,
/// any other body as one value.
fn add_body(fields: &mut CollectedParts, body: &[u8], content_type: &str) {
    if content_type.starts_with("application/x-www-form-urlencoded") {
        for (name, value) in form_urlencoded::parse(body) {
            fields.add(format!("body.{name}"), value);
        }
        return;
    }
    if !json::too_deep(body, limits::JSON_DEPTH)
        && let Ok(value) = serde_json::from_slice::<Value>(body)
    {
        let mut leaves = Vec::new();
        if flatten("body", &value, &mut leaves) {
            for (name, value) in leaves {
                fields.add(name, value);
            }
            return;
        }
    }
    fields.add("body", String::from_utf8_lossy(body));
}

/// Adds the values of a JSON value with their paths. Returns false if there are too many.
fn flatten(path: &str, value: &Value, leaves: &mut Vec<(String, String)>) -> bool {
    if leaves.len() >= limits::COMPARED_LEAVES {
        return false;
    }
    match value {
        Value::Object(members) => members
            .iter()
            .all(|(name, value)| flatten(&format!("{path}.{name}"), value, leaves)),
        Value::Array(values) => values
            .iter()
            .enumerate()
            .all(|(index, value)| flatten(&format!("{path}.{index}"), value, leaves)),
        Value::String(text) => {
            leaves.push((path.to_owned(), text.clone()));
            true
        }
        other => {
            leaves.push((path.to_owned(), other.to_string()));
            true
        }
    }
}

fn text(segments: &[TextSegment]) -> String {
    String::from_utf8_lossy(&bytes(segments)).into_owned()
}

fn bytes(segments: &[TextSegment]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for segment in segments {
        match segment {
            TextSegment::Literal(text) => bytes.extend_from_slice(text.as_bytes()),
            TextSegment::Bytes(some) => bytes.extend_from_slice(some),
            TextSegment::Slot(slot) => bytes.extend_from_slice(named(slot).as_bytes()),
        }
    }
    bytes
}

/// Returns a text for a slot that is the same for the same function and arguments. It has no
/// character with a meaning in JSON or in a form.
fn named(slot: &Slot) -> String {
    let whole = serde_json::to_vec(slot).unwrap_or_default();
    let digest = hex::encode(&Sha256::digest(&whole)[..8]);
    format!("<{} {digest}>", slot.function)
}

fn answer_item(answer: &SendAnswer) -> OutcomeItem {
    let mut fields = CollectedParts::default();
    fields.add(RESULT, result(answer));
    match answer {
        SendAnswer::Accepted(accepted) => {
            fields.add("answer.status", accepted.status.as_str());
            let ids = accepted.external_ids.iter().filter(|id| !id.is_empty());
            let ids: BTreeSet<String> = ids.cloned().collect();
            if !ids.is_empty() {
                fields.0.insert(IDS.to_owned(), FieldValue::Many(ids));
            }
            if let Some(recipient) = &accepted.recipient_id {
                fields.add("answer.recipient", recipient.as_str());
            }
        }
        SendAnswer::Refused(refused) => {
            fields.add("answer.category", refused.category.as_str());
            fields.add("answer.code", refused.code.as_str());
            fields.add("answer.title", refused.title.as_str());
            fields.add("answer.text", refused.text.as_str());
            fields.add("answer.details", refused.details.as_str());
            if let Some(wait) = refused.retry_after {
                fields.add("answer.retryAfter", wait.as_secs().to_string());
            }
        }
        SendAnswer::Unknown(reason) => fields.add("reason", reason.as_str()),
    }
    fields.item(ItemKind::Answer)
}

#[cfg(test)]
mod tests {

    use super::*;
    use leadhost_domain::channel::{AcceptedSend, RefusedSend};
    use leadhost_domain::exchange::{SlotArgument, SlotFunction, UrlScheme};

    fn literal(text: &str) -> Vec<TextSegment> {
        vec![TextSegment::Literal(text.to_owned())]
    }

    fn slot(secret: &str) -> TextSegment {
        TextSegment::Slot(Slot {
            function: SlotFunction::Secret,
            args: vec![SlotArgument::Secret(secret.to_owned())],
        })
    }

    fn request(content_type: &str, body: Vec<TextSegment>) -> HttpRequest {
        HttpRequest {
            method: "POST".to_owned(),
            scheme: UrlScheme::Https,
            authority: "api.example.com".to_owned(),
            path: literal("/v1/messages"),
            query: vec![
                ("to".to_owned(), literal("1")),
                ("to".to_owned(), literal("2")),
            ],
            headers: vec![("Content-Type".to_owned(), literal(content_type))],
            body,
        }
    }

    fn refused(category: Category, text: &str, retry_after: Option<Duration>) -> SendAnswer {
        SendAnswer::Refused(RefusedSend {
            category,
            code: String::new(),
            title: String::new(),
            text: text.to_owned(),
            details: String::new(),
            retry_after,
        })
    }

    fn accepted(id: &str) -> SendAnswer {
        SendAnswer::Accepted(AcceptedSend {
            external_ids: vec![id.to_owned()],
            recipient_id: None,
            further_ids: Vec::new(),
            status: String::new(),
        })
    }

    fn fields(request: HttpRequest) -> ItemFields {
        let step = Ok(SendStep::Call(Box::new(request)));
        match outcome(&step, None) {
            Some(VersionOutcome::Converted(mut items)) => items.remove(0).fields,
            other => panic!("no request: {other:?}"),
        }
    }

    fn value(fields: &ItemFields, name: &str) -> String {
        match fields.get(name) {
            Some(FieldValue::One(value)) => value.clone(),
            other => panic!("{name}: {other:?}"),
        }
    }

    #[test]
    fn a_request_is_compared_part_by_part() {
        let body = r#"{"template":{"name":"welcome","components":[{"text":"Ana"}]},"n":1}"#;
        let found = fields(request("application/json", literal(body)));
        for (name, expect) in [
            ("request.method", "POST"),
            ("request.host", "https://api.example.com"),
            ("request.path", "/v1/messages"),
            ("query.to", "1, 2"),
            ("header.content-type", "application/json"),
            ("body.template.name", "welcome"),
            ("body.template.components.0.text", "Ana"),
            ("body.n", "1"),
        ] {
            assert_eq!(value(&found, name), expect, "{name}");
        }
        let form = "application/x-www-form-urlencoded; charset=utf-8";
        let found = fields(request(form, literal("To=%2B55&Body=Ol%C3%A1")));
        assert_eq!(value(&found, "body.To"), "+55");
        assert_eq!(value(&found, "body.Body"), "Olá");
        let found = fields(request("text/plain", literal("no JSON")));
        assert_eq!(value(&found, "body"), "no JSON");
    }

    #[test]
    fn a_body_of_too_many_values_is_one_value() {
        let body = format!("[{}0]", "0,".repeat(limits::COMPARED_LEAVES));
        let found = fields(request("application/json", literal(&body)));
        assert_eq!(value(&found, "body"), body);
    }

    #[test]
    fn slots_are_distinguished_without_their_arguments() {
        let with = |name: &str| {
            let mut body = literal(r#"{"token":""#);
            body.push(slot(name));
            body.extend(literal(r#""}"#));
            value(&fields(request("application/json", body)), "body.token")
        };
        assert_eq!(with("token"), with("token"));
        assert_ne!(with("token"), with("other"));
        assert!(with("token").starts_with("<secret "), "{}", with("token"));
    }

    #[test]
    fn a_send_without_a_request_and_an_unread_answer_are_failures() {
        let request = request("text/plain", literal("x"));
        let call = || Ok(SendStep::Call(Box::new(request.clone())));
        let refused = refused(Category::Request, "no", Some(Duration::from_secs(7)));
        let trapped = CallError::OutOfMemory {
            limit: 1,
            place: String::new(),
            log: Vec::new(),
        };
        let step = Ok(SendStep::Answer(refused.clone()));
        let why = Reason::Plugin("request: no".to_owned());
        assert_eq!(outcome(&step, None), Some(VersionOutcome::Refused(why)));
        for failed in [
            outcome(&call(), Some(&Err(trapped.clone()))),
            outcome(&Err(trapped), None),
        ] {
            assert!(matches!(failed, Some(VersionOutcome::Failed(_))));
        }
        assert_eq!(outcome(&call(), Some(&Err(CallError::Busy))), None);
        let Some(VersionOutcome::Converted(items)) = outcome(&call(), Some(&Ok(refused))) else {
            panic!("both are read");
        };
        assert_eq!(items[1].kind, ItemKind::Answer);
        assert_eq!(value(&items[1].fields, RESULT), "failed");
        assert_eq!(value(&items[1].fields, "answer.retryAfter"), "7");
        assert_eq!(result(&accepted("w1")), "accepted");
        assert_eq!(result(&SendAnswer::Unknown(String::new())), "unknown");
    }

    #[test]
    fn refusals_with_another_consequence_and_answers_without_an_id_do_harm() {
        let check = |one, other, expect: bool| {
            let (one, other) = (refused(one, "", None), refused(other, "", None));
            assert_eq!(is_harmless(&one, &other), expect, "{one:?} {other:?}");
        };
        check(Category::Recipient, Category::OptOut, false);
        check(Category::ThrottledNumber, Category::Account, false);
        check(Category::Transient, Category::Request, false);
        check(Category::Request, Category::Template, true);
        check(Category::Transient, Category::ThrottledAccount, true);
        check(Category::Account, Category::Connection, true);
        assert!(is_harmless(&accepted("w1"), &accepted("w1")));
        assert!(!is_harmless(&accepted("w1"), &accepted("w2")));
    }
}
