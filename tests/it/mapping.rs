//! The mapping converter as a component in the host's own runtime: its golden
//! cases, and the largest body, mapped without any configured field.

use std::sync::Arc;

use leadhost_config::Config;
use leadhost_domain::clock::SystemClock;
use leadhost_domain::limits;
use leadhost_domain::plugin::{ConversionOutcome, PluginDelivery};
use leadhost_plugin::{CallBudget, Plugins};
use leadhost_tests::components;
use serde_json::json;

const COMPONENT: &str = "plugins/converter-mapping.wasm";

#[tokio::test]
async fn the_mapping_converter_answers_its_golden_cases_and_reads_a_body_of_four_mebibytes() {
    let wasm = components::component(COMPONENT);
    let folder = tempfile::tempdir().expect("a folder for compiled code");
    let config = Config::load(None, &[]).expect("the defaults are a configuration");
    let plugins = Plugins::new(&config.plugins, folder.path(), Arc::new(SystemClock))
        .expect("the engine starts");
    // Preparing runs the component's own golden cases.
    let prepared = plugins.prepare(wasm).await.expect("the component loads");
    assert_eq!(prepared.loaded.description.name, "mapping");
    assert!(prepared.golden >= 50, "{} cases", prepared.golden);

    let batch = batch();
    let leads = batch["leads"].as_array().expect("a list").len();
    let body = serde_json::to_vec(&batch).expect("JSON");
    assert!((limits::DELIVERY_BYTES / 100 * 95..=limits::DELIVERY_BYTES).contains(&body.len()));
    let conversion = plugins
        .convert(&prepared.loaded, "lane", delivery(body), CallBudget::Worker)
        .await
        .expect("the call ends within its budget")
        .expect("the body is readable");
    assert_eq!(conversion.items.len(), leads);
    assert!(
        conversion
            .items
            .iter()
            .all(|item| matches!(item.outcome, ConversionOutcome::Lead(_)))
    );
}

/// Leads with a dozen fields and without configuration for them.
fn batch() -> serde_json::Value {
    let lead = |number: usize| {
        json!({
            "id": number, "nome": "Lígia Prado", "ddd": "11", "telefone": "90000-0001",
            "email": format!("ligia{number}@example.com"), "mensagem": "Gostaria de uma visita. ".repeat(20),
            "imovel": {"codigo": "AP-1", "cidade": "Santos", "valor": 450_000},
            "corretor": {"nome": "Outra", "email": "outra@example.com"},
            "criado_em": "2026-03-02 12:00:00", "origem": "Site", "tags": ["a", "b"],
        })
    };
    let size = lead(9_999).to_string().len() + 1;
    let count = (limits::DELIVERY_BYTES - 64) / size;
    json!({"leads": (0..count).map(lead).collect::<Vec<_>>()})
}

fn delivery(body: Vec<u8>) -> PluginDelivery {
    PluginDelivery {
        id: "018f0000-0000-7000-8000-000000000001".to_owned(),
        received_at: "2026-03-02T12:00:00.000000Z".to_owned(),
        method: "POST".to_owned(),
        path: "/ingest-lead/x".to_owned(),
        query: Vec::new(),
        headers: vec![("content-type".to_owned(), "application/json".to_owned())],
        body: body.into(),
        config: "{}".to_owned(),
        context: vec![("region".to_owned(), "BR".to_owned())],
    }
}
