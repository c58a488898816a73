//! A data client that pulls while senders send, and that must miss nothing.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use hyper::Method;
use tokio::task::JoinHandle;

use super::export::{named, rows};
use super::{HOPELESS, LOOK, Targets};
use crate::client::Ask;

/// A data client that follows the deals: it pulls repeatedly from the greatest stamp
/// that it has seen, from whichever host answers.
pub struct Follower {
    ended: Arc<AtomicBool>,
    seen: Arc<Mutex<BTreeMap<String, String>>>,
    task: JoinHandle<()>,
}

impl Follower {
    /// Starts a client with a workspace key, whose pulls go to these addresses in turn.
    pub fn start(targets: Targets, key: &str) -> Self {
        let ended = Arc::new(AtomicBool::new(false));
        let seen = Arc::new(Mutex::new(BTreeMap::new()));
        let task = tokio::spawn(follow(
            targets,
            key.to_owned(),
            Arc::clone(&ended),
            Arc::clone(&seen),
        ));
        Self { ended, seen, task }
    }

    /// Stops it, after checking that it has seen everything that a full export has.
    pub async fn assert_saw_all(self, to: SocketAddr, key: &str) {
        let all = rows(to, key).await;
        let last = all.iter().map(|(_, stamp)| stamp.clone()).max();
        crate::eventually("the follower comes to the end", async || {
            let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
            seen.values().max() >= last.as_ref()
        })
        .await;
        self.ended.store(true, Ordering::Relaxed);
        self.task.await.expect("the follower ends by itself");
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let passed: Vec<_> = all
            .iter()
            .filter(|(id, stamp)| seen.get(id).is_none_or(|seen| seen < stamp))
            .collect();
        assert!(
            passed.is_empty(),
            "{} of {} rows were passed over: {passed:?}",
            passed.len(),
            all.len()
        );
    }
}

async fn follow(
    targets: Targets,
    key: String,
    ended: Arc<AtomicBool>,
    seen: Arc<Mutex<BTreeMap<String, String>>>,
) {
    let mut since = String::new();
    let mut cursor = None::<String>;
    let mut turn = 0;
    while !ended.load(Ordering::Relaxed) {
        let from = match &cursor {
            Some(cursor) => format!("&cursor={cursor}"),
            None if since.is_empty() => String::new(),
            None => format!("&updated_since={since}"),
        };
        let target = format!("/v1/export/deals?limit=1000{from}");
        turn += 1;
        let page = Ask::new(targets.pick(turn), Method::GET, &target)
            .header("authorization", &format!("Bearer {key}"))
            .try_send();
        // If a host is down or has no database, it is asked again, and so is the
        // next one.
        let page = tokio::time::timeout(HOPELESS / 20, page).await;
        if let Ok(Some(answer)) = page
            && answer.status == 200
        {
            let page = answer.json();
            let rows: Vec<_> = page["data"]
                .as_array()
                .expect("rows")
                .iter()
                .map(named)
                .collect();
            if let Some((_, stamp)) = rows.last() {
                since.clone_from(stamp);
            }
            seen.lock()
                .unwrap_or_else(PoisonError::into_inner)
                .extend(rows);
            cursor = page["next_cursor"].as_str().map(str::to_owned);
        }
        if cursor.is_none() {
            tokio::time::sleep(LOOK * 50).await;
        }
    }
}
