//! The faults, as `rows.json` has them: the tests of each, their time limit, and the promise. A row here is a
//! row of `docs/reliability.md`.

use serde_json::Value;

pub struct Row {
    /// The key for figures of tests, and for the command line.
    pub key: String,
    pub fault: String,
    pub promise: String,
    /// Tests against the program, by their full names. None: `cargo xtask fuzz`, which reports a line for each of
    /// its tests.
    pub tests: Vec<String>,
    /// The variables for the sizes of the tests, and their values in the long form.
    pub sizes: Vec<(String, String)>,
    /// The time limit. After it the tests are killed and the row has failed.
    pub seconds: u64,
}

pub const FUZZ_SECONDS: &str = "15";

pub const SECONDS: u64 = 40 * 60;

pub fn rows() -> Vec<Row> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let read = |row: &Value| Row {
        key: text(&row["key"]),
        fault: text(&row["fault"]),
        promise: text(&row["promise"]),
        tests: row["tests"]
            .as_array()
            .into_iter()
            .flatten()
            .map(text)
            .collect(),
        sizes: (row["sizes"].as_object().into_iter().flatten())
            .map(|(name, size)| (name.clone(), text(size)))
            .collect(),
        seconds: row["seconds"].as_u64().expect("a row has its seconds"),
    };
    let rows: Vec<Value> = serde_json::from_str(include_str!("rows.json")).expect("JSON");
    rows.iter().map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_faults_name_one_row_each() {
        let rows = rows();
        for (at, row) in rows.iter().enumerate() {
            let others = rows.iter().skip(at + 1);
            let same = others.filter(|other| other.key == row.key || other.fault == row.fault);
            assert_eq!(same.count(), 0, "{}", row.key);
            assert!(!row.promise.is_empty() && row.tests.iter().all(|test| !test.is_empty()));
        }
    }
}
