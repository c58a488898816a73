//! `leadhost plugin run`: one call with one body, in the engine of this machine. The items go to standard
//! output, for other programs; notes, log and measures go to standard error.

use std::io::Read as _;
use std::time::Instant;

use leadhost_golden::{Call, Case, Delivery};

use super::body::BodyFormat;
use super::component_file::{self, read_bytes};
use super::local::{ConversionOutput, EngineFlags, LocalEngine};
use crate::cli::prelude::*;
use leadhost_admin_api::tried;
use leadhost_domain::json::too_deep;
use leadhost_plugin::{CallBudget, CaseAnswer, Loaded};

#[derive(Args)]
pub struct Run {
    /// The component or the core module, or the folder of a project that is built
    pub file: PathBuf,
    /// The file with the body of the delivery; `-` reads it from standard input
    pub body: PathBuf,
    /// The configuration of the connection, a JSON file
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// A header of the delivery, as `Name: value`; may be repeated
    #[arg(short = 'H', long = "header", value_name = "NAME: VALUE", value_parser = header)]
    pub headers: Vec<(String, String)>,
    /// The method of the delivery
    #[arg(long, default_value = "POST")]
    pub method: String,
    /// A field of the query of the delivery, as `name=value`; may be repeated
    #[arg(long = "query", value_name = "NAME=VALUE", value_parser = field)]
    pub query: Vec<(String, String)>,
    /// The content type of the delivery [default: JSON or a form, if the body is one]
    #[arg(long, value_name = "TYPE")]
    pub content_type: Option<String>,
    /// The service's configuration file, for the limits of plugins
    #[arg(long, value_name = "FILE", env = "LEADHOST_CONFIG")]
    pub service_config: Option<PathBuf>,
    /// Also count the instructions: the component is compiled a second time for that
    #[arg(long)]
    pub count: bool,
    /// Print the complete result, the log and the measurements as JSON
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub engine: EngineFlags,
}

pub fn header(text: &str) -> Result<(String, String), String> {
    let (name, value) = text
        .split_once(':')
        .filter(|(name, _)| !name.trim().is_empty())
        .ok_or("expected a name, a colon and a value, such as 'X-Form: 7'")?;
    // The host gives the names of headers in lower case.
    Ok((name.trim().to_ascii_lowercase(), value.trim().to_owned()))
}

pub fn field(text: &str) -> Result<(String, String), String> {
    let (name, value) = text
        .split_once('=')
        .ok_or("expected a name, an equals sign and a value, such as form=7")?;
    Ok((name.to_owned(), value.to_owned()))
}

/// Returns why the plugin itself refuses a configuration that its schema allows. A call that fails
/// says nothing about it.
async fn refused_by_plugin(
    engine: &LocalEngine,
    loaded: &Arc<Loaded>,
    config: &Value,
) -> Option<String> {
    let config = config.to_string();
    let asked = engine
        .plugins
        .sender_checks(loaded, "plugin run", &config, CallBudget::Trial)
        .await;
    let problem = asked.ok()?.err()?;
    Some(problem.to_string())
}

impl Run {
    /// Calls `convert` of a converter or `read-webhook` of an adapter, and shows the answer and what the
    /// call used.
    pub async fn run(self) -> CommandResult {
        let body = read_body(&self.body)?;
        let config = self.read_config()?;
        let call = self.call(body, config).await?;
        let instructions = self.count(&call).await;
        let measured = MeasuredRun {
            engine: &call.engine,
            answer: &call.answer,
            elapsed: call.elapsed,
            instructions,
        };
        if self.json {
            say_json(&measured.as_json());
        } else {
            measured.show();
            self.engine.show(&call.engine);
        }
        match &call.answer.output {
            Ok(output) => match tried::refusal(output) {
                None => Ok(()),
                Some(why) => Err(failed_line!(
                    "the plugin refuses the body, and the sender gets 400: {why}"
                )
                .about(&self.body)),
            },
            Err(error) => {
                let said = error.with_exception(&call.answer.usage.log);
                Err(CommandFailure::new(safe(&said)))
            }
        }
    }

    /// Makes the call again to count its instructions. They are nothing that a call fails for, so
    /// neither does the command.
    async fn count(&self, call: &PluginCall) -> Option<u64> {
        if !self.count {
            return None;
        }
        let progress = ProgressLine::start("counting instructions");
        let component = call.component.clone();
        let case = Arc::clone(&call.case);
        let counted = call.engine.count_instructions(component, case).await;
        drop(progress);
        counted
            .inspect_err(|failure| {
                complain!("The instructions are not counted: {failure}");
            })
            .ok()
    }

