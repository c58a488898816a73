//! The data API, for a client that keeps a copy of a workspace.

mod consumers;
mod form;
mod ids;
mod keys;
mod pages;
mod parameters;

use leadhost_domain::id::DealId;
use leadhost_tests::{Ask, Host, Json, Seeded};
use serde_json::Value;

fn export(host: &Host, seeded: &Seeded, rest: &str) -> Ask {
    host.get(&format!("/v1/export/{rest}"))
        .bearer(&seeded.workspace_key)
}

async fn page(host: &Host, seeded: &Seeded, rest: &str) -> Value {
    // A test sends more requests than a client does.
    host.advance(1).await;
    export(host, seeded, rest).send().await.expect(200).json()
}

#[track_caller]
fn rows(page: &Value) -> &Vec<Value> {
    let rows = page["data"].list();
    assert_eq!(page["count"], rows.len());
    rows
}

fn texts(rows: &[Value], key: &str) -> Vec<String> {
    let text = |row: &Value| row[key].text().to_owned();
    rows.iter().map(text).collect()
}

fn ids(deals: &[DealId]) -> Vec<String> {
    deals.iter().map(DealId::to_string).collect()
}

/// Makes `count` leads in one delivery. Returns their deals.
async fn leads(host: &Host, seeded: &Seeded, prefix: &str, count: usize) -> Vec<DealId> {
    let names = (0..count).map(|number| format!("{prefix}{number}"));
    let names: Vec<_> = names.collect();
    let people: Vec<_> = names.iter().map(|name| (name.as_str(), "", "")).collect();
    host.leads(seeded, &people).await
}
