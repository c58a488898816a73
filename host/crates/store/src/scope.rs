//! The rights of a key, and the proof of them. Only a store creates a [`Caller`], when it
//! looks up a key, and only a caller yields a [`Scope`]. So the holder of a scope has
//! presented a key of its workspace.

use std::sync::Arc;

use leadhost_domain::id::WorkspaceId;
use leadhost_domain::key::KeyRecord;
use leadhost_domain::workspace::{Partner, Workspace};

/// Proof that the caller may access one workspace's data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scope {
    workspace: WorkspaceId,
}

impl Scope {
    pub fn workspace(&self) -> WorkspaceId {
        self.workspace
    }
}

/// A key, with the workspace and the partner that it belongs to.
#[derive(Clone, Debug)]
pub struct Caller {
    pub key: KeyRecord,
    pub workspace: Option<Arc<Workspace>>,
    pub partner: Option<Arc<Partner>>,
    /// As the store set it. Changes of the public fields do not widen it.
    scope: Option<Scope>,
}

impl Caller {
    /// Creates a caller from a key's row. For stores only.
    pub(super) fn new(
        key: KeyRecord,
        workspace: Option<Workspace>,
        partner: Option<Partner>,
    ) -> Self {
        let scope = key.workspace.map(|workspace| Scope { workspace });
        Self {
            key,
            workspace: workspace.map(Arc::new),
            partner: partner.map(Arc::new),
            scope,
        }
    }

    /// Returns the scope of the key. `None` for an operator's key, which belongs to no
    /// workspace.
    pub fn scope(&self) -> Option<Scope> {
        self.scope
    }
}
