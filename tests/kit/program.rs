//! The program `leadhost`, built once in a run of the tests.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use crate::components::target;

/// Returns the program, built once in a run, or the one that `LEADHOST_PROGRAM`
/// names.
#[track_caller]
pub fn binary() -> PathBuf {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT
        .get_or_init(|| {
            if let Some(program) = std::env::var_os("LEADHOST_PROGRAM") {
                return program.into();
            }
            let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
            // With the whole workspace, so that it uses the build of the tests.
            let built = xtask::cargo::command(&root)
                .args(["build", "--quiet", "--workspace", "--bin", "leadhost"])
                .status()
                .expect("cargo starts");
            assert!(built.success(), "the program builds");
            target().join("debug").join("leadhost")
        })
        .clone()
}

/// Compiles one C file into a library for `LD_PRELOAD`, to replace functions of
/// the system's library.
#[track_caller]
pub fn preloaded(folder: &Path, source: &str) -> PathBuf {
    let name = Path::new(source).file_stem().expect("a file of C");
    let library = folder.join(name).with_extension("so");
    let built = Command::new("cc")
        .args(["-shared", "-fPIC", "-O1", "-o"])
        .arg(&library)
        .arg(source)
        .arg("-ldl")
        .status()
        .expect("a C compiler, as Rust's linker needs it");
    assert!(built.success(), "{source} compiles");
    library
}
