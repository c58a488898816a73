//! Shows what becomes of a message that the private service sends: the request that the adapter
//! composed, with its slots as they are, the answer of the provider, and the outcome.

use crate::cli::plugin::run::milliseconds;
use crate::cli::prelude::*;
use leadhost_domain::channel::{AcceptedSend, RefusedSend, SendAnswer, SendStep};
use leadhost_domain::exchange::{HttpRequest, Slot, SlotArgument, TextSegment};
use leadhost_plugin::WatchedSend;

/// Characters of a text that are shown: bodies are read here.
const CHARACTERS: usize = 4_000;

pub fn line_within(most: usize, label: &str, text: &str) -> String {
    let text = safe(text);
    let end = text.char_indices().nth(most).map(|(end, _)| end);
    match end {
        Some(end) => format!("  {label}: {}…", &text[..end]),
        None => format!("  {label}: {text}"),
    }
}

pub fn step_lines(step: &SendStep) -> Vec<String> {
    match step {
        SendStep::Call(request) => request_lines(request),
        // Its outcome is shown with the attempt.
        SendStep::Answer(_) => vec![line("request", "none, the adapter answers without one")],
    }
}

fn request_lines(request: &HttpRequest) -> Vec<String> {
    let HttpRequest {
        method,
        scheme,
        authority,
        ..
    } = request;
    let query: Vec<String> = request
        .query
        .iter()
        .map(|(name, value)| format!("{name}={}", text(value)))
        .collect();
    let query = if query.is_empty() {
        String::new()
    } else {
        format!("?{}", query.join("&"))
    };
    let path = text(&request.path);
    let url = format!("{method} {scheme}://{authority}{path}{query}");
    let mut lines = vec![line("request", &url)];
    let headers = request.headers.iter();
    lines.extend(headers.map(|(name, value)| format!("  {}", line(name, &text(value)))));
    let body = text(&request.body);
    if !body.is_empty() {
        lines.push(format!("  {}", line("body", &body)));
    }
    lines
}

pub fn outcome_lines(send: &WatchedSend) -> Vec<String> {
    let took = milliseconds(send.took);
    let mut lines = Vec::new();
    if let Some(response) = &send.response {
        let body = String::from_utf8_lossy(&response.body);
        let status = response.status;
        lines.push(line(
            "provider",
            &format!("status {status} after {took}: {body}"),
        ));
    }
    let outcome = match &send.answer {
        SendAnswer::Accepted(accepted) => accepted_text(accepted),
        SendAnswer::Refused(refused) => refused_text(refused),
        SendAnswer::Unknown(why) => format!("unknown, and not sent again: {why}"),
    };
    lines.push(line("outcome", &outcome));
    if send.is_paused {
        let what = "the instance is paused: its messages wait for `leadhost instance resume`";
        lines.push(line("next", what));
    } else if let Some(next) = send.next {
        let what = format!("the message waits, and is sent again in {}", waited(next));
        lines.push(line("next", &what));
    }
    lines
}

fn accepted_text(accepted: &AcceptedSend) -> String {
    let status = match accepted.status.as_str() {
        "" => "accepted",
        status => status,
    };
    match accepted.external_ids.as_slice() {
        [] => format!("{status}, without an id"),
        ids => format!("{status}, id {}", ids.join(" ")),
    }
}

/// Returns a refusal in words. Texts that say the same are shown once.
fn refused_text(refused: &RefusedSend) -> String {
    let mut whose = refused.category.as_str().to_owned();
    if !refused.code.is_empty() {
        whose += &format!(", code {}", refused.code);
    }
    let mut texts: Vec<&str> = Vec::new();
    for text in [&refused.title, &refused.text, &refused.details] {
        if !text.is_empty() && !texts.contains(&text.as_str()) {
            texts.push(text);
        }
    }
    format!("refused ({whose}): {}", texts.join(": "))
}

fn line(label: &str, text: &str) -> String {
    line_within(CHARACTERS, label, text)
}

fn waited(time: Duration) -> String {
    match time.as_secs() {
        0 => "less than a second".to_owned(),
        seconds => count(seconds, "second", "seconds"),
    }
}

