//! The removal of a stored version that nothing names.

use super::concern::UPLOAD;
use super::error::DeployError;
use crate::prelude::*;
use crate::versions::serving;
use leadhost_store::{DeliveryFilter, PluginRemoval, PluginUse};

/// Removes a stored version, and its machine code on this host.
#[leadhost_boxed::boxed]
pub async fn remove(pipeline: &Pipeline, version: &PluginRecord) -> Result<(), DeployError> {
    let _alone = pipeline.deploying.lock().await;
    let digest = &version.digest;
    let named = |uses: &[PluginUse]| DeployError::Named {
        name: version.description.name.clone(),
        digest: digest.clone(),
        by: uses.iter().map(ToString::to_string).collect(),
    };
    if serving(pipeline, &version.description.name).await?.as_ref() == Some(digest) {
        return Err(named(&[PluginUse::Active]));
    }
    // It reads many rows, so it is not part of the write.
    let uses = uses(pipeline, digest).await?;
    if !uses.is_empty() {
        return Err(named(&uses));
    }
    let from_inbox = is_file(&version.origin);
    let name = &version.description.name;
    let now = pipeline.clock.now();
    match pipeline
        .store
        .remove_plugin(name, digest, from_inbox, now)
        .await?
    {
        PluginRemoval::Named(uses) => Err(named(&uses)),
        PluginRemoval::Unknown => Err(DeployError::UnknownDigest(digest.clone())),
        PluginRemoval::Removed => {
            pipeline.plugins.retire(digest);
            pipeline.plugins.forget_code(digest);
            Ok(())
        }
    }
}

async fn uses(pipeline: &Pipeline, digest: &Digest) -> Result<Vec<PluginUse>, StoreError> {
    let store = &pipeline.store;
    let mut uses = Vec::new();
    let any = DeliveryFilter {
        version: Some(digest.0.clone()),
        limit: 1,
        ..DeliveryFilter::default()
    };
    if !store.deliveries(&any).await?.is_empty() {
        uses.push(PluginUse::Deliveries);
    }
    let repair = store.open_repair().await?;
    if repair.is_some_and(|repair| repair.plan.converted_by == *digest) {
        uses.push(PluginUse::Repair);
    }
    Ok(uses)
}

/// Returns whether a version of this origin was a file in the inbox. An operator brings the others, from
/// a file or a registry, and may bring them again.
fn is_file(origin: &str) -> bool {
    origin != UPLOAD && !origin.starts_with("oci://")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_file_of_the_inbox_stays_known() {
        assert!(is_file("portal.wasm"));
        assert!(!is_file(UPLOAD));
        let digest = "0".repeat(64);
        assert!(!is_file(&format!(
            "oci://registry.example.com/portal:1.0.0@sha256:{digest}"
        )));
    }
}
