//! `leadhost componentize`: turns a core module into a component and exits. It is internal: the
//! tools of integrators start it as a child process, write the module to its standard input and
//! read the component from its standard output (`plugin/componentizing.rs`). Before it reads a byte
//! it limits its own memory and processor time: a module may be made to break the encoder.

use std::io::{Read as _, Write as _};

use rustix::process::Resource;

use super::compile::bound;
use crate::cli::prelude::*;
use leadhost_plugin::{COMPILE_EXIT_INVALID, core_module};

#[derive(Args)]
pub struct Componentize {
    /// Mebibytes of address space
    memory_mib: u64,
    /// Seconds of processor time
    seconds: u64,
}

impl Componentize {
    /// Reads a core module from standard input and writes the component to standard output. If a
    /// module cannot become one, the reason goes to standard output too, with the exit code
    /// `COMPILE_EXIT_INVALID`.
    pub fn run(self) -> CommandResult {
        bound(Resource::As, self.memory_mib << 20)?;
        bound(Resource::Cpu, self.seconds.max(1))?;
        bound(Resource::Core, 0)?;
        let failed = |what: &str, error: std::io::Error| failed!("cannot {what}: {error}");
        let mut module = Vec::new();
        std::io::stdin()
            .lock()
            .read_to_end(&mut module)
            .map_err(|error| failed("read the core module", error))?;
        let encoded = core_module::encode(&module);
        let refusal = encoded.as_ref().err().map(ToString::to_string);
        let answer = encoded.unwrap_or_else(|error| error.to_string().into_bytes());
        std::io::stdout()
            .write_all(&answer)
            .map_err(|error| failed("write the answer", error))?;
        refusal.map_or(Ok(()), |why| {
            Err(CommandFailure::new(why).with_code(COMPILE_EXIT_INVALID))
        })
    }
}
