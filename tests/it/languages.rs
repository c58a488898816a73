//! The example converter in three languages, the sandbox in two, and the mapping converter, in the
//! host's own runtime: golden cases, which are the same in each language, and the largest body. If toolchains read the contract
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
    let leads = batch(limits::DELIVERY_BYTES, lead);
    let body = serde_json::to_vec(&leads).expect("JSON");
    reads_leads(&plugins, &prepared, &body, leads.len(), CallBudget::Leased).await;
    refuses_deep_nesting(&plugins, &prepared).await;
}

async fn holds_the_adapters_contract(file: &str) {
    let (plugins, prepared) = tried(file, "plugins/adapter-sandbox/golden").await;
    assert_eq!(prepared.loaded.description.name, "sandbox");
    let events = batch(limits::DELIVERY_BYTES, inbound);
    let count = events.len();
    let body = serde_json::to_vec(&json!({ "events": events })).expect("JSON");
    let (loaded, given) = (&prepared.loaded, delivery(&body));
    let read = plugins.read_webhook(loaded, "lane", given, CallBudget::Leased);
    let read = read.await.expect("the call succeeds");
    let events = read.expect("the body is readable").events;
    assert_eq!(events.len(), count);
    for event in events {
        assert!(matches!(event.body, EventBody::Inbound(_)));
    }
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

/// Converts a batch of leads within the memory of a call. How much processor time that takes,
/// `cargo xtask bench languages` says.
async fn reads_leads(
    plugins: &Plugins,
    prepared: &PreparedVersion,
    body: &[u8],
    leads: usize,
    budget: CallBudget,
) {
    let converted = plugins.convert(&prepared.loaded, "lane", delivery(body), budget);
    let converted = converted.await.expect("the call succeeds");
    let items = converted.expect("the body is readable").items;
    assert_eq!(items.len(), leads);
    for item in items {
        assert!(matches!(item.outcome, ConversionOutcome::Lead(_)));
    }
}

#[tokio::test]
async fn the_mapping_converter_answers_its_golden_cases_and_reads_the_largest_body_unconfigured() {
    let file = "plugins/converter-mapping.wasm";
    let config = Config::load(None, &[]).expect("the defaults");
    let plugins = plugins_with(file, &config);
    // Preparing runs the component's own golden cases.
    let prepared = prepare(&plugins, components::component(file)).await;
    assert_eq!(prepared.loaded.description.name, "mapping");
    assert!(prepared.golden >= 50, "{} cases", prepared.golden);
    let leads = batch(limits::DELIVERY_BYTES - 64, unmapped);
    let body = serde_json::to_vec(&json!({ "leads": leads })).expect("JSON");
    assert!((limits::DELIVERY_BYTES / 100 * 95..=limits::DELIVERY_BYTES).contains(&body.len()));
    reads_leads(&plugins, &prepared, &body, leads.len(), CallBudget::Worker).await;
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
    plugins_with(file, &config.expect("a configuration"))
}

fn plugins_with(file: &str, config: &Config) -> Plugins {
    // Compiled code is cached by digest, so that an unchanged component is compiled
    // once.
    let name = Path::new(file).file_stem().expect("a file").to_owned();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("guests");
    let folder = folder.join(name);
    std::fs::create_dir_all(&folder).expect("a folder for compiled code");
    Plugins::new(&config.plugins, &folder, Arc::new(SystemClock)).expect("an engine")
}

async fn prepare(plugins: &Plugins, wasm: Vec<u8>) -> PreparedVersion {
    let prepared = plugins.prepare(wasm).await;
    prepared.unwrap_or_else(|error| panic!("{error}"))
}

fn cases_in(folder: &str) -> usize {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let cases = leadhost_golden::load_dir(&repository.join(folder));
    cases.expect("the shared cases").len()
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

/// A lead with a dozen fields that a mapping guesses.
fn unmapped(number: usize) -> Value {
    json!({
        "id": number, "nome": "Lígia Prado", "ddd": "11", "telefone": "90000-0001",
        "email": format!("ligia{number}@example.com"), "mensagem": "Gostaria de uma visita. ".repeat(20),
        "imovel": {"codigo": "AP-1", "cidade": "Santos", "valor": 450_000},
        "corretor": {"nome": "Outra", "email": "outra@example.com"},
        "criado_em": "2026-03-02 12:00:00", "origem": "Site", "tags": ["a", "b"],
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
        headers: vec![("content-type".to_owned(), "application/json".to_owned())],
        body: body.to_vec().into(),
        config: "{}".to_owned(),
        context: vec![("region".to_owned(), "BR".to_owned())],
    }
}
