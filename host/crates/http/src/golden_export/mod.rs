//! Golden cases of stored deliveries: a delivery becomes one case, and each answer to its fetches another
//! one. Persons are masked by shape. The expectation is written afterwards by `leadhost
//! plugin test --write`: only the plugin itself can give it. Nothing here reads or writes: the command and
//! the service make the same cases of what was captured.

mod masking;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use leadhost_golden::{Call, Case, Completion, Delivery, Response};
use serde_json::Value;

pub use self::masking::Patience;
use self::masking::Persons;
use leadhost_admin_api::captures::{CaptureView, CapturedAnswerView, CapturedConnection};
use leadhost_domain::exchange::{Pairs, first};

/// Why a delivery cannot become a golden case.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    #[error("the delivery has a body that is not text, so persons in it cannot be masked")]
    NotText,
    #[error("the persons in the delivery could not be masked in time, because it is too large")]
    NotInTime,
    #[error("the service sent a body that is not base64: {0}")]
    NotBase64(base64::DecodeError),
}

/// `labels`: texts by which a converter finds values, such as the questions of a form. They stay unless they
/// are a person's elsewhere in the body.
pub fn without_persons(body: &str, is_form: bool, labels: Vec<String>) -> String {
    let mut persons = Persons::with_labels(labels);
    persons.learn_from(body, is_form);
    persons.body(body, is_form)
}

/// Learns the persons of the delivery: from its values, and from the leads that it became.
fn persons(capture: &CaptureView, patience: Option<Patience>) -> Result<Persons, ExportError> {
    let mut persons = Persons::with_patience(patience);
    let outcome = capture.outcome.as_ref();
    let items = outcome.and_then(|outcome| outcome.items.as_ref());
    persons.is_unread = items.is_none_or(Vec::is_empty);
    for (name, values) in items.into_iter().flatten().flat_map(|item| &item.fields) {
        for value in values {
            persons.learn(name, value);
        }
    }
    let request = &capture.request;
    persons.learn_from(
        text(request.body.as_deref(), request.body_base64.as_deref())?,
        is_form(&request.headers),
    );
    for (name, value) in request.query.iter().chain(&request.headers) {
        persons.learn(name, value);
    }
    for answer in &capture.answers {
        let body = text(answer.body.as_deref(), answer.body_base64.as_deref())?;
        persons.learn_from(body, is_form(&answer.headers));
    }
    Ok(persons)
}

/// Returns a body as text. Only in a text can persons be masked.
fn text<'a>(body: Option<&'a str>, base64: Option<&str>) -> Result<&'a str, ExportError> {
    match (body, base64) {
        (Some(text), _) => Ok(text),
        (None, None) => Ok(""),
        (None, Some(_)) => Err(ExportError::NotText),
    }
}

fn plain(body: Option<&str>, base64: Option<&str>) -> Result<Vec<u8>, ExportError> {
    match (body, base64) {
        (Some(text), _) => Ok(text.as_bytes().to_vec()),
        (None, Some(encoded)) => STANDARD.decode(encoded).map_err(ExportError::NotBase64),
        (None, None) => Ok(Vec::new()),
    }
}

fn content_type(headers: &[(String, String)]) -> &str {
    first(headers, "content-type").unwrap_or_default()
}

fn is_form(headers: &[(String, String)]) -> bool {
    content_type(headers).starts_with("application/x-www-form-urlencoded")
}

/// Words in the names of headers of browsers, proxies and the connection: no plugin needs them, and some name
/// persons, their devices or their addresses.
const LEFT_OUT: [&str; 40] = [
    "accept",
    "addr",
    "address",
    "agent",
    "akamai",
    "amz",
    "authorization",
    "cf",
    "ch",
    "city",
    "client",
    "connection",
    "cookie",
    "country",
    "encoding",
    "envoy",
    "fastly",
    "forwarded",
    "from",
    "geo",
    "host",
    "ip",
    "latitude",
    "length",
    "location",
    "longitude",
    "origin",
    "postal",
    "proxy",
    "ray",
    "referer",
    "referrer",
    "region",
    "request",
    "sec",
    "session",
    "traceparent",
    "tracestate",
    "uri",
    "url",
];

