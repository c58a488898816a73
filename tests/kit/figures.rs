//! Figures that tests measure: one line of JSON for each, in the file that
//! `LEADHOST_FIGURES` names. Also the sizes of tests that the environment can set.

use std::fs::OpenOptions;
use std::io::Write as _;

use serde_json::json;

use crate::On;
use crate::size::{given, sized};

/// Records a figure of the named fault. Does nothing if `LEADHOST_FIGURES` is not
/// set.
pub fn record(fault: &str, on: Option<&On>, seed: Option<u64>, figure: &str) {
    let Some(path) = std::env::var_os("LEADHOST_FIGURES") else {
        return;
    };
    let store = on.map(|on| match on {
        On::Sqlite => "SQLite",
        On::Postgres(_) => "PostgreSQL",
    });
    let line = json!({"fault": fault, "store": store, "seed": seed, "figure": figure});
    let mut file = OpenOptions::new().create(true).append(true).open(path);
    let file = file.as_mut().expect("the file of figures opens");
    // One write: tests of several threads and programs append to it.
    file.write_all(format!("{line}\n").as_bytes())
        .expect("the file of figures takes a line");
}

/// Returns the size in this variable, or this run's size if it is not set.
pub fn size(variable: &str, small: usize, full: usize) -> usize {
    usize::try_from(given(variable, sized(small, full) as u64)).expect("a size of a test")
}
