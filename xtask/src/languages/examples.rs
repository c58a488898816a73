//! The example converters in languages without a template. Their bindings are not in the repository:
//! they are generated from the published contract before each build.

use std::path::Path;
use std::process::Command;

use super::toolchain::{self, Toolchain};
use super::{PATIENCE, leadhost};
use crate::failure::Failure;
use crate::install::Install;
use crate::{process, repository, wit};

pub struct Example {
    pub folder: &'static str,
    pub ensure: fn(Install) -> Result<Toolchain, Failure>,
}

/// Both take the bindings of C; Zig translates their header.
pub const EXAMPLES: [Example; 2] = [
    Example {
        folder: "examples/converter-c",
        ensure: toolchain::c,
    },
    Example {
        folder: "examples/converter-zig",
        ensure: toolchain::zig,
    },
];

impl Example {
    /// Builds it and runs its golden cases.
    pub fn test(&self, program: &Path, toolchain: &Toolchain) -> Result<(), Failure> {
        let folder = repository::root().join(self.folder);
        wit::converter_in_c(&folder.join("build/bindings"))?;
        let mut build = Command::new("sh");
        build
            .current_dir(&folder)
            .arg("build.sh")
            .envs(toolchain.variables());
        process::run_within(&mut build, PATIENCE)?;
        let mut test = leadhost(program, &folder, &["plugin", "test", "build/plugin.wasm"]);
        process::run_within(&mut test, PATIENCE)
    }
}
