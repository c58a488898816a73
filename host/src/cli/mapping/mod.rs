//! `leadhost mapping try`: shows what the mapping converter reads in a body, field by field, in the
//! engine of this machine. The converter itself says where it found each value (`explain` of its
//! configuration).

mod entry;

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::cli::plugin::local::EngineFlags;
use crate::cli::plugin::run::{Run, field, header, read_body};
use crate::cli::plugin::shipped;
use crate::cli::prelude::*;
use leadhost_admin_api::deliveries::DeliveryDetailView;
use leadhost_admin_api::tried::{self, TriedField, TriedItem};

const CONVERTER: &str = "converter-mapping.wasm";

/// The folders in which it is looked for before the program's folders: a build of the repository, and this
/// one.
const FOLDERS: [&str; 2] = ["target/plugins", "."];

#[derive(Subcommand)]
pub enum MappingCommand {
    /// Show what the mapping converter reads in a body, without a service
    Try(Box<TryMapping>),
}

impl MappingCommand {
    pub async fn run(self) -> CommandResult {
        match self {
            Self::Try(command) => command.run().await,
        }
    }
}

#[derive(Args)]
pub struct TryMapping {
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
    /// The content type of the delivery [default: JSON or a form, if the body is one]
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
    /// Print what was used as the entry of a connection in a workspace file, with the sender checks that the headers suggest
    #[arg(long, conflicts_with = "json")]
    toml: bool,
    #[command(flatten)]
    engine: EngineFlags,
}

