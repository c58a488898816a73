//! Runs a folder of cases, for every kind of plugin.

use std::path::Path;

use leadhost_golden::{Case, load_dir, write_expect};
use serde_json::Value;

/// Returns the normalised output of a plugin for a case.
pub type Answer = fn(&Case) -> Value;

/// Runs all cases, and panics with every difference if there is one.
#[track_caller]
pub fn golden(dir: &Path, answer: Answer) {
    let cases = load(dir);
    let write = std::env::var_os("GOLDEN_WRITE").is_some_and(|value| value == "1");

    let mut report = Vec::new();
    for case in &cases {
        let came = answer(case);
        match &case.expect {
            Some(_) => {
                if let Some(difference) = case.difference(&came) {
                    report.push(format!("{} ({}):\n{difference}", case.name, case.about));
                }
            }
            None if write => {
                if let Err(error) = write_expect(dir, &case.name, &came) {
                    report.push(format!("{}: {error}", case.name));
                }
            }
            None => report.push(format!(
                "{}: the case has no `expect`; run once with GOLDEN_WRITE=1 to write it. The output is:\n{came:#}",
                case.name
            )),
        }
    }
    assert!(
        report.is_empty(),
        "{} of {} golden cases in {} failed\n\n{}",
        report.len(),
        cases.len(),
        dir.display(),
        report.join("\n\n")
    );
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
