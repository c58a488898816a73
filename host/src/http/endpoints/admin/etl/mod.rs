//! How analytics is kept counted, for operators.

pub mod rebuild;
pub mod run;
pub mod show;

use std::collections::HashMap;

use serde_json::{Value, json};

use crate::domain::id::WorkspaceId;
use crate::http::state::Http;
use crate::store::{RollupStatus, Store, StoreError, is_stale};

/// How old what a metric set shows is, and nothing else.
pub fn freshness(http: &Http, status: &RollupStatus) -> Value {
    json!({
        "metricSet": status.set.as_str(),
        "asOf": status.as_of,
        "stale": is_stale(status.as_of, http.core.clock.now()),
    })
}

/// Workspaces as operators know them.
struct Names(HashMap<WorkspaceId, String>);

impl Names {
    async fn of(store: &dyn Store) -> Result<Self, StoreError> {
        let all = store.workspaces().await?;
        let names = all.into_iter().map(|one| (one.id, one.slug));
        Ok(Self(names.collect()))
    }

    /// The slug; the id of one that is gone.
    fn name(&self, id: WorkspaceId) -> String {
        let known = self.0.get(&id);
        known.map_or_else(|| id.to_string(), Clone::clone)
    }
}
