use super::db::Db;

#[allow(unused_imports)]
use crate::store::*;

pub async fn page(
    _db: &Db,
    _scope: &Scope,
    _entity: Entity,
    _after: i64,
    _upper: Option<i64>,
    _limit: u32,
) -> Result<ExportPage, StoreError> {
    Err(StoreError::Open("not ported yet".to_owned()))
}
