use super::db::Db;
use crate::clock::Clock;
#[allow(unused_imports)]
use crate::store::*;

pub async fn commit(
    _db: &Db,
    _clock: &dyn Clock,
    _writes: &[Write],
) -> Result<Vec<Written>, StoreError> {
    Err(StoreError::Open("not ported yet".to_owned()))
}