/// Returns whether a golden case has the header.
fn is_kept(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let mut words = name.split(['-', '_']);
    name != "via" && !words.any(|word| LEFT_OUT.contains(&word))
}

/// The cases that a delivery becomes.
pub struct ExportedCases<'a> {
    capture: &'a CaptureView,
    connection: &'a CapturedConnection,
    /// `None`: everything stays as it is.
    persons: Option<Persons>,
}

impl<'a> ExportedCases<'a> {
    /// Returns the cases of a delivery that this connection received. `is_raw`: personal data stays as it
    /// is.
    /// `patience`: how long the persons may be masked.
    pub fn new(
        capture: &'a CaptureView,
        connection: &'a CapturedConnection,
        is_raw: bool,
        patience: Option<Patience>,
    ) -> Result<Self, ExportError> {
        let persons = if is_raw {
            None
        } else {
            Some(persons(capture, patience)?)
        };
        Ok(Self {
            capture,
            connection,
            persons,
        })
    }

    pub fn cases(&self, name: &str) -> Result<Vec<(Case, String)>, ExportError> {
        let mut cases = vec![self.request(name)?];
        let answers = self.capture.answers.iter();
        for (answer, state) in answers.filter_map(|answer| Some((answer, state(answer)?))) {
            let name = format!("{name}-answer-{}", cases.len());
            cases.push(self.answer(name, answer, &state)?);
        }
        if self.persons.as_ref().is_some_and(Persons::is_given_up) {
            Err(ExportError::NotInTime)
        } else {
            Ok(cases)
        }
    }

    fn request(&self, name: &str) -> Result<(Case, String), ExportError> {
        let request = &self.capture.request;
        let call = match self.connection.instance_id {
            None => Call::Convert,
            Some(_) => Call::ReadWebhook,
        };
        let body = self.body(
            (request.body.as_deref(), request.body_base64.as_deref()),
            &request.headers,
        )?;
        let file = body_file(&body, &request.headers);
        let case = Case {
            about: self.about("A delivery"),
            delivery: Delivery {
                method: request.method.clone(),
                query: self.pairs(&request.query),
                headers: self.headers(&request.headers),
                ..self.delivery()
            },
            body,
            ..Case::new(name, call)
        };
        Ok((case, file))
    }

    fn answer(
        &self,
        name: String,
        answer: &CapturedAnswerView,
        state: &str,
    ) -> Result<(Case, String), ExportError> {
        let body = self.body(
            (answer.body.as_deref(), answer.body_base64.as_deref()),
            &answer.headers,
        )?;
        let file = body_file(&body, &answer.headers);
        let case = Case {
            about: self.about("The answer to a fetch"),
            delivery: self.delivery(),
            body,
            completion: Completion {
                // The source may name the lead by a person.
                external_id: answer.external_id.as_deref().map(|id| self.value("", id)),
                state: Value::String(match &self.persons {
                    Some(persons) => persons.body(state, false),
                    None => state.to_owned(),
                }),
                hop: answer.hop,
                response: Response {
                    status: answer.status,
                    headers: self.headers(&answer.headers),
                },
            },
            ..Case::new(name, Call::Complete)
        };
        Ok((case, file))
    }

    /// Returns what all calls of the delivery have in common. The path is left out: it has the
    /// address of the connection, to which anyone may post.
    fn delivery(&self) -> Delivery {
        let connection = self.connection;
        Delivery {
            received_at: self.capture.facts.received_at.text(),
            config: connection.config.clone(),
            context: vec![
                ("time-zone".to_owned(), connection.time_zone.clone()),
                ("region".to_owned(), connection.region.clone()),
            ],
            ..Delivery::default()
        }
    }

    fn about(&self, what: &str) -> String {
        let persons = match &self.persons {
            Some(_) => "masked persons",
            None => "its personal data",
        };
        format!("{what} of {}, with {persons}", self.connection.name)
    }

    fn body(
        &self,
        (body, base64): (Option<&str>, Option<&str>),
        headers: &[(String, String)],
    ) -> Result<Vec<u8>, ExportError> {
        match &self.persons {
            None => plain(body, base64),
            Some(persons) => {
                let masked = persons.body(text(body, base64)?, is_form(headers));
                Ok(masked.into_bytes())
            }
        }
    }

