//! Leads that are announced by their ids and fetched: work that hosts claim.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};

use hyper::Method;
use leadhost_tests::components::component;
use leadhost_tests::load::export;
use leadhost_tests::{Ask, eventually};
use serde_json::{Value, json};

use super::Outage;

const SECRET: &str = "double-app-secret";
const TOKEN: &str = "double-page-token";
const PAGE: &str = "700000000000001";

/// Two hosts with a connection whose leads are fetched from this remote server.
pub async fn outage(remote_server: SocketAddr) -> Option<Outage> {
    let form = format!(
        r#"
[[connections]]
name = "form"
partner = "crm"
instance = "assistant"
plugin = "meta-lead-ads"
config = {{ graphUrl = "http://{remote_server}" }}
allow = [{{ url = "http://{remote_server}", private = true }}]
routes = {{ page-id = "{PAGE}" }}
secrets = {{ app-secret = "{SECRET}", "page-token/{PAGE}" = "{TOKEN}" }}
"#
    );
    let converter = component("plugins/converter-meta-lead-ads.wasm");
    Outage::with(|hosts| hosts.count(2).component(converter).workspace(&form)).await
}

/// Waits until every announced lead is in the export.
pub async fn are_fetched(data: SocketAddr, key: &str, announced: &BTreeSet<String>) {
    eventually("every announced lead is fetched", async || {
        let there = export(data, key).await;
        let is_there = |id: &String| there.contains_key(id);
        announced.iter().all(is_there)
    })
    .await;
}

/// The sender of such a connection.
pub struct LeadForm {
    path: String,
    next: AtomicU64,
}

impl LeadForm {
    pub fn new(world: &Outage) -> Self {
        Self {
            path: world.hosts.ingest("form"),
            next: AtomicU64::new(0),
        }
    }

    /// Announces this many leads, one in each request. Returns the ids of the
    /// acknowledged ones.
    pub async fn announce(&self, to: SocketAddr, leads: usize) -> Vec<String> {
        let mut acknowledged = Vec::new();
        for _ in 0..leads {
            // The double misbehaves for some endings, but not for this one.
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            let id = format!("44{number:08}9");
            let body = announcement(&id).to_string();
            let ask = Ask::new(to, Method::POST, &self.path)
                .header("content-type", "application/json")
                .signed("x-hub-signature-256", "sha256=", SECRET, body.as_bytes());
            let answer = ask.try_send().await;
            if answer.is_some_and(|answer| answer.status == 200) {
                acknowledged.push(id);
            }
        }
        acknowledged
    }
}

fn announcement(lead: &str) -> Value {
    json!({"object": "page", "entry": [{"id": PAGE, "time": 1_893_456_000, "changes": [
        {"field": "leadgen", "value": {
            "leadgen_id": lead, "page_id": PAGE, "form_id": "920000000000001", "created_time": 1_893_456_000,
        }},
    ]}]})
}
