//! Runs a folder of cases, for every kind of plugin.

use std::ffi::OsStr;
use std::io::Write as _;
use std::path::Path;

use leadhost_golden::{Case, load_dir, write_expect};
use serde_json::Value;

/// Returns the normalised output of a plugin for a case.
pub type Answer = fn(&Case) -> Value;

/// The cases into which a run writes its output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Write {
    Nothing,
    /// The output of cases without an `expect`.
    Missing,
    /// Also the output of cases that differ.
    Renew,
}

impl Write {
    const VARIABLE: &str = "GOLDEN_WRITE";

    #[track_caller]
    fn from_environment() -> Self {
        let value = std::env::var_os(Self::VARIABLE);
        let text = value.as_deref().map(OsStr::to_string_lossy);
        match text.as_deref() {
            None | Some("" | "0") => Self::Nothing,
            Some("1") => Self::Missing,
            Some("renew") => Self::Renew,
            Some(other) => panic!(
                "{} is `{other}`: use 1 to fill cases without an `expect`, or renew to update those that differ",
                Self::VARIABLE
            ),
        }
    }
}

/// Runs all cases, and panics with every difference if there is one.
#[track_caller]
pub fn golden(dir: &Path, answer: Answer) {
    let renewed = run(dir, answer, Write::from_environment());
    if !renewed.is_empty() {
        // Written to stderr directly: the test harness captures `eprintln!` and hides it if the
        // test passes.
        let mut out = std::io::stderr();
        let _ = writeln!(
            out,
            "renewed golden cases in {}: {}; review the differences\n\n{}",
            dir.display(),
            renewed.len(),
            renewed.join("\n\n")
        );
    }
}

/// Returns the differences of the cases that were renewed.
#[track_caller]
fn run(dir: &Path, answer: Answer, write: Write) -> Vec<String> {
    let cases = load(dir);
    let mut report = Vec::new();
    let mut renewed = Vec::new();
    for case in &cases {
        let came = answer(case);
        let difference = case
            .difference(&came)
            .map(|difference| format!("{} ({}):\n{difference}", case.name, case.about));
        let writes = match (&case.expect, &difference) {
            (Some(_), None) => continue,
            (Some(_), Some(_)) => write == Write::Renew,
            (None, _) => write != Write::Nothing,
        };
        if writes {
            match write_expect(dir, &case.name, &came) {
                Ok(()) => renewed.extend(difference),
                Err(error) => report.push(format!("{}: {error}", case.name)),
            }
            continue;
        }
        report.push(difference.unwrap_or_else(|| {
            format!(
                "{}: the case has no `expect`; run once with GOLDEN_WRITE=1 to write it. The output is:\n{came:#}",
                case.name
            )
        }));
    }
    assert!(
        report.is_empty(),
        "{} of {} golden cases in {} failed; if the new output is right, run with GOLDEN_WRITE=renew\n\n{}",
        report.len(),
        cases.len(),
        dir.display(),
        report.join("\n\n")
    );
    renewed
}

/// Calls the plugin with damaged forms of every case.
#[track_caller]
pub fn damaged(dir: &Path, answer: Answer) {
    let cases = load(dir);
    for case in &cases {
        for end in steps(case.body.len()) {
            let mut damaged = case.clone();
            damaged.body.truncate(end);
            answer(&damaged);
            for byte in DAMAGE {
                damaged.body.clone_from(&case.body);
                damaged.body[end] = *byte;
                answer(&damaged);
            }
        }
        for body in ODD_BODIES {
            let mut damaged = case.clone();
            damaged.body = body.as_bytes().into();
            answer(&damaged);
        }
        let mut damaged = case.clone();
        damaged.delivery.config = Value::Array(vec![Value::Null]);
        damaged.delivery.query.clear();
        damaged.completion.state = Value::String("\u{0}{".into());
        answer(&damaged);
        if case.call.takes_message() {
            damage_template(case, answer);
        }
    }
}

