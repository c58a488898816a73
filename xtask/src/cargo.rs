//! Cargo, as on a command line, and the toolchain that it uses.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The compiler that stands in for rustc and checks lints too. It optimises less, so what is measured or packed
/// is built without it.
pub const LINTER: &str = "RUSTC_WORKSPACE_WRAPPER";

/// Returns the `cargo` that started this program, in a folder, without the environment
/// variables about this program's package, and without the one that lets a stable test
/// program report how long each test took. Some build scripts read both, and each of
/// them would make the next build from the command line rebuild half of the
/// dependencies.
pub fn command(folder: &Path) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(folder);
    forget_own_package(&mut command);
    command
}

/// Removes those variables from the environment of a command that calls `cargo`.
pub fn forget_own_package(command: &mut Command) {
    command.env_remove("RUSTC_BOOTSTRAP");
    for (name, _) in std::env::vars_os() {
        let of_the_package = name.to_str().is_some_and(|name| {
            ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_"]
                .iter()
                .any(|prefix| name.starts_with(prefix))
                || ["CARGO_CRATE_NAME", "CARGO_PRIMARY_PACKAGE"].contains(&name)
        });
        if of_the_package {
            command.env_remove(name);
        }
    }
}

/// The folder of the active toolchain.
pub fn sysroot() -> io::Result<PathBuf> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let said = Command::new(rustc).args(["--print", "sysroot"]).output()?;
    if !said.status.success() {
        return Err(io::Error::other(String::from_utf8_lossy(&said.stderr)));
    }
    Ok(PathBuf::from(String::from_utf8_lossy(&said.stdout).trim()))
}

/// Whether the active toolchain has the libraries of this target.
pub fn has_target(triple: &str) -> io::Result<bool> {
    let libraries = sysroot()?.join("lib/rustlib").join(triple).join("lib");
    Ok(libraries.is_dir())
}
