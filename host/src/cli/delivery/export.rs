//! `leadhost delivery export`: a stored delivery becomes a golden case, and each answer to its fetches
//! another one. Persons are replaced by made-up ones. What a case has to give is written afterwards, by
//! `leadhost plugin test --write`: only the plugin itself can say it.

use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use clap::Args;
use leadhost_golden::{Call, Case, Completion, Delivery, Response, write_case};
use serde_json::Value;

use super::made_up::MadeUp;
use crate::admin_api::captures::{
    CaptureView, CapturedAnswerView, CapturedConnection, CapturedDeliveries,
};
use crate::cli::captures;
use crate::cli::client::ServiceAddress;
use crate::cli::failure::CommandFailure;
use crate::cli::output::{complain, count, say, say_json};
use crate::cli::table::safe;
use crate::domain::exchange::{Pairs, first};
use crate::domain::id::DeliveryId;

#[derive(Args)]
pub struct Export {
    /// The delivery's id
    id: String,
    /// The folder of the new golden case, such as golden/two-phones; an existing one is never replaced
    #[arg(long, value_name = "DIR/CASE")]
    golden: PathBuf,
    /// Keep names, phones and all other personal data as they are
    #[arg(long)]
    raw: bool,
    #[command(flatten)]
    service: ServiceAddress,
}

impl Export {
    /// Writes the delivery as a golden case, with one more case for each answer to its fetches.
    ///
    /// # Errors
    ///
    /// [`CommandFailure`] if the delivery does not exist, has no body any more or cannot be read as
    /// text, a case exists already or cannot be written, or if no admin key is found, or the service
    /// cannot be reached or refuses the request.
    pub async fn run(self) -> Result<(), CommandFailure> {
        let client = self.service.client()?;
        let (dir, name) = self.place()?;
        let unknown = || {
            CommandFailure::new(format!("there is no delivery `{}`", safe(&self.id))).hint(format!(
                "`{}` shows those that exist",
                client.flags().command("delivery list")
            ))
        };
        let id: DeliveryId = self.id.parse().map_err(|_| unknown())?;
        let captured = captures::fetch(&client, &[id], None).await?;
        if !captured.emptied.is_empty() {
            return Err(CommandFailure::new(format!(
                "the delivery {id} has no body any more: it was erased, or removed by its age"
            )));
        }
        let CapturedDeliveries {
            deliveries,
            connections,
            ..
        } = captured;
        let capture = deliveries.into_iter().next().ok_or_else(unknown)?;
        let received_by = connections
            .iter()
            .find(|one| one.id == capture.facts.connection_id)
            .ok_or_else(unknown)?;
        let persons = match self.raw {
            true => None,
            false => Some(persons(&capture)?),
        };
        let exported = ExportedCases {
            capture: &capture,
            connection: received_by,
            persons: persons.as_ref(),
        };
        let cases = exported.cases(name)?;
        for (case, body) in &cases {
            write_case(dir, case, body).map_err(|error| {
                CommandFailure::new(error.to_string())
                    .hint("an existing case is never replaced: name another one")
            })?;
        }
        self.report(&exported, dir, &cases);
        Ok(())
    }

    /// Returns the folder of cases, and the name of the new case.
    fn place(&self) -> Result<(&Path, &str), CommandFailure> {
        let name = self.golden.file_name().and_then(|name| name.to_str());
        let name = name.filter(|name| !name.starts_with('.')).ok_or_else(|| {
            CommandFailure::usage(format!(
                "{} names no case: expected a folder of cases and a new name in it, such as golden/two-phones",
                self.golden.display()
            ))
        })?;
        let dir = self.golden.parent().filter(|dir| *dir != Path::new(""));
        Ok((dir.unwrap_or(Path::new(".")), name))
    }

    fn report(&self, exported: &ExportedCases<'_>, dir: &Path, cases: &[(Case, String)]) {
        let folders: Vec<String> = cases
            .iter()
            .map(|(case, _)| dir.join(&case.name).display().to_string())
            .collect();
        if self.service.json() {
            return say_json(&serde_json::json!({
                "cases": folders,
                "raw": self.raw,
                "plugin": exported.capture.plugin,
            }));
        }
        for folder in &folders {
            say(&safe(&format!("wrote {folder}")));
        }
        say(match self.raw {
            true => "They have the personal data of the delivery: do not share them.",
            false => {
                "Persons are made up. Read the files before you share them: a text may name persons in a way that nothing shows."
            }
        });
        say("`leadhost plugin test PROJECT --write` writes what the plugin makes of them.");
        for note in exported.notes() {
            complain(&safe(&note));
        }
    }
}

