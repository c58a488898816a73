use super::db::Db;

#[allow(unused_imports)]
use crate::store::*;

pub async fn one(_db: &Db, _id: DeliveryId) -> Result<Option<DeliveryDetail>, StoreError> {
    Err(StoreError::Open("not ported yet".to_owned()))
}

pub async fn list(_db: &Db, _filter: &DeliveryFilter) -> Result<Vec<DeliverySummary>, StoreError> {
    Err(StoreError::Open("not ported yet".to_owned()))
}

pub async fn backlog(_db: &Db) -> Result<Backlog, StoreError> {
    Err(StoreError::Open("not ported yet".to_owned()))
}
