use super::db::Db;

#[allow(unused_imports)]
use crate::store::*;

pub async fn due(
    _db: &Db,
    _limit: u32,
    _now: Micros,
    _until: Micros,
) -> Result<Vec<Job>, StoreError> {
    Err(StoreError::Open("not ported yet".to_owned()))
}

pub async fn one(
    _db: &Db,
    _id: DeliveryId,
    _now: Micros,
    _until: Micros,
) -> Result<Option<HeldDelivery>, StoreError> {
    Err(StoreError::Open("not ported yet".to_owned()))
}

pub async fn failed(
    _db: &Db,
    _plugin: &str,
    _not_with: &Digest,
    _limit: u32,
    _now: Micros,
    _until: Micros,
) -> Result<Vec<HeldDelivery>, StoreError> {
    Err(StoreError::Open("not ported yet".to_owned()))
}
