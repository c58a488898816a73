//! `leadhost examine`: checks configurations against a plugin's schema and ends.
//! The service starts it as a child, with the question on its standard input and
//! the answer on its standard output; nobody types it. Before it reads a byte it
//! bounds its own memory and processor time, and stands back behind what serves.

use std::io::Write as _;

use clap::Args;
use rustix::process::Resource;

use super::compile::bound;
use super::failure::Failure;
use crate::limits;
use crate::plugin::schema::{Question, answer};
use crate::plugin::stand_back;

#[derive(Args)]
pub struct Examine {
    /// Mebibytes of address space
    memory_mib: u64,
    /// Seconds that it may compute
    seconds: u64,
}

impl Examine {
    pub fn run(self) -> Result<(), Failure> {
        stand_back();
        bound(Resource::As, self.memory_mib << 20)?;
        bound(Resource::Cpu, self.seconds.max(1))?;
        bound(Resource::Core, 0)?;
        let question: Question = serde_json::from_reader(std::io::stdin().lock())
            .map_err(|error| Failure::new(format!("reading the question: {error}")))?;
        // A schema may refer on as long as it is; each reference is some frames.
        let answered = std::thread::Builder::new()
            .stack_size(limits::SCHEMA_CHECK_STACK_BYTES)
            .spawn(move || serde_json::to_vec(&answer(&question)))
            .map_err(|error| Failure::new(format!("starting a thread: {error}")))?
            .join();
        let Ok(Ok(text)) = answered else {
            return Err(Failure::new("the schema broke its check"));
        };
        std::io::stdout()
            .write_all(&text)
            .map_err(|error| Failure::new(format!("writing the answer: {error}")))
    }
}
