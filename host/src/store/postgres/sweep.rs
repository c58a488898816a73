use super::db::Db;

#[allow(unused_imports)]
use crate::store::*;

pub async fn sweep(
    _db: &Db,
    _retention: &Retention,
    _now: Micros,
    _limit: u32,
) -> Result<u64, StoreError> {
    Err(StoreError::Open("not ported yet".to_owned()))
}
