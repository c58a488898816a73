//! Compiles and evaluates schemas in a child process of this program, which limits its own
//! memory and processor time before it reads a byte. Work that takes too long ends there,
//! and requests are not affected.

use std::process::Stdio;

use serde_json::Value;
use tokio::io::AsyncWriteExt as _;
use tokio::sync::{Semaphore, oneshot};

use super::{
    BoundedSchema, ConfigFault,
    evaluation::{SchemaCheckRequest, SchemaCheckResponse, check},
};
use crate::compile::Compiler;
use leadhost_domain::limits;

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum SchemaCheckError {
    /// The schema is at fault.
    #[error("{0}")]
    Schema(String),
    /// The schema is not at fault; a retry may succeed.
    #[error("{0}")]
    Host(String),
}

/// Checks configurations against schemas, a few at once.
pub struct SchemaChecker {
    place: Compiler,
    /// Checks at once: more would only share the same processors.
    permits: Semaphore,
}

impl SchemaChecker {
    /// Returns a checker that works in the same place as the compiler: in a child process, or
    /// in this one.
    pub fn new(place: Compiler) -> Self {
        Self {
            place,
            permits: Semaphore::new(limits::SCHEMA_CHECKS_AT_ONCE),
        }
    }

    /// Returns the faults of each of these configurations. Without configurations, only
    /// checks whether the schema is valid.
    ///
    /// # Errors
    /// Returns [`SchemaCheckError::Schema`] if the schema cannot be used, and [`SchemaCheckError::Host`] if
    /// the check itself failed.
    pub async fn faults(
        &self,
        schema: &BoundedSchema,
        configs: &[Value],
    ) -> Result<Vec<Vec<ConfigFault>>, SchemaCheckError> {
        let mut found = Vec::with_capacity(configs.len());
        let mut rest = configs;
        loop {
            let (taken, refused) = taken(schema, rest);
            let request = SchemaCheckRequest {
                schema: schema.text.clone(),
                configs: rest[..taken].to_vec(),
            };
            // Without configurations the schema is still checked once.
            if taken > 0 || configs.is_empty() {
                match self.check(request).await? {
                    SchemaCheckResponse::Faults(faults) if faults.len() == taken => {
                        found.extend(faults)
                    }
                    SchemaCheckResponse::Faults(_) => {
                        return Err(SchemaCheckError::Host(
                            "the schema check answered for other configurations".to_owned(),
                        ));
                    }
                    SchemaCheckResponse::Refused(why) => return Err(SchemaCheckError::Schema(why)),
                }
            }
            rest = &rest[taken..];
            if let Some(what) = refused {
                found.push(vec![ConfigFault {
                    place: String::new(),
                    what,
                }]);
                rest = &rest[1..];
            }
            if rest.is_empty() {
                return Ok(found);
            }
        }
    }

    /// Runs one check in a child process, or on a thread of this process.
    async fn check(
        &self,
        request: SchemaCheckRequest,
    ) -> Result<SchemaCheckResponse, SchemaCheckError> {
        let _permit = self.permits.acquire().await;
        match &self.place {
            Compiler::Child(program) => {
                let text = serde_json::to_vec(&request)
                    .map_err(|error| SchemaCheckError::Host(error.to_string()))?;
                in_child(program, text).await
            }
            Compiler::InProcess => on_thread(request).await,
        }
    }
}

/// Returns how many of the first configurations are checked at once, and why the one after
/// them is not checked at all.
fn taken(schema: &BoundedSchema, configs: &[Value]) -> (usize, Option<String>) {
    let mut left = limits::CONFIG_STEPS;
    for (index, config) in configs.iter().enumerate() {
        match schema.steps_for(config) {
            Err(why) => return (index, Some(why)),
            Ok(steps) if steps > left || index >= limits::CONFIGS_AT_ONCE => return (index, None),
            Ok(steps) => left -= steps,
        }
    }
    (configs.len(), None)
}

const TOO_LONG: &str = "checking it took too long";

async fn in_child(
    program: &std::path::Path,
    request: Vec<u8>,
) -> Result<SchemaCheckResponse, SchemaCheckError> {
    let host = |what: &str, error: std::io::Error| {
        SchemaCheckError::Host(format!("the process that checks schemas {what}: {error}"))
    };
    let mut child = tokio::process::Command::new(program)
        .arg("examine")
        .arg(limits::SCHEMA_CHECK_MEMORY_MIB.to_string())
        .arg(limits::SCHEMA_CHECK_PROCESSOR_TIME.as_secs().to_string())
        // The child gets nothing of the service's environment, which may hold keys.
        .env_clear()
        .env("MALLOC_ARENA_MAX", "2")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .map_err(|error| host("cannot be started", error))?;
    let mut input = child.stdin.take().expect("it is piped");
    let exchange = async {
        // The child reads everything before it answers. If it failed, its exit status says
        // more.
        let _ = input.write_all(&request).await;
        drop(input);
        child.wait_with_output().await
    };
    let patience = limits::SCHEMA_CHECK_WALL_TIME;
    let output = tokio::time::timeout(patience, exchange)
        .await
        .map_err(|_| SchemaCheckError::Schema(TOO_LONG.to_owned()))?
        .map_err(|error| host("cannot be waited for", error))?;
    if output.status.success() {
        return serde_json::from_slice(&output.stdout).map_err(|error| {
            SchemaCheckError::Host(format!(
                "the schema check did not answer with JSON: {error}"
            ))
        });
    }
    match output.status.code() {
        Some(code) => Err(SchemaCheckError::Host(format!(
            "the process that checks schemas ended with exit code {code}: {}",
            String::from_utf8_lossy(&output.stderr).trim()
        ))),
        None => Err(SchemaCheckError::Schema(format!(
            "checking it took more than {} seconds of processor time or {} MiB of memory",
            limits::SCHEMA_CHECK_PROCESSOR_TIME.as_secs(),
            limits::SCHEMA_CHECK_MEMORY_MIB
        ))),
    }
}

/// For programs that embed the library. The check cannot be stopped, only abandoned; the
/// bounds of `BoundedSchema` ensure that it ends.
async fn on_thread(request: SchemaCheckRequest) -> Result<SchemaCheckResponse, SchemaCheckError> {
    let (say, said) = oneshot::channel();
    std::thread::Builder::new()
        .name("plugin-schema".to_owned())
        .stack_size(limits::SCHEMA_CHECK_STACK_BYTES)
        .spawn(move || {
            let _ = say.send(check(&request));
        })
        .map_err(|error| {
            SchemaCheckError::Host(format!(
                "no thread could be started for the schema check: {error}"
            ))
        })?;
    let patience = limits::SCHEMA_CHECK_WALL_TIME;
    match tokio::time::timeout(patience, said).await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(_)) => Err(SchemaCheckError::Schema("it crashed the check".to_owned())),
        Err(_) => Err(SchemaCheckError::Schema(TOO_LONG.to_owned())),
    }
}
