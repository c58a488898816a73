//! A build that has retired goes, some rows at a time.

use super::super::db::{Db, Rows};
use super::builds::Locked;
use crate::store::decide::rollup::BuildState;
use crate::store::{Build, Stepped, StoreError};

const FACTS: &str = "
delete from rollup_facts
where ctid = any (array(
  select ctid from rollup_facts where build = $1 order by id limit $2))";

const SLOTS: &str = "
delete from rollup_slots
where ctid = any (array(
  select ctid from rollup_slots where build = $1 order by slot, key limit $2))";

const DAYS: &str = "
delete from rollup_days
where ctid = any (array(
  select ctid from rollup_days where build = $1 order by zone, day limit $2))";

const CUBES: &str = "
delete from rollup_cubes
where build = $1";

const BUILD: &str = "
delete from rollup_builds
where build = $1";

/// At most `limit` rows of each kind, and at last the build.
pub async fn step(db: &Db, build: &Build, limit: u32) -> Result<Stepped, StoreError> {
    let limit = limit.max(1);
    let mut transaction = db.begin(Rows::Of(&[build.workspace])).await?;
    let locked = Locked::of(&mut transaction, build.workspace, build.set).await?;
    if !matches!(locked.get(build), Some((BuildState::Retired, _))) {
        transaction.rollback().await?;
        return Ok(Stepped::Passed);
    }
    let mut is_more = false;
    for kind in [FACTS, SLOTS, DAYS] {
        let gone = sqlx::query(kind)
            .bind(build.number)
            .bind(i64::from(limit))
            .execute(&mut *transaction)
            .await?;
        is_more |= gone.rows_affected() >= u64::from(limit);
    }
    if !is_more {
        for last in [CUBES, BUILD] {
            sqlx::query(last)
                .bind(build.number)
                .execute(&mut *transaction)
                .await?;
        }
    }
    transaction.commit().await?;
    Ok(if is_more {
        Stepped::More(0)
    } else {
        Stepped::Done(0)
    })
}

pub(in crate::store::postgres) const SQL: &[&str] = &[FACTS, SLOTS, DAYS, CUBES, BUILD];
