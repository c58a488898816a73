//! Running a plugin's golden cases natively.
//!
//! ```ignore
//! #[test]
//! fn golden_cases_hold() {
//!     leadhost_sdk::testing::run_golden::<SiteForm>(concat!(env!("CARGO_MANIFEST_DIR"), "/golden"));
//! }
//! ```
//!
//! With `GOLDEN_WRITE=1` in the environment, a case without an `expect` gets the
//! plugin's output written into its `case.json`, to be reviewed before it is
//! committed. With `GOLDEN_WRITE=renew`, a case whose output differs gets the new one
//! too, and the differences are printed.

mod input;
mod runner;

use std::path::Path;

use leadhost_golden::{Call, Case, normalise};
use serde::Serialize;
use serde_json::Value;

use crate::bindings::adapter::exports::leadhost::adapter::adapter::Guest as AdapterGuest;
use crate::bindings::converter::exports::leadhost::converter::converter::Guest as ConverterGuest;
use crate::{Adapter, Converter, Exported, ExportedAdapter};

pub use input::delivery;

/// Runs all cases of a converter's folder.
///
/// # Panics
///
/// If an output differs; the message lists every difference.
#[track_caller]
pub fn run_golden<C: Converter>(dir: impl AsRef<Path>) {
    runner::golden(dir.as_ref(), answer::<C>);
}

/// Calls a converter with damaged forms of every case of a folder: bodies,
/// queries, configurations and states, truncated and with bytes changed. Any output
/// is accepted; a panic fails the test, since in a component it is a trap.
#[track_caller]
pub fn run_damaged<C: Converter>(dir: impl AsRef<Path>) {
    runner::damaged(dir.as_ref(), answer::<C>);
}

/// Runs all cases of an adapter's folder.
///
/// # Panics
///
/// If an output differs; the message lists every difference.
#[track_caller]
pub fn run_golden_adapter<A: Adapter>(dir: impl AsRef<Path>) {
    runner::golden(dir.as_ref(), adapter_answer::<A>);
}

/// Like [`run_damaged`] for an adapter; also damages templates and contexts.
#[track_caller]
pub fn run_damaged_adapter<A: Adapter>(dir: impl AsRef<Path>) {
    runner::damaged(dir.as_ref(), adapter_answer::<A>);
}

/// Returns the normalised output of a converter for a case.
pub fn answer<C: Converter>(case: &Case) -> Value {
    match case.call {
        Call::Describe => plain(&Ok::<_, ()>(Exported::<C>::describe())),
        Call::SenderChecks => plain(&Exported::<C>::sender_checks(case.delivery.config_text())),
        Call::Handshake => plain(&Exported::<C>::handshake(input::delivery(case))),
        Call::Convert => plain(&Exported::<C>::convert(input::delivery(case))),
        Call::Complete => plain(&Exported::<C>::complete(input::completion(case))),
        Call::Routes
        | Call::Send
        | Call::ReadAnswer
        | Call::ReadWebhook
        | Call::ListTemplates
        | Call::ReadTemplates => not_there(case, "a converter"),
    }
}

/// Returns the normalised output of an adapter for a case.
pub fn adapter_answer<A: Adapter>(case: &Case) -> Value {
    let config = || case.delivery.config_text();
    match case.call {
        Call::Describe => plain(&Ok::<_, ()>(ExportedAdapter::<A>::describe())),
        Call::SenderChecks => plain(&ExportedAdapter::<A>::sender_checks(config())),
        Call::Handshake => plain(&ExportedAdapter::<A>::handshake(input::delivery(case))),
        Call::Routes => plain(&ExportedAdapter::<A>::routes(config())),
        Call::Send => plain(&Ok::<_, ()>(ExportedAdapter::<A>::send(input::message(
            case,
        )))),
        Call::ReadAnswer => plain(&Ok::<_, ()>(ExportedAdapter::<A>::read_answer(
            input::message(case),
            input::response(case, &case.response),
        ))),
        Call::ReadWebhook => plain(&ExportedAdapter::<A>::read_webhook(input::delivery(case))),
        Call::ListTemplates => plain(&ExportedAdapter::<A>::list_templates(config())),
        Call::ReadTemplates => plain(&ExportedAdapter::<A>::read_templates(
            config(),
            input::response(case, &case.response),
        )),
        Call::Convert | Call::Complete => not_there(case, "an adapter"),
    }
}

/// Returns an answer of the contract as golden cases have it.
pub fn plain(answer: &impl Serialize) -> Value {
    normalise(serde_json::to_value(answer).expect("records and variants with text keys serialise"))
}

fn not_there(case: &Case, plugin: &str) -> ! {
    panic!(
        "case {} calls `{}`, which {plugin} does not have",
        case.name,
        case.call.name()
    )
}
