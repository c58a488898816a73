use super::db::Db;

#[allow(unused_imports)]
use crate::store::*;

pub async fn list(
    _db: &Db,
    _delivery: DeliveryId,
    _after: i64,
    _limit: u32,
) -> Result<Vec<KeptAnswer>, StoreError> {
    Err(StoreError::Open("not ported yet".to_owned()))
}
