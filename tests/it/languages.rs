//! The example converter in three languages, held to the same golden cases
//! through the host's own runtime: what one toolchain reads differently from
//! another is a fault of the contract, and is found here.

use std::path::Path;
use std::sync::Arc;

use leadhost::clock::SystemClock;
use leadhost::config::Config;
use leadhost::domain::plugin::{Outcome, PluginDelivery};
use leadhost::plugin::{Budget, Plugins, Prepared};
use leadhost_tests::components;
use serde_json::json;

const RUST: &str = "plugins/example-form.wasm";
const JAVASCRIPT: &str = "guests/example-form-js.wasm";
const PYTHON: &str = "guests/example-form-py.wasm";

#[tokio::test]
async fn the_rust_example_answers_its_golden_cases_and_reads_four_mebibytes() {
    holds_the_contract(RUST).await;
}

#[tokio::test]
async fn the_javascript_example_answers_its_golden_cases_and_reads_four_mebibytes() {
    holds_the_contract(JAVASCRIPT).await;
}

#[tokio::test]
async fn the_python_example_answers_its_golden_cases_and_reads_four_mebibytes() {
    holds_the_contract(PYTHON).await;
}

async fn holds_the_contract(file: &str) {
    let Some(wasm) = components::guest(file) else {
        return;
    };
    let plugins = plugins(file);
    // Preparing runs the cases that the component carries.
    let prepared = prepare(&plugins, wasm).await;
    assert_eq!(
        prepared.golden as usize,
        shared_cases(),
        "{file} carries all cases"
    );
    assert_eq!(prepared.loaded.description.name, "example-form");
    reads_four_mebibytes(&plugins, &prepared).await;
}

/// A batch as large as a body may be, within the memory and the time of a call.
async fn reads_four_mebibytes(plugins: &Plugins, prepared: &Prepared) {
    let batch = batch(4 << 20);
    let leads = batch.len();
    let delivery = delivery(&serde_json::to_vec(&batch).expect("JSON"));
    let conversion = plugins
        .convert(&prepared.loaded, "lane", delivery, Budget::Worker)
        .await
        .expect("the call ends within its budget")
        .expect("the body is readable");
    assert_eq!(conversion.items.len(), leads);
    assert!(
        conversion
            .items
            .iter()
            .all(|item| matches!(item.outcome, Outcome::Lead(_)))
    );
}

fn plugins(file: &str) -> Plugins {
    let config = Config::load(None, &[]).expect("the defaults are a configuration");
    // Compiled code is kept by digest, so that an unchanged component is compiled once.
    let name = Path::new(file).file_stem().expect("a file").to_owned();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join("guests")
        .join(name);
    std::fs::create_dir_all(&folder).expect("a folder for compiled code");
    Plugins::new(&config.plugins, &folder, Arc::new(SystemClock)).expect("an engine")
}

async fn prepare(plugins: &Plugins, wasm: Vec<u8>) -> Prepared {
    match plugins.prepare(wasm).await {
        Ok(prepared) => prepared,
        Err(error) => panic!("{error}"),
    }
}

fn shared_cases() -> usize {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/golden-form");
    leadhost_golden::load_dir(&folder)
        .expect("the shared cases")
        .len()
}

/// Leads that together have almost `bytes` bytes as JSON.
fn batch(bytes: usize) -> Vec<serde_json::Value> {
    let lead = |number: usize| {
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
    };
    let each = lead(9_999).to_string().len() + 1;
    (0..bytes / each).map(lead).collect()
}

fn delivery(body: &[u8]) -> PluginDelivery {
    PluginDelivery {
        id: "018f0000-0000-7000-8000-000000000001".to_owned(),
        received_at: "2026-03-02T12:00:00.000000Z".to_owned(),
        method: "POST".to_owned(),
        path: "/ingest-lead/x".to_owned(),
        query: Vec::new(),
        headers: Vec::new(),
        body: body.to_vec(),
        config: "{}".to_owned(),
        context: Vec::new(),
    }
}
