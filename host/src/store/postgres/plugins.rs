use super::db::Db;

#[allow(unused_imports)]
use crate::store::*;

pub async fn put(_db: &Db, _plugin: &PluginRecord, _wasm: &[u8]) -> Result<(), StoreError> {
    Err(StoreError::Open("not ported yet".to_owned()))
}

pub async fn one(_db: &Db, _digest: &Digest) -> Result<Option<PluginRecord>, StoreError> {
    Err(StoreError::Open("not ported yet".to_owned()))
}

pub async fn wasm(_db: &Db, _digest: &Digest) -> Result<Option<Vec<u8>>, StoreError> {
    Err(StoreError::Open("not ported yet".to_owned()))
}

pub async fn list(_db: &Db) -> Result<Vec<PluginRecord>, StoreError> {
    Err(StoreError::Open("not ported yet".to_owned()))
}

pub async fn activations(_db: &Db) -> Result<Vec<Activation>, StoreError> {
    Err(StoreError::Open("not ported yet".to_owned()))
}

pub async fn activate(
    _db: &Db,
    _name: &str,
    _digest: &Digest,
    _now: Micros,
) -> Result<Activation, StoreError> {
    Err(StoreError::Open("not ported yet".to_owned()))
}

pub async fn note_refusal(_db: &Db, _refusal: &Refusal) -> Result<(), StoreError> {
    Err(StoreError::Open("not ported yet".to_owned()))
}

pub async fn refusals(_db: &Db) -> Result<Vec<Refusal>, StoreError> {
    Err(StoreError::Open("not ported yet".to_owned()))
}
