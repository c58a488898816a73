use super::db::Db;

#[allow(unused_imports)]
use crate::store::*;

pub async fn workspaces(_db: &Db) -> Result<Vec<Workspace>, StoreError> {
    Err(StoreError::Open("not ported yet".to_owned()))
}

pub async fn partners(_db: &Db, _workspace: WorkspaceId) -> Result<Vec<Partner>, StoreError> {
    Err(StoreError::Open("not ported yet".to_owned()))
}

pub async fn agents(_db: &Db, _workspace: WorkspaceId) -> Result<Vec<Agent>, StoreError> {
    Err(StoreError::Open("not ported yet".to_owned()))
}
