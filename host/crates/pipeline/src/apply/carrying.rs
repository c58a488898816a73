//! The write of a plan.

use crate::fleet;
use crate::state::Pipeline;
use leadhost_store::{Announcement, Applied, Plan, StoreError};

pub async fn carry_out(
    pipeline: &Pipeline,
    plan: &Plan,
    dry_run: bool,
) -> Result<Applied, StoreError> {
    let applied = pipeline
        .core
        .store
        .apply(plan, pipeline.core.clock.now(), dry_run)
        .await?;
    if !dry_run {
        fleet::announce(pipeline, Announcement::Connections).await;
        // The cached entries of keys contain settings of their workspace.
        fleet::announce(pipeline, Announcement::Keys).await;
        tracing::info!(
            workspace = plan.slug,
            changes = applied.changes.len(),
            "workspace applied"
        );
    }
    Ok(applied)
}
