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
            let built = Command::new(env!("CARGO"))
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