impl TryMapping {
    /// Converts the body, and shows each field with its value, its place and whether it was guessed,
    /// and the values that are not used by any field.
    pub async fn run(self) -> CommandResult {
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
            count: false,
            json: self.json,
            engine: self.engine,
        };
        if self.delivery {
            body = take_delivery(&body, &mut call)?;
        }
        let mut config = call.read_config()?;
        if self.toml {
            let case = call.case(PluginKind::Converter, body, json!({}));
            let entry = entry::entry(&case, &config)
                .map_err(|why| CommandFailure::new(safe(&why)).about(&call.body))?;
            say(entry.trim_end());
            return Ok(());
        }
        let is_configured = config.as_object().is_some_and(|keys| !keys.is_empty());
        config["explain"] = true.into();
        let called = call.call(body.clone(), config).await.map_err(|failure| {
            if failure.to_string().contains("`explain` is unknown") {
                failure.also("this command needs the mapping converter 1.2.0 or later")
            } else {
                failure
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
        let without = if is_configured {
            Some(
                call.call(body, json!({"explain": true}))
                    .await?
                    .answer
                    .output,
            )
        } else {
            None
        };
        let without = without.and_then(Result::ok);
        let differences = without.map(|without| differences(&output, &without));
        show(&output, differences.as_deref(), self.json);
        tried::refusal(&output).map_or(Ok(()), |why| {
            Err(
                failed_line!("the converter refuses the body, and the sender gets 400: {why}")
                    .about(&call.body),
            )
        })
    }

    fn component(&self) -> CommandResult<PathBuf> {
        if let Some(named) = &self.component {
            return Ok(named.clone());
        }
        let mut here = FOLDERS
            .iter()
            .map(|folder| Path::new(folder).join(CONVERTER));
        let found = here.find(|file| file.is_file());
        found.or_else(|| shipped::find(CONVERTER)).ok_or_else(|| {
            shipped::missing(CONVERTER, &FOLDERS)
                .also("or name the component with --component FILE")
        })
    }
}

fn take_delivery(text: &[u8], call: &mut Run) -> CommandResult<Vec<u8>> {
    let refused = |what: &dyn std::fmt::Display| {
        failed!("{} is not a stored delivery: {what}", call.body.display())
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

/// The output of `--json`. The items, the error and the explanations are the converter's.
#[derive(Serialize)]
struct MappingTried<'a> {
    /// Null if the converter refuses the body.
    items: &'a Value,
    /// Null if the converter takes the body.
    error: Option<&'a Value>,
    explanations: &'a [Value],
    notes: &'a [&'a str],
    /// Null without a configuration.
    differences: Option<&'a [Difference]>,
}

/// What a configuration changes in an item.
#[derive(Debug, PartialEq, Serialize)]
struct Difference {
    item: usize,
    field: String,
    with: String,
    without: String,
}

impl Difference {
    fn row(&self) -> Vec<String> {
        let cells = [&self.field, &self.with, &self.without];
        let item = self.item.to_string();
        [item].into_iter().chain(cells.map(String::clone)).collect()
    }
}

/// Compares what a body gives with a configuration and without one: the fields whose values differ, and the
/// items that are leads with only one of them.
fn differences(with: &Value, without: &Value) -> Vec<Difference> {
    let items = |output: &Value| {
        let (explanations, _) = tried::explained(&output["ok"]);
        tried::items(&output["ok"], &explanations)
    };
    let (with, without) = (items(with), items(without));
    let mut found = Vec::new();
    for item in 0..with.len().max(without.len()) {
        let both = [with.get(item), without.get(item)];
        let mut add = |field: &str, [with, without]: [String; 2]| {
            if with != without {
                let field = field.to_owned();
                found.push(Difference {
                    item,
                    field,
                    with,
                    without,
                });
            }
        };
        add("outcome", both.map(outcome_of));
        let fields = both.map(|item| item.map_or(&[][..], |item| item.fields.as_slice()));
        let names: BTreeSet<&str> = fields
            .iter()
            .copied()
            .flatten()
            .map(|one| &*one.field)
            .collect();
        for name in names {
            let value = |fields: &[TriedField]| {
                let mut fields = fields.iter().filter(|one| one.field == name);
                fields
                    .next()
                    .map_or_else(String::new, |one| one.value.clone())
            };
            add(name, fields.map(value));
        }
    }
    found
}

fn show(output: &Value, differences: Option<&[Difference]>, as_json: bool) {
    let answer = &output["ok"];
    let (explanations, notes) = tried::explained(answer);
    if as_json {
        let tried = MappingTried {
            items: &answer["items"],
            error: output.get("err"),
            explanations: &explanations,
            notes: &notes,
            differences,
        };
        return say_json(&serde_json::to_value(&tried).unwrap_or_default());
    }
    for (index, item) in tried::items(answer, &explanations).iter().enumerate() {
        show_item(index, item);
    }
    match differences {
        None => {}
        Some([]) => say("The configuration changes no field."),
        Some(all) => {
            let rows: Vec<_> = all.iter().map(Difference::row).collect();
            let headings = ["ITEM", "FIELD", "WITH THE CONFIGURATION", "WITHOUT"];
            say(&table(&headings, &rows));
        }
    }
    for note in notes {
        complain!("note: {}", safe(note));
    }
}

fn show_item(index: usize, item: &TriedItem) {
    match item.fetched() {
        Some(fetched) => say_line!("Item {index}: {fetched}"),
        None if item.is_lead => {
            say!("Item {index} is a lead.");
            show_lead(item);
        }
        None => say_line!(
            "Item {index} is not a lead: {}",
            other_outcome(&item.outcome)
        ),
    }
    for (places, what) in [
        (
            &item.unread_contacts,
            "Looks like a phone or an e-mail address, and is not used by any field",
        ),
        (&item.unread, "Not used by any field"),
    ] {
        if !places.is_empty() {
            say_line!("{what}: {}", places.join(", "));
        }
    }
    say("");
}

fn outcome_of(item: Option<&TriedItem>) -> String {
    match item {
        None => "no item".to_owned(),
        Some(item) if item.is_lead => "lead".to_owned(),
        Some(item) => other_outcome(&item.outcome),
    }
}

/// Returns an outcome that is no lead, with its reason if it has one: `ignored (the event is a test)`.
fn other_outcome(outcome: &Value) -> String {
    let only = outcome.as_object().filter(|fields| fields.len() == 1);
    let named = only.and_then(|fields| fields.iter().next());
    match named {
        Some((kind, Value::String(why))) => format!("{kind} ({why})"),
        _ => outcome.to_string(),
    }
}

fn show_lead(item: &TriedItem) {
    say_rows(&item.fields);
    if !item.attributes.is_empty() {
        let names = item.attributes.join(", ");
        say_line!("Kept as attributes: {names}");
    }
}