    pub async fn call(&self, body: Vec<u8>, config: Value) -> CommandResult<PluginCall> {
        let component = component_file::read(&self.file)?.without_cases()?;
        let engine = self.engine.start(self.service_config.as_deref())?;
        let loading = engine.load_of(&self.file, "compiling", component.clone());
        let loaded = loading.await?.loaded;
        self.check_config(&engine, &loaded, &config).await?;
        let case = Arc::new(self.case(loaded.kind, body, config));
        let begun = Instant::now();
        let answer = engine.plugins.answer_case(&loaded, Arc::clone(&case)).await;
        Ok(PluginCall {
            engine,
            loaded,
            answer,
            elapsed: begun.elapsed(),
            component,
            case,
        })
    }

    /// Reads the configuration of the connection, which is empty if none is named.
    pub fn read_config(&self) -> CommandResult<Value> {
        let Some(file) = &self.config else {
            return Ok(json!({}));
        };
        let text = read_bytes(file)?;
        let refused = |what: &dyn std::fmt::Display| {
            failed!(
                "{} is not a configuration of a connection: {what}",
                file.display()
            )
            .hint("it is a JSON object; the service's is named with --service-config")
        };
        let config: Value = serde_json::from_slice(&text).map_err(|error| refused(&error))?;
        if config.is_object() {
            Ok(config)
        } else {
            Err(refused(&"it is not an object"))
        }
    }

    async fn check_config(
        &self,
        engine: &LocalEngine,
        loaded: &Arc<Loaded>,
        config: &Value,
    ) -> CommandResult {
        let faults = engine
            .plugins
            .config_faults(loaded, vec![config.clone()])
            .await
            .map_err(|error| CommandFailure::new(safe(&error.to_string())))?;
        let mut faults: Vec<String> = faults.iter().flatten().map(ToString::to_string).collect();
        if faults.is_empty() {
            faults.extend(refused_by_plugin(engine, loaded, config).await);
        }
        if faults.is_empty() {
            return Ok(());
        }
        let failure = failed!(
            "the plugin {} does not take this configuration: {}",
            loaded.description.name,
            safe(&faults.join("; "))
        );
        Err(match &self.config {
            Some(file) => failure.about(file),
            None => failure.hint("it needs one: name its file with --config"),
        })
    }

    /// Returns the call as a golden case, which has the form that people read.
    pub fn case(&self, kind: PluginKind, body: Vec<u8>, config: Value) -> Case {
        let call = match kind {
            PluginKind::Converter => Call::Convert,
            PluginKind::Adapter => Call::ReadWebhook,
        };
        let mut headers = self.headers.clone();
        let is_typed = headers.iter().any(|(name, _)| name == CONTENT_TYPE);
        let guessed = || BodyFormat::detect(&body).ok();
        match &self.content_type {
            Some(given) => {
                headers.retain(|(name, _)| name != CONTENT_TYPE);
                headers.push((CONTENT_TYPE.to_owned(), given.clone()));
            }
            None if is_typed => {}
            None => headers
                .extend(guessed().map(|found| (CONTENT_TYPE.to_owned(), found.content_type()))),
        }
        Case {
            delivery: Delivery {
                method: self.method.clone(),
                query: self.query.clone(),
                headers,
                config,
                ..Delivery::default()
            },
            body,
            ..Case::new("run", call)
        }
    }
}

const CONTENT_TYPE: &str = "content-type";

pub fn read_body(path: &Path) -> CommandResult<Vec<u8>> {
    let body = if path == Path::new("-") {
        let mut body = Vec::new();
        std::io::stdin()
            .lock()
            .take(limits::DELIVERY_BYTES as u64 + 1)
            .read_to_end(&mut body)
            .map_err(|error| failed!("cannot read standard input: {error}"))?;
        body
    } else {
        read_bytes(path)?
    };
    if body.len() > limits::DELIVERY_BYTES {
        return Err(failed!(
            "the body has more than {}, which the service does not take",
            size::readable(limits::DELIVERY_BYTES as u64)
        )
        .hint("shorten it"));
    }
    if too_deep(&body, limits::JSON_DEPTH) {
        return Err(failed!(
            "the body is nested deeper than {} levels: the service refuses it before it calls a plugin",
            limits::JSON_DEPTH
        ));
    }
    Ok(body)
}

pub struct PluginCall {
    engine: LocalEngine,
    pub loaded: Arc<Loaded>,
    pub answer: CaseAnswer,
    elapsed: Duration,
    component: Vec<u8>,
    case: Arc<Case>,
}

/// A call that was made, and what it used.
struct MeasuredRun<'a> {
    engine: &'a LocalEngine,
    answer: &'a CaseAnswer,
    elapsed: Duration,
    /// By the fuel of another engine; none if they are not counted.
    instructions: Option<u64>,
}