/// Learns the persons of the delivery: from its values, and from the leads that it became.
fn persons(capture: &CaptureView) -> Result<MadeUp, CommandFailure> {
    let mut salt = [0; 32];
    getrandom::fill(&mut salt)
        .map_err(|error| CommandFailure::new(format!("the system gives no randomness: {error}")))?;
    let mut persons = MadeUp::new(&salt);
    let outcome = capture.outcome.as_ref();
    let items = outcome.and_then(|outcome| outcome.items.as_ref());
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

/// Returns a body as text. Only in a text can persons be replaced.
fn text<'a>(body: Option<&'a str>, base64: Option<&str>) -> Result<&'a str, CommandFailure> {
    match (body, base64) {
        (Some(text), _) => Ok(text),
        (None, None) => Ok(""),
        (None, Some(_)) => Err(CommandFailure::new(
            "the delivery has a body that is not text, so persons in it cannot be replaced",
        )
        .hint("with --raw it is exported as it is, with all personal data")),
    }
}

fn content_type(headers: &[(String, String)]) -> &str {
    first(headers, "content-type").unwrap_or_default()
}

fn is_form(headers: &[(String, String)]) -> bool {
    content_type(headers).starts_with("application/x-www-form-urlencoded")
}

/// Headers of proxies and of the connection: no plugin needs them, and some name persons.
const LEFT_OUT: [&str; 14] = [
    "accept-encoding",
    "cf-connecting-ip",
    "cf-ray",
    "connection",
    "content-length",
    "forwarded",
    "host",
    "traceparent",
    "tracestate",
    "transfer-encoding",
    "true-client-ip",
    "via",
    "x-real-ip",
    "x-request-id",
];

/// The cases that a delivery becomes.
struct ExportedCases<'a> {
    capture: &'a CaptureView,
    connection: &'a CapturedConnection,
    /// `None`: everything stays as it is.
    persons: Option<&'a MadeUp>,
}

impl ExportedCases<'_> {
    /// Returns the cases, each with the name of the file of its body.
    fn cases(&self, name: &str) -> Result<Vec<(Case, String)>, CommandFailure> {
        let mut cases = vec![self.request(name)?];
        let answers = self.capture.answers.iter();
        for (answer, state) in answers.filter_map(|answer| Some((answer, state(answer)?))) {
            let name = format!("{name}-answer-{}", cases.len());
            cases.push(self.answer(name, answer, &state)?);
        }
        Ok(cases)
    }

    fn request(&self, name: &str) -> Result<(Case, String), CommandFailure> {
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
    ) -> Result<(Case, String), CommandFailure> {
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
                state: Value::String(match self.persons {
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
    /// address of the connection, to which anybody may post.
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
        let persons = match self.persons {
            Some(_) => "made-up persons",
            None => "its personal data",
        };
        format!("{what} of {}, with {persons}", self.connection.name)
    }

    fn body(
        &self,
        (body, base64): (Option<&str>, Option<&str>),
        headers: &[(String, String)],
    ) -> Result<Vec<u8>, CommandFailure> {
        match self.persons {
            None => captures::body(body, base64),
            Some(persons) => {
                let made = persons.body(text(body, base64)?, is_form(headers));
                Ok(made.into_bytes())
            }
        }
    }

    fn headers(&self, headers: &[(String, String)]) -> Pairs {
        if self.persons.is_none() {
            return headers.to_vec();
        }
        let is_kept = |name: &str| {
            let name = name.to_ascii_lowercase();
            !LEFT_OUT.contains(&name.as_str()) && !name.starts_with("x-forwarded-")
        };
        let kept = headers.iter().filter(|(name, _)| is_kept(name));
        self.pairs(&kept.cloned().collect::<Pairs>())
    }

    fn pairs(&self, pairs: &[(String, String)]) -> Pairs {
        let pairs = pairs.iter();
        pairs
            .map(|(name, value)| (name.clone(), self.value(name, value)))
            .collect()
    }

    fn value(&self, name: &str, value: &str) -> String {
        match self.persons {
            Some(persons) => persons.value(name, value),
            None => value.to_owned(),
        }
    }

    /// Returns what the person should know about the cases.
    fn notes(&self) -> Vec<String> {
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
            notes.push(format!(
                "{} without a case: the active version would not ask for it, or its state is not text.",
                count(without, "answer to a fetch is", "answers to fetches are"),
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

/// Returns the name of the file for a body.
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
