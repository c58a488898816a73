//! What a key opens, and the proof of it. A store makes a [`Caller`] when it is
//! asked for a key, and nothing else does; a [`Scope`] comes from a caller, and
//! from nowhere else. So whoever holds a scope has shown a key of its workspace.

use crate::domain::id::WorkspaceId;
use crate::domain::key::KeyRecord;
use crate::domain::workspace::{Partner, Workspace};

/// Proof that the caller may touch one workspace's data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scope {
    workspace: WorkspaceId,
}

impl Scope {
    pub fn workspace(&self) -> WorkspaceId {
        self.workspace
    }
}

/// A key and what it opens.
#[derive(Clone, Debug)]
pub struct Caller {
    pub key: KeyRecord,
    pub workspace: Option<Workspace>,
    pub partner: Option<Partner>,
    /// As the store said: what is done to the fields beside it does not widen it.
    scope: Option<Scope>,
}

impl Caller {
    /// For stores, of a key's row.
    pub(super) fn of(
        key: KeyRecord,
        workspace: Option<Workspace>,
        partner: Option<Partner>,
    ) -> Self {
        let scope = key.workspace.map(|workspace| Scope { workspace });
        Self {
            key,
            workspace,
            partner,
            scope,
        }
    }

    /// What the key may touch; `None` for an operator's key, which is of no workspace.
    pub fn scope(&self) -> Option<Scope> {
        self.scope
    }
}
