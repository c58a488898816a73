//! The evaluation of a schema, in the child process.

use jsonschema::{PatternOptions, Validator};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::faults::{self, ConfigFault};
use leadhost_domain::limits;

/// A request to the child process: which of these configurations break the schema, and
/// where.
#[derive(Debug, Serialize, Deserialize)]
pub struct SchemaCheckRequest {
    pub schema: String,
    pub configs: Vec<Value>,
}

/// The faults of each configuration, or why the schema is not valid.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum SchemaCheckResponse {
    Faults(Vec<Vec<ConfigFault>>),
    Refused(String),
}

/// Compiles and evaluates a schema. To be called only where it can be stopped.
pub fn check(request: &SchemaCheckRequest) -> SchemaCheckResponse {
    match compile(&request.schema) {
        Ok((schema, text)) => SchemaCheckResponse::Faults(
            request
                .configs
                .iter()
                .map(|config| faults::faults(&schema, &text, config))
                .collect(),
        ),
        Err(why) => SchemaCheckResponse::Refused(why),
    }
}

/// Regular expressions run on an engine that takes time linear in its input.
pub fn compile(schema: &str) -> Result<(Validator, Value), String> {
    let schema: Value =
        serde_json::from_str(schema).map_err(|error| format!("it is not JSON: {error}"))?;
    let compiled = jsonschema::options()
        .with_pattern_options(
            PatternOptions::regex()
                .size_limit(limits::CONFIG_PATTERN_MEMORY)
                .dfa_size_limit(limits::CONFIG_PATTERN_MEMORY),
        )
        .build(&schema)
        .map_err(|error| {
            let why = error.to_string();
            // The validator's message alone would make the author look for a spelling
            // mistake.
            if why.ends_with("is not a \"regex\"") {
                return format!(
                    "{why} that is accepted: it is invalid, it uses look-around or back-references, or it needs more than {} KiB; write a simpler one",
                    limits::CONFIG_PATTERN_MEMORY >> 10
                );
            }
            why
        })?;
    Ok((compiled, schema))
}
