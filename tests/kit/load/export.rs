//! Compares the exports with what was acknowledged.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::time::Instant;

use hyper::Method;
use serde_json::Value;

use super::{HOPELESS, LOOK};
use crate::client::Ask;
use crate::host_actions::until;

/// Returns how often each external id is in the export of deals.
pub async fn export(to: SocketAddr, key: &str) -> BTreeMap<String, usize> {
    let mut deals = BTreeMap::new();
    for (id, _) in rows(to, key).await {
        *deals.entry(id).or_insert(0) += 1;
    }
    deals
}

/// Returns every row of the export of deals: external id and stamp.
pub(super) async fn rows(to: SocketAddr, key: &str) -> Vec<(String, String)> {
    let deals = exported(to, key, "deals").await;
    deals.iter().map(named).collect()
}

/// Returns the stamp of each external id in the export of deals, which has none twice.
pub async fn stamps(to: SocketAddr, key: &str) -> BTreeMap<String, String> {
    let rows = rows(to, key).await;
    let count = rows.len();
    let stamps: BTreeMap<_, _> = rows.into_iter().collect();
    assert_eq!(stamps.len(), count, "a lead came twice");
    stamps
}

/// Returns every row of an export, with a client that retries when it is asked
/// to.
pub async fn exported(to: SocketAddr, key: &str, entity: &str) -> Vec<Value> {
    let mut rows = Vec::new();
    let mut cursor = None::<String>;
    loop {
        let from = cursor.map_or(String::new(), |cursor| format!("&cursor={cursor}"));
        let target = format!("/v1/export/{entity}?limit=1000{from}");
        let ask =
            Ask::new(to, Method::GET, &target).header("authorization", &format!("Bearer {key}"));
        let page = until("a page of the export", async || {
            let answer = ask.clone().send().await;
            let is_later = [429, 503].contains(&answer.status);
            (!is_later).then(|| answer.expect(200).json())
        })
        .await;
        rows.extend(page["data"].as_array().expect("rows").iter().cloned());
        match page["next_cursor"].as_str() {
            Some(next) => cursor = Some(next.to_owned()),
            None => return rows,
        }
    }
}

/// A deal's external id and stamp.
pub(super) fn named(row: &Value) -> (String, String) {
    let text = |name: &str| row[name].as_str().expect("a text").to_owned();
    (text("external_id"), text("cursor_at"))
}

/// Waits until every acknowledged lead is in the export: one that was answered
/// `queued` is converted a little later.
pub async fn assert_each_once(to: SocketAddr, key: &str, acknowledged: &BTreeSet<String>) {
    let end = Instant::now() + HOPELESS;
    loop {
        let deals = export(to, key).await;
        let twice: Vec<_> = deals.iter().filter(|(_, count)| **count > 1).collect();
        assert!(twice.is_empty(), "leads that came twice: {twice:?}");
        let lost: Vec<_> = acknowledged
            .iter()
            .filter(|id| !deals.contains_key(*id))
            .collect();
        if lost.is_empty() {
            return;
        }
        assert!(
            Instant::now() < end,
            "{} of {} acknowledged leads are lost: {lost:?}",
            lost.len(),
            acknowledged.len()
        );
        tokio::time::sleep(LOOK * 100).await;
    }
}