fn damage_template(case: &Case, answer: Answer) {
    let whole = case.message.template_text();
    let mut damaged = case.clone();
    damaged.message.context.clear();
    let mut check = |template: String| {
        damaged.message.template = Value::String(template);
        answer(&damaged);
    };
    for end in steps(whole.len()) {
        check(String::from_utf8_lossy(&whole.as_bytes()[..end]).into_owned());
        for byte in DAMAGE {
            let mut bytes = whole.clone().into_bytes();
            bytes[end] = *byte;
            check(String::from_utf8_lossy(&bytes).into_owned());
        }
    }
    for odd in ODD_BODIES {
        check((*odd).into());
    }
}

/// Bytes with a meaning in JSON, forms and text.
const DAMAGE: &[u8] = b"\"{}[]:,0\\ &=\n\0\xff";

/// Bodies that have broken JSON readers before.
const ODD_BODIES: &[&str] = &[
    "",
    " ",
    "null",
    "[]",
    "{}",
    "[[[[[[[[[[[[[[[[",
    "[null,1e999,-0,\"\\ud800\"]",
    "{\"$serde_json::private::Number\":\"x\"}",
    "{\"$serde_json::private::RawValue\":\"[\"}",
    "{\"a\":1,\"a\":2}",
];

/// Returns offsets in a body: all of a short one, some hundred of a long one.
fn steps(length: usize) -> impl Iterator<Item = usize> {
    (0..length).step_by(length / 100 + 1)
}

#[track_caller]
fn load(dir: &Path) -> Vec<Case> {
    match load_dir(dir) {
        Ok(cases) => cases,
        Err(error) => panic!("golden cases cannot be loaded: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use leadhost_golden::Call;
    use serde_json::json;

    /// A folder with a case that expects `expect`, or nothing yet.
    fn folder(expect: Option<&Value>) -> tempfile::TempDir {
        let dir = tempfile::tempdir().expect("a folder");
        let mut case = json!({"about": "one", "call": "describe"});
        if let Some(expect) = expect {
            case["expect"] = expect.clone();
        }
        std::fs::create_dir(dir.path().join("one")).expect("a folder");
        std::fs::write(dir.path().join("one/case.json"), case.to_string()).expect("a file");
        dir
    }

    fn expected(dir: &tempfile::TempDir) -> Option<Value> {
        load(dir.path()).remove(0).expect
    }

    fn answer(case: &Case) -> Value {
        assert_eq!(case.call, Call::Describe);
        json!({"ok": {"name": "new"}})
    }

    #[test]
    fn a_case_that_differs_is_renewed_only_when_asked_and_shows_the_difference() {
        let old = json!({"ok": {"name": "old"}});
        let dir = folder(Some(&old));
        for write in [Write::Nothing, Write::Missing] {
            let ran = std::panic::catch_unwind(|| run(dir.path(), answer, write));
            let why = *ran
                .expect_err("it fails")
                .downcast::<String>()
                .expect("a text");
            assert!(
                why.contains("old") && why.contains("GOLDEN_WRITE=renew"),
                "{why}"
            );
            assert_eq!(expected(&dir), Some(old.clone()));
        }
        let renewed = run(dir.path(), answer, Write::Renew);
        assert!(
            renewed[0].contains("old") && renewed[0].contains("new"),
            "{renewed:?}"
        );
        assert_eq!(expected(&dir), Some(json!({"ok": {"name": "new"}})));
        assert!(run(dir.path(), answer, Write::Renew).is_empty());
    }

    #[test]
    fn a_case_without_an_expectation_is_filled_only_when_asked() {
        let dir = folder(None);
        assert!(std::panic::catch_unwind(|| run(dir.path(), answer, Write::Nothing)).is_err());
        assert_eq!(expected(&dir), None);
        assert!(run(dir.path(), answer, Write::Missing).is_empty());
        assert_eq!(expected(&dir), Some(json!({"ok": {"name": "new"}})));
    }
}
