//! `leadhost compile`: compiles one component to machine code and exits. It is internal: the
//! service starts it as a child process for each new plugin. Before it reads a byte of the
//! component it limits its own memory and processor time, and lowers its own priority.

use rustix::process::{Resource, Rlimit, setrlimit};

use crate::cli::prelude::*;
use leadhost_plugin::{COMPILE_EXIT_INVALID, CodeUse, compile_component, lower_priority};

#[derive(Args)]
pub struct Compile {
    /// The component
    input: PathBuf,
    /// The output file for the machine code
    output: PathBuf,
    /// Mebibytes of address space; 0: unbounded
    memory_mib: u64,
    /// Seconds that each thread may compute
    seconds: u64,
    /// The file with the functions of the last compilation
    functions: Option<PathBuf>,
    /// Make code that counts its instructions
    #[arg(long)]
    counting: bool,
}

impl Compile {
    pub fn run(self) -> CommandResult {
        self.bound()?;
        let wasm = std::fs::read(&self.input)
            .map_err(|error| failed!("cannot read {}: {error}", self.input.display()))?;
        let code = if self.counting {
            CodeUse::Counting
        } else {
            CodeUse::Serving
        };
        let code = compile_component(code, &wasm, self.functions.as_deref())
            .map_err(|message| CommandFailure::new(message).with_code(COMPILE_EXIT_INVALID))?;
        std::fs::write(&self.output, code)
            .map_err(|error| failed!("cannot write {}: {error}", self.output.display()))
    }

    fn bound(&self) -> CommandResult {
        // The compiler's threads inherit the priority.
        lower_priority();
        if self.memory_mib > 0 {
            bound(Resource::As, self.memory_mib << 20)?;
        }
        // The limit counts the processor time of all threads; the parent watches the wall clock.
        let threads = std::thread::available_parallelism().map_or(1, |n| n.get().min(4));
        bound(Resource::Cpu, self.seconds.max(1) * threads as u64)?;
        bound(Resource::Core, 0)
    }
}

/// Limits a resource of this process to `most`, in the unit of the resource. The limit cannot
/// be raised again.
pub(super) fn bound(resource: Resource, most: u64) -> CommandResult {
    let limit = Rlimit {
        current: Some(most),
        maximum: Some(most),
    };
    setrlimit(resource, limit)
        .map_err(|error| failed!("cannot set the limit {resource:?}: {error}"))
}
