//! The example converter in three languages and the sandbox in two, checked against the
//! same golden cases in the host's own runtime. If toolchains read the contract
//! differently, the contract is at fault, and this test finds it.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use leadhost_config::Config;
use leadhost_domain::channel::EventBody;
use leadhost_domain::clock::SystemClock;
use leadhost_domain::limits;
use leadhost_domain::plugin::{ConversionOutcome, PluginDelivery};
use leadhost_golden::{Call, Case};
use leadhost_plugin::{CallBudget, Plugins, PreparedVersion};
use leadhost_tests::components;
use serde_json::{Value, json};

const RUST: &str = "plugins/example-form.wasm";
const JAVASCRIPT: &str = "guests/example-form-js.wasm";
const PYTHON: &str = "guests/example-form-py.wasm";
const SANDBOX_RUST: &str = "plugins/adapter-sandbox.wasm";
const SANDBOX_JAVASCRIPT: &str = "guests/sandbox-js.wasm";

#[tokio::test]
async fn the_rust_example_answers_its_golden_cases_and_reads_the_largest_body() {
    holds_the_contract(RUST).await;
}

#[tokio::test]
async fn the_javascript_example_answers_its_golden_cases_and_reads_the_largest_body() {
    holds_the_contract(JAVASCRIPT).await;
}

#[tokio::test]
async fn the_python_example_answers_its_golden_cases_and_reads_the_largest_body() {
    holds_the_contract(PYTHON).await;
}

#[tokio::test]
async fn the_sandbox_in_rust_answers_its_golden_cases_and_reads_the_largest_body() {
    holds_the_adapters_contract(SANDBOX_RUST).await;
}

#[tokio::test]
async fn the_sandbox_in_javascript_answers_its_golden_cases_and_reads_the_largest_body() {
    holds_the_adapters_contract(SANDBOX_JAVASCRIPT).await;
}

async fn holds_the_contract(file: &str) {
    let (plugins, prepared) = tried(file, "examples/golden-form").await;
    assert_eq!(prepared.loaded.description.name, "example-form");
    reads_the_largest_body(&plugins, &prepared).await;
    refuses_deep_nesting(&plugins, &prepared).await;
}

async fn holds_the_adapters_contract(file: &str) {
    let (plugins, prepared) = tried(file, "plugins/adapter-sandbox/golden").await;
    assert_eq!(prepared.loaded.description.name, "sandbox");
    let events = batch(limits::DELIVERY_BYTES, inbound);
    let count = events.len();
    let body = serde_json::to_vec(&json!({ "events": events })).expect("JSON");
    let loaded = &prepared.loaded;
    let webhook = plugins
        .read_webhook(loaded, "lane", delivery(&body), CallBudget::Leased)
        .await
        .expect("the call succeeds")
        .expect("the body is readable");
    assert_eq!(webhook.events.len(), count);
    assert!(
        webhook
            .events
            .iter()
            .all(|event| matches!(event.body, EventBody::Inbound(_)))
    );
}

/// Loads the component as the host does, after all cases of the folder passed.
async fn tried(file: &str, golden: &str) -> (Plugins, PreparedVersion) {
    let wasm = components::component(file);
    let plugins = plugins(file);
    // Preparing runs the component's own golden cases.
    let prepared = prepare(&plugins, wasm).await;
    assert_eq!(
        prepared.golden as usize,
        cases_in(golden),
        "{file} carries all cases"
    );
    (plugins, prepared)
}

/// Converts the largest batch that fits a body, within the memory of a call. How much processor
/// time that takes, `cargo xtask bench languages` says.
async fn reads_the_largest_body(plugins: &Plugins, prepared: &PreparedVersion) {
    let batch = batch(limits::DELIVERY_BYTES, lead);
    let leads = batch.len();
    let body = serde_json::to_vec(&batch).expect("JSON");
    let loaded = &prepared.loaded;
    let conversion = plugins
        .convert(loaded, "lane", delivery(&body), CallBudget::Leased)
        .await
        .expect("the call succeeds")
        .expect("the body is readable");
    assert_eq!(conversion.items.len(), leads);
    assert!(
        conversion
            .items
            .iter()
            .all(|item| matches!(item.outcome, ConversionOutcome::Lead(_)))
    );
}

