use crate::endpoints::admin::prelude::*;

/// The names by which operators know workspaces.
pub struct RebuildWorkspaces(pub HashMap<WorkspaceId, String>);

impl RebuildWorkspaces {
    pub async fn load(store: &Store) -> Result<Self, StoreError> {
        let all = store.workspaces().await?;
        let names = all.into_iter().map(|one| (one.id, one.slug));
        Ok(Self(names.collect()))
    }

    pub fn name(&self, id: WorkspaceId) -> String {
        let known = self.0.get(&id);
        known.map_or_else(|| id.to_string(), Clone::clone)
    }
}
