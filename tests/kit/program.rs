//! The program `leadhost`, built once in a run of the tests.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use crate::components::target;

/// The program, built once in a run.
///
/// # Panics
/// When it cannot be built.
pub fn binary() -> PathBuf {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT
        .get_or_init(|| {
            let built = cargo()
                .args([
                    "build",
                    "--quiet",
                    "--package",
                    "leadhost",
                    "--bin",
                    "leadhost",
                ])
                .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(".."))
                .status()
                .expect("cargo starts");
            assert!(built.success(), "the program builds");
            target().join("debug").join("leadhost")
        })
        .clone()
}

/// Cargo, as somebody types it: without what the Cargo that runs the tests says of
/// their package, and without what lets a stable test program tell how long each
/// test took. Some build scripts look at both, and each of the two would make the
/// other build half of the dependencies again.
pub(crate) fn cargo() -> Command {
    let mut command = Command::new(env!("CARGO"));
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
    command
}
