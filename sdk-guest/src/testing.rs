//! Walking a converter's golden cases on the machine at hand.
//!
//! ```ignore
//! #[test]
//! fn golden_cases_hold() {
//!     leadhost_sdk::testing::run_golden::<SiteForm>(concat!(env!("CARGO_MANIFEST_DIR"), "/golden"));
//! }
//! ```
//!
//! With `GOLDEN_WRITE=1` in the environment, a case that has no `expect` gets
//! the converter's answer written into its `case.json`, to be read and judged
//! before it is committed. An `expect` that is there is never touched: to renew
//! one, delete it first.

use std::path::Path;

use leadhost_golden::{Call, Case, load_dir, normalise, write_expect};
use serde::Serialize;
use serde_json::Value;

use crate::{
    Completion, Content, Converter, Delivery, Exported, HttpResponse,
    bindings::exports::leadhost::converter::converter::Guest,
};

/// Runs all cases of a folder, and panics with every difference if there is one.
#[track_caller]
pub fn run_golden<C: Converter>(dir: impl AsRef<Path>) {
    let dir = dir.as_ref();
    let cases = match load_dir(dir) {
        Ok(cases) => cases,
        Err(error) => panic!("golden cases cannot be loaded: {error}"),
    };
    let write = std::env::var_os("GOLDEN_WRITE").is_some_and(|value| value == "1");

    let mut report = Vec::new();
    for case in &cases {
        let came = answer::<C>(case);
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
                "{}: the case has no `expect`; run once with GOLDEN_WRITE=1 to write it. It came:\n{came:#}",
                case.name
            )),
        }
    }
    assert!(
        report.is_empty(),
        "{} of {} golden cases in {} fail\n\n{}",
        report.len(),
        cases.len(),
        dir.display(),
        report.join("\n\n")
    );
}

/// Calls a converter with damaged forms of every case of a folder: bodies,
/// queries, configurations and states cut short and with bytes changed. What it
/// answers is free; a panic fails the test, since in a component it is a trap.
#[track_caller]
pub fn run_damaged<C: Converter>(dir: impl AsRef<Path>) {
    let cases = match load_dir(dir.as_ref()) {
        Ok(cases) => cases,
        Err(error) => panic!("golden cases cannot be loaded: {error}"),
    };
    for case in &cases {
        for end in steps(case.body.len()) {
            let mut damaged = case.clone();
            damaged.body.truncate(end);
            answer::<C>(&damaged);
            for byte in DAMAGE {
                damaged.body.clone_from(&case.body);
                damaged.body[end] = *byte;
                answer::<C>(&damaged);
            }
        }
        for body in ODD_BODIES {
            let mut damaged = case.clone();
            damaged.body = body.as_bytes().into();
            answer::<C>(&damaged);
        }
        let mut damaged = case.clone();
        damaged.delivery.config = Value::Array(vec![Value::Null]);
        damaged.delivery.query.clear();
        damaged.completion.state = Value::String("\u{0}{".into());
        answer::<C>(&damaged);
    }
}

/// Bytes that mean something to readers of JSON, forms and text.
const DAMAGE: &[u8] = b"\"{}[]:,0\\ &=\n\0\xff";

/// Bodies that have broken readers of JSON before.
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

/// Places in a body: all of a short one, some hundred of a long one.
fn steps(length: usize) -> impl Iterator<Item = usize> {
    (0..length).step_by(length / 100 + 1)
}

/// The normalised answer of a converter to a case.
pub fn answer<C: Converter>(case: &Case) -> Value {
    match case.call {
        Call::Describe => plain(&Ok::<_, ()>(Exported::<C>::describe())),
        Call::SenderChecks => plain(&Exported::<C>::sender_checks(case.delivery.config_text())),
        Call::Handshake => plain(&Exported::<C>::handshake(delivery(case))),
        Call::Convert => plain(&Exported::<C>::convert(delivery(case))),
        Call::Complete => plain(&Exported::<C>::complete(completion(case))),
    }
}

fn plain(answer: &impl Serialize) -> Value {
    normalise(serde_json::to_value(answer).expect("records and variants with text keys serialise"))
}

fn delivery(case: &Case) -> Delivery {
    let given = &case.delivery;
    Delivery {
        id: given.id.clone(),
        received_at: given.received_at.clone(),
        method: given.method_for(case.call).into(),
        path: given.path.clone(),
        query: given.query.clone(),
        headers: given.headers.clone(),
        body: content(case),
        config: given.config_text(),
        context: given.context.clone(),
    }
}

fn completion(case: &Case) -> Completion {
    let given = &case.completion;
    Completion {
        delivery_id: case.delivery.id.clone(),
        received_at: case.delivery.received_at.clone(),
        config: case.delivery.config_text(),
        context: case.delivery.context.clone(),
        external_id: given.external_id.clone(),
        state: given.state_bytes(),
        hop: given.hop,
        response: HttpResponse {
            status: given.response.status,
            headers: given.response.headers.clone(),
            body: content(case),
        },
    }
}

fn content(case: &Case) -> Content {
    match case.body_text() {
        Some(text) => Content::Text(text.into()),
        None => Content::Bytes(case.body.clone()),
    }
}
