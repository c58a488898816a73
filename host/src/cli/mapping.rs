//! `leadhost mapping try`: shows what the mapping converter reads in a body, field by field, in the
//! engine of this machine. The converter itself says where it found each value (`explain` of its
//! configuration).

use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use clap::{Args, Subcommand};
use serde_json::{Value, json};

use crate::admin_api::deliveries::DeliveryDetailView;
use crate::cli::failure::CommandFailure;
use crate::cli::output::{complain, say, say_json};
use crate::cli::plugin::local::EngineFlags;
use crate::cli::plugin::run::{Run, field, header, read_body, refusal};
use crate::cli::plugin::shipped;
use crate::cli::table::{safe, table};

/// The file of the converter.
const CONVERTER: &str = "converter-mapping.wasm";

/// The folders in which it is looked for before those of the program: a build of the repository, and
/// this one.
const FOLDERS: [&str; 2] = ["target/plugins", "."];

/// What the notes of an explanation begin with.
const EXPLANATION: &str = "explain: ";

/// The fields of a lead, in the order in which they are shown.
const FIELDS: [&str; 13] = [
    "externalId",
    "name",
    "phones",
    "emails",
    "listings",
    "message",
    "occurredAt",
    "source",
    "isTest",
    "region",
    "action",
    "campaign",
    "consents",
];

/// Characters of a value that are shown.
const VALUE_CHARACTERS: usize = 60;

#[derive(Subcommand)]
pub enum Mapping {
    /// Show what the mapping converter reads in a body, without a service
    Try(Box<Try>),
}

impl Mapping {
    /// Runs the subcommand.
    ///
    /// # Errors
    ///
    /// [`CommandFailure`] of the subcommand.
    pub async fn run(self) -> Result<(), CommandFailure> {
        match self {
            Self::Try(command) => command.run().await,
        }
    }
}

#[derive(Args)]
pub struct Try {
    /// The file with the body; `-` reads it from standard input
    body: PathBuf,
    /// The configuration of the connection, a JSON file [default: none, so everything is guessed]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The file is a stored delivery, as `leadhost delivery show ID --json` prints it
    #[arg(long, conflicts_with_all = ["headers", "query", "content_type"])]
    delivery: bool,
    /// A header of the delivery, as `Name: value`; may be repeated
    #[arg(short = 'H', long = "header", value_name = "NAME: VALUE", value_parser = header)]
    headers: Vec<(String, String)>,
    /// A field of the query of the delivery, as `name=value`; may be repeated
    #[arg(long = "query", value_name = "NAME=VALUE", value_parser = field)]
    query: Vec<(String, String)>,
    /// The content type of the delivery [default: that of JSON or of a form, if the body is one]
    #[arg(long, value_name = "TYPE")]
    content_type: Option<String>,
    /// The mapping converter [default: converter-mapping.wasm in target/plugins, here, or in plugins beside the program]
    #[arg(long, value_name = "FILE")]
    component: Option<PathBuf>,
    /// The service's configuration file, for the limits of plugins
    #[arg(long, value_name = "FILE", env = "LEADHOST_CONFIG")]
    service_config: Option<PathBuf>,
    /// Print the items, the explanations and the notes as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    engine: EngineFlags,
}

impl Try {
    /// Converts the body, and shows for each field what was read from where, whether that was
    /// guessed, and what was read for no field.
    ///
    /// # Errors
    ///
    /// [`CommandFailure`] if a file cannot be read, the converter is not found or is another plugin,
    /// it does not take the configuration or the body, or the call gives no answer.
    pub async fn run(self) -> Result<(), CommandFailure> {
        let component = self.component()?;
        let mut body = read_body(&self.body)?;
        let mut call = Run {
            file: component,
            body: self.body,
            config: self.config,
            headers: self.headers,
            method: "POST".to_owned(),
            query: self.query,
            content_type: self.content_type,
            service_config: self.service_config,
            no_count: true,
            json: self.json,
            engine: self.engine,
        };
        if self.delivery {
            body = take_delivery(&body, &mut call)?;
        }
        let mut config = call.read_config()?;
        config["explain"] = true.into();
        let called = call.call(body, config).await.map_err(|failure| {
            match failure.to_string().contains("`explain` is unknown") {
                true => failure.also("this command needs the mapping converter 1.2.0 or later"),
                false => failure,
            }
        })?;
        let name = &called.loaded.description.name;
        if name != "mapping" {
            return Err(CommandFailure::usage(format!(
                "{} is the plugin {name}, and this command tries the mapping converter",
                call.file.display()
            ))
            .hint("`leadhost plugin run` converts a body with any plugin"));
        }
        let output = called
            .answer
            .output
            .map_err(|error| CommandFailure::new(safe(&error.to_string())))?;
        show(&output, self.json);
        refusal(&output).map_or(Ok(()), |why| {
            Err(CommandFailure::new(safe(&format!(
                "the converter refuses the body, and the sender gets 400: {why}"
            ))))
        })
    }

    fn component(&self) -> Result<PathBuf, CommandFailure> {
        if let Some(named) = &self.component {
            return Ok(named.clone());
        }
        let mut here = FOLDERS
            .iter()
            .map(|folder| Path::new(folder).join(CONVERTER));
        let found = here.find(|file| file.is_file());
        found.or_else(|| shipped::find(CONVERTER)).ok_or_else(|| {
            CommandFailure::new(format!(
                "{CONVERTER} is in none of these folders: {}, and plugins beside the program",
                FOLDERS.join(", ")
            ))
            .hint("name its component with --component FILE")
        })
    }
}

