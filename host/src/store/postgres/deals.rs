use super::db::Db;

#[allow(unused_imports)]
use crate::store::*;

pub async fn find(
    _db: &Db,
    _scope: &Scope,
    _filter: &DealFilter,
    _limit: u32,
) -> Result<Vec<DealView>, StoreError> {
    Err(StoreError::Open("not ported yet".to_owned()))
}