impl MeasuredRun<'_> {
    fn show(&self) {
        // Without an answer, what the plugin wrote comes first: its exception, with file and line.
        if let Ok(output) = &self.answer.output {
            show_output(output);
        }
        for line in &self.answer.usage.log {
            complain!("plugin: {}", safe(line));
        }
        complain!("\n{}", self.table());
        let inline = Duration::from_millis(self.engine.limits.inline_ms);
        if self.answer.output.is_ok() && self.answer.usage.processor > inline {
            complain(
                "A request has less time than this call used: the sender would be answered `queued`, and the worker would convert the delivery.",
            );
        }
    }

    fn table(&self) -> String {
        let usage = &self.answer.usage;
        let limits = &self.engine.limits;
        let patience = |budget: CallBudget| milliseconds(self.engine.plugins.patience(budget));
        let ms = |number: u64| milliseconds(Duration::from_millis(number));
        let memory = size::readable((limits.memory_mib as u64) << 20);
        let output = size::readable((limits.output_mib as u64) << 20);
        let row = |cells: [String; 4]| cells.to_vec();
        table(
            &[
                "MEASURE",
                "USED",
                "LIMIT IN A REQUEST",
                "LIMIT OF THE WORKER",
            ],
            &[
                row([
                    "time".to_owned(),
                    milliseconds(self.elapsed),
                    patience(CallBudget::Inline),
                    patience(CallBudget::Leased),
                ]),
                row([
                    "processor time".to_owned(),
                    milliseconds(usage.processor),
                    ms(limits.inline_ms),
                    ms(limits.deadline_ms),
                ]),
                row([
                    "instructions by fuel".to_owned(),
                    self.instructions.map_or_else(
                        || "-".to_owned(),
                        |count| match self.answer.output {
                            Ok(_) => count.to_string(),
                            // A loop that was ended had not yet reported its last ones.
                            Err(_) => format!("at least {count}"),
                        },
                    ),
                    "by time".to_owned(),
                    "by time".to_owned(),
                ]),
                row([
                    "memory".to_owned(),
                    size::readable(usage.memory),
                    memory.clone(),
                    memory,
                ]),
                row([
                    "output as JSON".to_owned(),
                    self.output_bytes()
                        .map_or_else(|| "-".to_owned(), size::readable),
                    output.clone(),
                    output,
                ]),
            ],
        )
    }

    fn output_bytes(&self) -> Option<u64> {
        let output = self.answer.output.as_ref().ok()?;
        Some(output.to_string().len() as u64)
    }

    fn as_json(&self) -> Value {
        let usage = &self.answer.usage;
        let limits = &self.engine.limits;
        let error = self.answer.output.as_ref().err().map(ToString::to_string);
        json!({
            "answer": self.answer.output.as_ref().ok(),
            "error": error,
            "log": usage.log,
            "used": {
                "microseconds": micros(self.elapsed),
                "processorMicroseconds": micros(usage.processor),
                "instructions": self.instructions,
                "memoryBytes": usage.memory,
                "outputBytes": self.output_bytes(),
            },
            "limits": {
                "inlineMicroseconds": limits.inline_ms * 1_000,
                "deadlineMicroseconds": limits.deadline_ms * 1_000,
                "memoryBytes": limits.memory_mib << 20,
                "outputBytes": limits.output_mib << 20,
            },
            "engine": self.engine.fingerprint(),
        })
    }
}

/// Prints the items of a converter or the events of an adapter. A refusal of the body is the failure
/// of the command.
fn show_output(output: &Value) {
    let Some(answer) = ConversionOutput::from_output(output) else {
        return;
    };
    say_json(&Value::Array(answer.items));
    if let Some(reply) = answer.reply {
        complain!("reply: {}", safe(&reply.to_string()));
    }
    for note in answer.notes {
        complain!("note: {}", safe(&note));
    }
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

/// Formats a time: to the tenth below a second, since calls take a few milliseconds.
pub fn milliseconds(time: Duration) -> String {
    let tenths = time.as_micros() / 100;
    match (tenths / 10, tenths % 10) {
        (whole, 0) => format!("{whole} ms"),
        (whole, tenth) if whole < 1_000 => format!("{whole}.{tenth} ms"),
        (whole, _) => format!("{whole} ms"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn measures_are_short() {
        assert_eq!(milliseconds(Duration::from_micros(3_270)), "3.2 ms");
        assert_eq!(milliseconds(Duration::from_millis(50)), "50 ms");
        assert_eq!(milliseconds(Duration::from_micros(2_000_900)), "2000 ms");
    }

    #[test]
    fn headers_and_fields_are_read_as_people_write_them() {
        let pair = |name: &str, value: &str| -> Result<(String, String), String> {
            Ok((name.to_owned(), value.to_owned()))
        };
        assert_eq!(header("X-Form: a: b "), pair("x-form", "a: b"));
        assert_eq!(header("X-Form:"), pair("x-form", ""));
        assert_eq!(field("a=b=c"), pair("a", "b=c"));
        assert_eq!(field("a="), pair("a", ""));
        assert!(header("X-Form").is_err() && header(": b").is_err());
        assert!(field("a").is_err());
    }
}
