//! What tests measured, for whoever asks for it: a line of JSON for each, in the file
//! that `LEADHOST_FIGURES` names. And how much they test, where a tester says it.

use std::fs::OpenOptions;
use std::io::Write as _;

use serde_json::json;

use crate::On;

/// Tells a figure of the named fault; without the file it is told nowhere.
///
/// # Panics
///
/// When the file cannot be written.
pub fn tell(fault: &str, on: Option<&On>, seed: Option<u64>, figure: &str) {
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

/// What the variable of this name says, else what every run of the tests has.
///
/// # Panics
///
/// When it says something else than a number.
pub fn size(variable: &str, usual: usize) -> usize {
    std::env::var_os(variable).map_or(usual, |text| {
        let number = text.to_str().and_then(|text| text.parse().ok());
        number.unwrap_or_else(|| panic!("{variable} is a number, not {}", text.display()))
    })
}