/// Returns the body of a stored delivery, and gives its other parts to the call.
fn take_delivery(text: &[u8], call: &mut Run) -> Result<Vec<u8>, CommandFailure> {
    let refused = |what: &dyn std::fmt::Display| {
        CommandFailure::new(format!(
            "{} is no stored delivery: {what}",
            call.body.display()
        ))
        .hint("`leadhost delivery show ID --json` prints one")
    };
    let delivery: DeliveryDetailView =
        serde_json::from_slice(text).map_err(|error| refused(&error))?;
    let request = delivery.request;
    let body = match (request.body, request.body_base64) {
        (Some(text), _) => text.into_bytes(),
        (None, Some(encoded)) => STANDARD.decode(encoded).map_err(|error| refused(&error))?,
        (None, None) => return Err(refused(&"it has no body")),
    };
    call.method = request.method;
    call.headers = request.headers;
    call.query = request.query;
    Ok(body)
}

/// The notes of a conversion: its explanations, and the others.
fn explained(output: &Value) -> (Vec<Value>, Vec<&str>) {
    let (mut explanations, mut others) = (Vec::new(), Vec::new());
    for note in output["notes"].as_array().into_iter().flatten() {
        let note = note.as_str().unwrap_or_default();
        let explanation = note.strip_prefix(EXPLANATION).map(serde_json::from_str);
        match explanation {
            Some(Ok(explanation)) => explanations.push(explanation),
            _ => others.push(note),
        }
    }
    (explanations, others)
}

fn show(output: &Value, as_json: bool) {
    let answer = &output["ok"];
    let (explanations, notes) = explained(answer);
    if as_json {
        return say_json(&json!({
            "items": answer["items"],
            "error": output.get("err"),
            "explanations": explanations,
            "notes": notes,
        }));
    }
    let items = answer["items"].as_array();
    for (index, item) in items.into_iter().flatten().enumerate() {
        let of_item = explanations.iter().filter(|one| one["item"] == index);
        show_item(index, &item["outcome"], &of_item.collect::<Vec<_>>());
    }
    for note in notes {
        complain(&format!("note: {}", safe(note)));
    }
}

fn show_item(index: usize, outcome: &Value, explanations: &[&Value]) {
    match &outcome["lead"] {
        Value::Null => say(&safe(&format!("Item {index} is no lead: {outcome}"))),
        lead => {
            say(&format!("Item {index} is a lead."));
            show_lead(lead, explanations);
        }
    }
    let places = |kind: &str| {
        let lists = explanations.iter().filter_map(|one| one[kind].as_array());
        let places = lists.flatten().filter_map(Value::as_str);
        places.collect::<Vec<_>>().join(", ")
    };
    for (kind, what) in [
        (
            "unreadContacts",
            "Looks like a phone or an e-mail address, and is read for no field",
        ),
        ("unread", "Read for no field"),
    ] {
        let places = places(kind);
        if !places.is_empty() {
            say(&safe(&format!("{what}: {places}")));
        }
    }
    say("");
}

fn show_lead(lead: &Value, explanations: &[&Value]) {
    let mut rows = Vec::new();
    for field in FIELDS {
        let explanation = explanations.iter().find(|one| one["field"] == field);
        let value = shown(&lead[field]);
        if explanation.is_none() && (value.is_empty() || is_default(field, &lead[field])) {
            continue;
        }
        let from = explanation.map(|one| shown(&one["from"]));
        let how = match explanation.map(|one| one["guessed"] == true) {
            Some(true) => "guessed",
            Some(false) => "configured",
            None => "not from the body",
        };
        rows.push(vec![
            field.to_owned(),
            safe(&value),
            safe(&from.unwrap_or_default()),
            how.to_owned(),
        ]);
    }
    say(&table(&["FIELD", "VALUE", "READ FROM", "HOW"], &rows));
    let attributes = lead["attributes"].as_array().into_iter().flatten();
    let names: Vec<&str> = attributes.filter_map(|one| one[0].as_str()).collect();
    if !names.is_empty() {
        say(&safe(&format!("Kept as attributes: {}", names.join(", "))));
    }
}

/// Whether a field has the value that a lead has without any.
fn is_default(field: &str, value: &Value) -> bool {
    matches!((field, value), ("isTest", Value::Bool(false)))
        || field == "action" && value == "create"
}

/// Returns a value in a cell: texts as they are, the elements of a list with commas between.
fn shown(value: &Value) -> String {
    let whole = match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(shown).collect::<Vec<_>>().join(", "),
        Value::Object(fields) => fields.values().map(shown).collect::<Vec<_>>().join(" "),
        other => other.to_string(),
    };
    match whole.char_indices().nth(VALUE_CHARACTERS) {
        Some((end, _)) => format!("{}...", &whole[..end]),
        None => whole,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn explanations_are_told_from_other_notes() {
        let output = json!({"notes": [
            "explain: {\"item\":0,\"field\":\"name\",\"from\":[\"nome\"],\"guessed\":true}",
            "item 0: the message is cut",
            "explain: {cut",
        ]});
        let (explanations, others) = explained(&output);
        assert_eq!(explanations.len(), 1);
        assert_eq!(others, ["item 0: the message is cut", "explain: {cut"]);
    }

    #[test]
    fn values_fit_a_cell() {
        assert_eq!(shown(&json!(["a", "b"])), "a, b");
        assert_eq!(
            shown(&json!([{"kind": "client", "reference": "7"}])),
            "client 7"
        );
        assert_eq!(shown(&Value::Null), "");
        assert_eq!(shown(&json!("x".repeat(99))).chars().count(), 63);
    }
}
