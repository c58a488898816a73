//! Logs a repeated failure once, with its name and cause, and once more on recovery.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::prelude::*;
use leadhost_store::{Build, Store};

pub type BuildPart = (Build, Option<String>);

#[derive(Default)]
pub struct RoundFailures(Mutex<HashMap<BuildPart, String>>);

impl RoundFailures {
    /// Records this round's failures among the pieces that `is_among` holds for.
    pub async fn settle(
        &self,
        store: &Store,
        is_among: impl Fn(&BuildPart) -> bool,
        failed: Vec<(BuildPart, StoreError)>,
    ) {
        let mut news = Vec::new();
        let mut well = Vec::new();
        {
            let mut known = self.known();
            let mut before = HashMap::new();
            for (piece, cause) in std::mem::take(&mut *known) {
                if is_among(&piece) {
                    before.insert(piece, cause);
                } else {
                    known.insert(piece, cause);
                }
            }
            for (piece, error) in failed {
                let cause = error.to_string();
                if before.remove(&piece).as_ref() != Some(&cause) {
                    news.push((piece.clone(), error));
                }
                known.insert(piece, cause);
            }
            well.extend(before.into_keys());
        }
        if news.is_empty() && well.is_empty() {
            return;
        }
        let names = names(store).await;
        let name = |build: &Build| match names.get(&build.workspace) {
            Some(slug) => slug.clone(),
            None => build.workspace.to_string(),
        };
        for ((build, zone), error) in news {
            let (workspace, set) = (name(&build), build.set.as_str());
            match zone {
                None => {
                    tracing::warn!(workspace, set, build = build.number, %error, "analytics of a workspace not counted, the shown counts stay as they were, retrying")
                }
                Some(zone) => {
                    tracing::warn!(workspace, set, zone, %error, "local days of a zone not counted, queries use the slower path")
                }
            }
        }
        for (build, zone) in well {
            let (workspace, set) = (name(&build), build.set.as_str());
            tracing::info!(workspace, set, zone, "analytics counting recovered");
        }
    }

    fn known(&self) -> MutexGuard<'_, HashMap<BuildPart, String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the slugs; if the store does not return them, ids are logged.
async fn names(store: &Store) -> HashMap<WorkspaceId, String> {
    let all = store.workspaces().await.unwrap_or_default();
    all.into_iter().map(|one| (one.id, one.slug)).collect()
}
