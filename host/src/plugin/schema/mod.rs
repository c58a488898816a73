//! Configurations against the schema that their plugin describes. The schema is a
//! plugin's, so nothing of it runs here before it is known how much work it can
//! make (`bounds`), and then not here: a child process under limits of its own
//! evaluates it (`apart`), and says what does not fit in words (`faults`).

mod apart;
mod bounds;
mod faults;
#[cfg(test)]
mod hostile;

use jsonschema::{PatternOptions, Validator};
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use self::apart::{Apart, Refused};
pub use self::bounds::Bounded;
pub use self::faults::Fault;
use crate::limits;

/// What the child is asked: which of these configurations break the schema, and where.
#[derive(Debug, Serialize, Deserialize)]
pub struct Question {
    pub schema: String,
    pub configs: Vec<Value>,
}

/// The faults of each configuration, or why the schema is no schema.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Answer {
    Faults(Vec<Vec<Fault>>),
    Refused(String),
}

/// Compiles and evaluates. To be called where it may be stopped.
pub fn answer(question: &Question) -> Answer {
    match compile(&question.schema) {
        Ok(schema) => Answer::Faults(
            question
                .configs
                .iter()
                .map(|config| faults::faults(&schema, config))
                .collect(),
        ),
        Err(why) => Answer::Refused(why),
    }
}

/// Regular expressions run on the engine that takes time linear in its input.
fn compile(schema: &str) -> Result<Validator, String> {
    let schema: Value =
        serde_json::from_str(schema).map_err(|error| format!("it is not JSON: {error}"))?;
    jsonschema::options()
        .with_pattern_options(
            PatternOptions::regex()
                .size_limit(limits::CONFIG_PATTERN_MEMORY)
                .dfa_size_limit(limits::CONFIG_PATTERN_MEMORY),
        )
        .build(&schema)
        .map_err(|error| {
            let why = error.to_string();
            // By the validator's words alone its author would look for a mistake of spelling.
            if why.ends_with("is not a \"regex\"") {
                return format!(
                    "{why} that is taken: it is wrong, it looks around or back, or it needs more than {} KiB; write a simpler one",
                    limits::CONFIG_PATTERN_MEMORY >> 10
                );
            }
            why
        })
}
