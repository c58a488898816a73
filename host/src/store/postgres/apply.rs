use super::db::Db;

#[allow(unused_imports)]
use crate::store::*;

pub async fn apply(
    _db: &Db,
    _plan: &Plan,
    _now: Micros,
    _dry_run: bool,
) -> Result<Applied, StoreError> {
    Err(StoreError::Open("not ported yet".to_owned()))
}
