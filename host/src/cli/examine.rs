//! `leadhost examine`: checks configurations against a plugin's schema and exits. It is internal:
//! the service starts it as a child process, writes the question to its standard input and reads
//! the answer from its standard output. Before it reads a byte it limits its own memory and
//! processor time, and lowers its own priority.

use std::io::Write as _;

use clap::Args;
use rustix::process::Resource;

use super::compile::bound;
use super::failure::CommandFailure;
use leadhost_domain::limits;
use leadhost_plugin::lower_priority;
use leadhost_plugin::schema::{SchemaCheckRequest, check};

#[derive(Args)]
pub struct Examine {
    /// Mebibytes of address space
    memory_mib: u64,
    /// Seconds of processor time
    seconds: u64,
}

impl Examine {
    /// Reads a question from standard input and writes the answer to standard output.
    pub fn run(self) -> Result<(), CommandFailure> {
        lower_priority();
        bound(Resource::As, self.memory_mib << 20)?;
        bound(Resource::Cpu, self.seconds.max(1))?;
        bound(Resource::Core, 0)?;
        let request: SchemaCheckRequest = serde_json::from_reader(std::io::stdin().lock())
            .map_err(|error| CommandFailure::new(format!("cannot read the question: {error}")))?;
        // A chain of references may be as long as the schema; each takes some stack frames.
        let answered = std::thread::Builder::new()
            .stack_size(limits::SCHEMA_CHECK_STACK_BYTES)
            .spawn(move || serde_json::to_vec(&check(&request)))
            .map_err(|error| CommandFailure::new(format!("cannot start a thread: {error}")))?
            .join();
        let Ok(Ok(text)) = answered else {
            return Err(CommandFailure::new("the check of the schema panicked"));
        };
        std::io::stdout()
            .write_all(&text)
            .map_err(|error| CommandFailure::new(format!("cannot write the answer: {error}")))
    }
}