    fn headers(&self, headers: &[(String, String)]) -> Pairs {
        if self.persons.is_none() {
            return headers.to_vec();
        }
        let kept = headers.iter().filter(|(name, _)| is_kept(name));
        self.pairs(&kept.cloned().collect::<Pairs>())
    }

    fn pairs(&self, pairs: &[(String, String)]) -> Pairs {
        let pairs = pairs.iter();
        pairs
            .map(|(name, value)| (self.name(name), self.value(name, value)))
            .collect()
    }

    fn name(&self, name: &str) -> String {
        match &self.persons {
            Some(persons) => persons.key(name),
            None => name.to_owned(),
        }
    }

    fn value(&self, name: &str, value: &str) -> String {
        match &self.persons {
            Some(persons) => persons.value(name, value),
            None => value.to_owned(),
        }
    }

    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        let ran = self.capture.facts.ran.as_ref();
        if ran.is_some_and(|ran| ran.config_version != self.connection.config_version) {
            notes.push(
                "The configuration of the connection has changed since: the case has the current one."
                    .to_owned(),
            );
        }
        let answers = self.capture.answers.iter();
        let without = answers.filter(|answer| state(answer).is_none()).count();
        if without > 0 {
            let answers = match without {
                1 => "answer to a fetch is",
                _ => "answers to fetches are",
            };
            notes.push(format!(
                "{without} {answers} without a case: the active version would not ask for it, or its state is not text.",
            ));
        }
        if self.capture.answers_left_out {
            notes.push("Further answers to fetches are left out: they are too large.".to_owned());
        }
        notes
    }
}

/// Returns the state of the fetch, if it is text: another one cannot be written in a case.
fn state(answer: &CapturedAnswerView) -> Option<String> {
    let bytes = STANDARD.decode(answer.state_base64.as_ref()?).ok()?;
    String::from_utf8(bytes).ok()
}

