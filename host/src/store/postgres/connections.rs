use super::db::Db;

#[allow(unused_imports)]
use crate::store::*;

pub async fn one(_db: &Db, _id: &ConnectionId) -> Result<Option<Connection>, StoreError> {
    Err(StoreError::Open("not ported yet".to_owned()))
}

pub async fn list(
    _db: &Db,
    _workspace: Option<WorkspaceId>,
) -> Result<Vec<Connection>, StoreError> {
    Err(StoreError::Open("not ported yet".to_owned()))
}

pub async fn pause(_db: &Db, _id: &ConnectionId, _pause: Option<&Pause>) -> Result<(), StoreError> {
    Err(StoreError::Open("not ported yet".to_owned()))
}
