//! The path of a lead through a whole host, over HTTP, with the first-party
//! converters.

mod answers;
mod backlog;
mod checks;
mod circuits;
mod compressed;
mod contacts;
mod crash_log;
mod dedupe;
mod fetches;
mod full;
mod input;
mod large_deliveries;
mod masking;
mod meta;
mod order;
mod origins;
mod reload;
mod replay;
mod replies;
mod source_changes;
mod traces;
pub mod traffic;

use leadhost_pipeline::replay::ReplayOptions;
use leadhost_tests::{Declared, Host, On, guests};
use serde_json::{Value, json};

/// One connection of the example form, named `form`.
const FORM: &str = r#"
[[connections]]
name = "form"
partner = "acme"
plugin = "example-form"
"#;

/// A host with the example form and its connection.
async fn form(on: On) -> (Host, Declared) {
    let host = Host::working(on).await;
    let declared = with_form(&host).await;
    (host, declared)
}

pub async fn with_form(host: &Host) -> Declared {
    host.converter(guests::example_form()).await;
    host.declare(FORM).await
}

/// A connection of the misbehaving converter with this word.
pub fn harm(name: &str, word: &str, size: u64) -> String {
    format!(
        r#"
[[connections]]
name = "{name}"
partner = "acme"
plugin = "misbehave"
config = {{ do = "{word}", size = {size} }}
"#
    )
}

async fn misbehaving(on: On, name: &str, word: &str, size: u64) -> (Host, Declared) {
    let host = Host::working(on).await;
    host.converter(guests::misbehave()).await;
    let declared = host.declare(&harm(name, word, size)).await;
    (host, declared)
}

fn replay_options(apply: bool, release: bool) -> ReplayOptions {
    ReplayOptions {
        apply,
        release,
        ..ReplayOptions::default()
    }
}

fn lead(id: &str, name: &str, phone: &str) -> Value {
    json!({"id": id, "nome": name, "telefone": phone, "imovel": "AP-10", "mensagem": "Posso visitar?"})
}
