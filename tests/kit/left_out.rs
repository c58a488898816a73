//! Tests that this machine cannot run.

use std::fs::OpenOptions;
use std::io::Write as _;

/// Says why a test is left out. `cargo xtask test` repeats it at its end, from the file that
/// `LEADHOST_TEST_LEFT_OUT` names: libtest shows no output of a test that passes.
#[expect(clippy::print_stderr, reason = "a test that is left out is said aloud")]
pub fn left_out(why: &str) {
    eprintln!("LEFT OUT: {why}");
    let Some(path) = std::env::var_os("LEADHOST_TEST_LEFT_OUT") else {
        return;
    };
    let file = OpenOptions::new().create(true).append(true).open(path);
    // One write: tests of several programs append to it.
    file.and_then(|mut file| file.write_all(format!("{why}\n").as_bytes()))
        .expect("the file takes a line");
}