/// The service refuses such a body before the call. A plugin that gets one, as in the tools of
/// integrators or in the answer to a fetch, refuses it too: a trap would count as its fault.
async fn refuses_deep_nesting(plugins: &Plugins, prepared: &PreparedVersion) {
    let deep = "[".repeat(100_000);
    let closed = format!("{{\"a\": {deep}{}}}", "]".repeat(100_000));
    let mixed = "{\"a\":[".repeat(50_000);
    for body in [deep, closed, mixed] {
        let mut case = Case::new("deep", Call::Convert);
        case.body = body.into_bytes();
        let answer = plugins.answer_case(&prepared.loaded, Arc::new(case)).await;
        let output = answer.output.expect("the call gives an answer");
        assert_eq!(output["err"]["message"], "the body is not valid JSON");
    }
}

/// The processor time of a call. It does not matter here, and a busy machine counts more for the same
/// work.
const AMPLE: Duration = Duration::from_secs(60);

fn plugins(file: &str) -> Plugins {
    let deadline = AMPLE.as_millis().to_string();
    let config = Config::load(None, &[("plugins.deadline_ms".to_owned(), deadline)]);
    let config = config.expect("a configuration");
    // Compiled code is cached by digest, so that an unchanged component is compiled
    // once.
    let name = Path::new(file).file_stem().expect("a file").to_owned();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join("guests")
        .join(name);
    std::fs::create_dir_all(&folder).expect("a folder for compiled code");
    Plugins::new(&config.plugins, &folder, Arc::new(SystemClock)).expect("an engine")
}

async fn prepare(plugins: &Plugins, wasm: Vec<u8>) -> PreparedVersion {
    match plugins.prepare(wasm).await {
        Ok(prepared) => prepared,
        Err(error) => panic!("{error}"),
    }
}

fn cases_in(folder: &str) -> usize {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("..")
        .join(folder);
    leadhost_golden::load_dir(&folder)
        .expect("the shared cases")
        .len()
}

/// A batch with almost `bytes` bytes as JSON.
fn batch(bytes: usize, one: fn(usize) -> Value) -> Vec<Value> {
    let each = one(9_999).to_string().len() + 1;
    // Leaves room for the body around its list.
    (0..bytes / each - 1).map(one).collect()
}

fn lead(number: usize) -> Value {
    json!({
        "id": 9_007_199_254_740_993_u64 + number as u64,
        "nome": format!("Marina Teixeira {number}"),
        "telefone": format!("(11) 9{number:08}"),
        "email": format!("marina.{number}@example.com"),
        "imovel": format!("AP-{number}"),
        "mensagem": "Gostaria de visitar no sábado, de manhã ou à tarde. ".repeat(6),
        "origem": "rodapé",
        "quartos": 3,
        "tags": ["varanda", { "andar": 12 }],
    })
}

fn inbound(number: usize) -> Value {
    json!({"inbound": {
        "id": 9_007_199_254_740_993_u64 + number as u64,
        "from": format!("+55119{number:08}"),
        "name": format!("Marina Teixeira {number}"),
        "text": "Gostaria de visitar no sábado, de manhã ou à tarde. ".repeat(7),
        "at": 1_772_452_799,
        "context": { "forwarded": false, "tags": ["varanda"] },
    }})
}

fn delivery(body: &[u8]) -> PluginDelivery {
    PluginDelivery {
        id: "018f0000-0000-7000-8000-000000000001".to_owned(),
        received_at: "2026-03-02T12:00:00.000000Z".to_owned(),
        method: "POST".to_owned(),
        path: "/ingest-lead/x".to_owned(),
        query: Vec::new(),
        headers: Vec::new(),
        body: body.to_vec().into(),
        config: "{}".to_owned(),
        context: Vec::new(),
    }
}
