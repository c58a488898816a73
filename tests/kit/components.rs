//! The components that `cargo xtask plugins`, `guests` and `test` leave in the
//! build folder. A test cannot build them itself: they are for another target,
//! and two of them need toolchains that not every machine has.

use std::path::{Path, PathBuf};

/// The build folder.
pub fn target() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    match std::env::var_os("CARGO_TARGET_DIR") {
        Some(folder) => root.join(folder),
        None => root.join("target"),
    }
}

/// Reads a component that must exist: a plugin (`plugins/example-form.wasm`),
/// or one of the guests that the tests come with.
///
/// # Panics
/// If it is missing; the message says how to build it.
pub fn component(file: &str) -> Vec<u8> {
    let path = target().join(file);
    std::fs::read(&path).unwrap_or_else(|error| {
        panic!(
            "{}: {error}. `cargo xtask test` builds it before it runs the tests; \
             `cargo xtask plugins` builds the plugins alone",
            path.display()
        )
    })
}

/// Reads a component in a language whose toolchain may be missing on this
/// machine.
/// Returns `None`, after printing the reason, if it was not built and is not
/// required.
///
/// # Panics
/// If it is missing and `LEADHOST_REQUIRE_GUESTS` is 1, as `cargo xtask test
/// --guests` sets it.
#[expect(clippy::print_stderr, reason = "a test that is left out is said aloud")]
pub fn guest(file: &str) -> Option<Vec<u8>> {
    let required = std::env::var_os("LEADHOST_REQUIRE_GUESTS").is_some_and(|value| value == "1");
    if required || target().join(file).is_file() {
        return Some(component(file));
    }
    eprintln!("LEFT OUT: {file} was not built; `cargo xtask test --guests` builds it");
    None
}