/// Returns a text with its slots, which only the host fills: `{secret token}`.
fn text(segments: &[TextSegment]) -> String {
    let segments = segments.iter().map(|segment| match segment {
        TextSegment::Literal(text) => text.clone(),
        TextSegment::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        TextSegment::Slot(slot) => slot_text(slot),
    });
    segments.collect()
}

fn slot_text(slot: &Slot) -> String {
    let arguments = slot.args.iter().map(|argument| match argument {
        SlotArgument::Secret(name) => format!(" {name}"),
        SlotArgument::Literal(text) => format!(" {text:?}"),
    });
    let arguments: String = arguments.collect();
    format!("{{{}{arguments}}}", slot.function)
}

#[cfg(test)]
mod tests {
    use super::*;
    use leadhost_domain::channel::Category;
    use leadhost_domain::exchange::{HttpResponse, SlotFunction, UrlScheme};

    fn literal(text: &str) -> TextSegment {
        TextSegment::Literal(text.to_owned())
    }

    #[test]
    fn a_request_is_shown_with_its_slots_as_they_are() {
        let slot = TextSegment::Slot(Slot {
            function: SlotFunction::Secret,
            args: vec![SlotArgument::Secret("token".to_owned())],
        });
        let request = HttpRequest {
            method: "POST".to_owned(),
            scheme: UrlScheme::Https,
            authority: "api.example".to_owned(),
            path: vec![literal("/v1/messages")],
            query: vec![("a".to_owned(), vec![literal("b")])],
            headers: vec![("authorization".to_owned(), vec![literal("Bearer "), slot])],
            body: vec![literal("{\"to\":"), TextSegment::Bytes(b"1}".to_vec())],
        };
        let lines = step_lines(&SendStep::Call(Box::new(request)));
        let expected = [
            "  request: POST https://api.example/v1/messages?a=b",
            "    authorization: Bearer {secret token}",
            "    body: {\"to\":1}",
        ];
        assert_eq!(lines, expected);
    }

    fn send(answer: SendAnswer) -> WatchedSend {
        WatchedSend {
            plugin: "chat".to_owned(),
            took: Duration::from_millis(12),
            response: None,
            answer,
            next: None,
            is_paused: false,
        }
    }

    fn refused(category: Category, text: &str) -> SendAnswer {
        SendAnswer::Refused(RefusedSend {
            category,
            code: "unreachable".to_owned(),
            title: "Not sent".to_owned(),
            text: text.to_owned(),
            details: String::new(),
            retry_after: None,
        })
    }

    #[test]
    fn an_outcome_says_why_and_when_it_is_sent_again() {
        let failed = WatchedSend {
            next: Some(Duration::from_secs(15)),
            ..send(refused(
                Category::Transient,
                "api.example cannot be reached",
            ))
        };
        let expected = [
            "  outcome: refused (transient, code unreachable): Not sent: api.example cannot be reached",
            "  next: the message waits, and is sent again in 15 seconds",
        ];
        assert_eq!(outcome_lines(&failed), expected);

        let paused = WatchedSend {
            is_paused: true,
            ..send(refused(Category::Connection, "not allowed"))
        };
        assert!(outcome_lines(&paused)[1].contains("instance resume"));

        let accepted = WatchedSend {
            response: Some(HttpResponse {
                status: 200,
                headers: Vec::new(),
                body: b"{\"id\":7}".to_vec(),
            }),
            ..send(SendAnswer::Accepted(AcceptedSend {
                external_ids: vec!["7".to_owned()],
                recipient_id: None,
                further_ids: Vec::new(),
                status: String::new(),
            }))
        };
        let expected = [
            "  provider: status 200 after 12 ms: {\"id\":7}",
            "  outcome: accepted, id 7",
        ];
        assert_eq!(outcome_lines(&accepted), expected);

        let unknown = outcome_lines(&send(SendAnswer::Unknown("no answer".to_owned())));
        assert_eq!(
            unknown,
            ["  outcome: unknown, and not sent again: no answer"]
        );
    }
}
