//! The components that `cargo xtask plugins`, `guests` and `test` leave in the
//! build folder. A test cannot build them itself: they are for another target,
//! and two of them need toolchains that not every machine has.

use std::path::{Path, PathBuf};

pub fn target() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    match std::env::var_os("CARGO_TARGET_DIR") {
        Some(folder) => root.join(folder),
        None => root.join("target"),
    }
}

/// Reads a component that must exist: a plugin (`plugins/example-form.wasm`),
/// or one of the guests that the tests come with.
#[track_caller]
pub fn component(file: &str) -> Vec<u8> {
    let path = target().join(file);
    std::fs::read(&path).unwrap_or_else(|error| {
        panic!(
            "{}: {error}. `cargo xtask plugins` builds the plugins, `cargo xtask guests` the guests in other \
             languages, and `cargo xtask test --full` all of them",
            path.display()
        )
    })
}