fn body_file(body: &[u8], headers: &[(String, String)]) -> String {
    let end = match body.trim_ascii_start().first() {
        _ if std::str::from_utf8(body).is_err() => "bin",
        Some(b'{' | b'[') => "json",
        Some(b'<') if content_type(headers).contains("html") => "html",
        Some(b'<') => "xml",
        _ => "txt",
    };
    format!("body.{end}")
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Weak};
    use std::time::{Duration, Instant};

    use super::*;
    use serde_json::json;

    fn captured() -> (CaptureView, CapturedConnection) {
        let id = "019cae2b-3f60-7c11-b0de-1f2a5b7c9d01";
        let address = "AAAAAAAAAAAAAAAAAAAAAA";
        let capture = json!({
            "id": id, "connectionId": address, "connection": "site", "instanceId": null,
            "receivedAt": "2026-03-02T12:00:00Z", "status": "converted", "bytes": 2, "attempts": 0, "ran": null,
            "error": null, "plugin": "mapping", "servedBy": null, "answers": [], "answersLeftOut": false, "outcome": null,
            "request": {
                "method": "POST", "path": "/", "body": r#"{"nome": "Ana"}"#, "bodyBase64": null,
                "query": [["ana@mail.example", ""], ["page", "https://site.example/?e=ana%40mail.example"]],
                "headers": [
                    ["Content-Type", "application/json"], ["X-Event-Type", "lead"], ["X-Hub-Signature-256", "sha256=00"],
                    ["Referer", "https://site.example/?e=ana%40mail.example"], ["Origin", "https://ana.example"],
                    ["Cookie", "a=ana"], ["User-Agent", "Ana's phone"], ["X-Forwarded-For", "203.0.113.7"],
                    ["Client-IP", "203.0.113.7"], ["X-Real-IP", "203.0.113.7"], ["CF-IPCity", "Ana"], ["From", "ana@mail.example"],
                    ["Authorization", "***"], ["Sec-CH-UA", "x"], ["X-Original-URL", "/ana"], ["Via", "ana"], ["Accept-Language", "pt"],
                ],
            },
        });
        let connection = json!({
            "id": address, "name": "site", "workspaceId": id, "plugin": "mapping", "instanceId": null, "channel": "",
            "config": {}, "configVersion": 1, "routes": {}, "region": "BR", "timeZone": "UTC", "isChecked": true,
        });
        let read = "it is one";
        (
            serde_json::from_value(capture).expect(read),
            serde_json::from_value(connection).expect(read),
        )
    }

    #[test]
    fn a_case_has_the_parts_of_a_request_by_which_it_is_converted_and_no_person() {
        let (capture, connection) = captured();
        let exported = ExportedCases::new(&capture, &connection, false, None).expect("it is text");
        let (case, _) = exported.cases("one").expect("in time").remove(0);
        let names: Vec<_> = case
            .delivery
            .headers
            .iter()
            .map(|(name, _)| name.as_str())
            .collect();
        assert_eq!(
            names,
            ["Content-Type", "X-Event-Type", "X-Hub-Signature-256"]
        );
        let query: Vec<_> = case
            .delivery
            .query
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        assert_eq!(
            query,
            [
                "xxx@xxxx.xxxxxxx=",
                "page=https://site.example/?e=xxx%40xxxx.xxxxxxx"
            ]
        );
        let raw = ExportedCases::new(&capture, &connection, true, None).expect("it is text");
        let (case, _) = raw.cases("one").expect("in time").remove(0);
        assert_eq!(case.delivery.headers, capture.request.headers);
    }

    #[test]
    fn a_body_that_became_no_lead_keeps_only_its_structure() {
        let (mut capture, connection) = captured();
        for (content_type, body, expect) in [
            (
                "text/csv",
                "id;nome;obs\n7;\"Ximenia; Lua\";quer 2\n",
                "id;nome;obs\n9;\"Xxxxxxx; Xxx\";xxxx 9\n",
            ),
            (
                "application/json",
                r#"{"id": 7, "quem": {"nome": "Ximenia", "q": ["Lua"#,
                r#"{"id": 9, "quem": {"nome": "Xxxxxxx", "q": ["Xxx"#,
            ),
            (
                "text/xml",
                "<?xml version='1.0'?><l xmlns:a='http://a.example/'><a:q k='Lua'>quer</a:q><!-- Lua --></l>",
                "<?xml version='9.9'?><l xmlns:a='http://a.example/'><a:q k='Xxx'>xxxx</a:q><!-- Xxx --></l>",
            ),
            (
                "multipart/form-data; boundary=b-1",
                "--b-1\r\nContent-Disposition: form-data; name=\"q\"\r\n\r\nOi Lua\r\n--b-1--\r\n",
                "--b-9\r\nContent-Disposition: form-data; name=\"q\"\r\n\r\nXx Xxx\r\n--b-9--\r\n",
            ),
            (
                "text/plain",
                "Nome completo: Lua\nsou Ximenia, telefone: 11987654321\nbye",
                "Nome completo: Xxx\nxxx Xxxxxxx, xxxxxxxx: 99999999999\nxxx",
            ),
        ] {
            capture.request.body = Some(body.to_owned());
            capture.request.headers = vec![("Content-Type".to_owned(), content_type.to_owned())];
            let exported =
                ExportedCases::new(&capture, &connection, false, None).expect("it is text");
            let (case, _) = exported.cases("one").expect("in time").remove(0);
            let masked = String::from_utf8(case.body).expect("text");
            let masked = masked.replace(|one: char| one.is_ascii_digit(), "9");
            assert_eq!(masked, expect);
        }
    }

    #[test]
    fn nothing_is_exported_after_the_time_or_for_a_caller_that_has_left() {
        let (capture, connection) = captured();
        let caller = Arc::new(());
        let (now, later) = (Instant::now(), Instant::now() + Duration::from_hours(1));
        let cases = |until, caller: Weak<()>| {
            let patience = Patience { until, caller };
            let exported = ExportedCases::new(&capture, &connection, false, Some(patience))?;
            exported.cases("one")
        };
        assert!(cases(later, Arc::downgrade(&caller)).is_ok());
        for stopped in [
            cases(now, Arc::downgrade(&caller)),
            cases(later, Weak::new()),
        ] {
            assert!(matches!(stopped, Err(ExportError::NotInTime)));
        }
    }
}
