//! The counting of analytics, for operators.

pub mod rebuild;
pub mod run;
pub mod show;

use std::collections::HashMap;

use crate::admin_api::etl::MetricSetFreshness;
use crate::domain::id::WorkspaceId;
use crate::http::state::Http;
use crate::store::{RollupStatus, Store, StoreError, is_stale};

/// Returns only the freshness of a metric set.
pub fn freshness(http: &Http, status: &RollupStatus) -> MetricSetFreshness {
    MetricSetFreshness {
        metric_set: status.set,
        as_of: status.as_of,
        stale: is_stale(status.as_of, http.core.clock.now()),
    }
}

/// The names by which operators know workspaces.
struct WorkspaceNames(HashMap<WorkspaceId, String>);

impl WorkspaceNames {
    async fn load(store: &dyn Store) -> Result<Self, StoreError> {
        let all = store.workspaces().await?;
        let names = all.into_iter().map(|one| (one.id, one.slug));
        Ok(Self(names.collect()))
    }

    /// Returns the slug, or the id of a removed workspace.
    fn name(&self, id: WorkspaceId) -> String {
        let known = self.0.get(&id);
        known.map_or_else(|| id.to_string(), Clone::clone)
    }
}
