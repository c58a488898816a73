use super::db::Db;

#[allow(unused_imports)]
use crate::store::*;

pub async fn authenticate(_db: &Db, _digest: &[u8; 32]) -> Result<Option<Caller>, StoreError> {
    Err(StoreError::Open("not ported yet".to_owned()))
}

pub async fn create(_db: &Db, _key: &KeyRecord, _digest: &[u8; 32]) -> Result<(), StoreError> {
    Err(StoreError::Open("not ported yet".to_owned()))
}

pub async fn list(_db: &Db, _workspace: Option<WorkspaceId>) -> Result<Vec<KeyRecord>, StoreError> {
    Err(StoreError::Open("not ported yet".to_owned()))
}

pub async fn revoke(_db: &Db, _id: KeyId, _now: Micros) -> Result<bool, StoreError> {
    Err(StoreError::Open("not ported yet".to_owned()))
}

pub async fn touch(_db: &Db, _used: &[(KeyId, Micros)]) -> Result<(), StoreError> {
    Err(StoreError::Open("not ported yet".to_owned()))
}
