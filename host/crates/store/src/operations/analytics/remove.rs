//! Removal of a retired build, some rows at a time.

use crate::decide::rollup::BuildState;
use crate::operations::analytics::builds::LockedBuilds;
use crate::operations::prelude::*;
use crate::sqlite::threads::End;
use crate::{Build, Stepped};

statements! {
    // Deletes up to the last of the first `:limit` keys. The index of the key finds it without a join.
    static FACTS: Sql = sql("
delete from rollup_facts
where build = :build
and id <= (
  select id
  from (
    select id
    from rollup_facts
    where build = :build
    order by id
    limit :limit
  ) as found
  order by id desc
  limit 1)");

    static SLOTS: Sql = sql("
delete from rollup_slots
where build = :build
and (slot, key) <= (
  select slot, key
  from (
    select slot, key
    from rollup_slots
    where build = :build
    order by slot, key
    limit :limit
  ) as found
  order by slot desc, key desc
  limit 1)");

    static DAYS: Sql = sql("
delete from rollup_days
where build = :build
and (zone, day) <= (
  select zone, day
  from (
    select zone, day
    from rollup_days
    where build = :build
    order by zone, day
    limit :limit
  ) as found
  order by zone desc, day desc
  limit 1)");

    static CUBES: Sql = sql("
delete from rollup_cubes
where build = :build");

    static BUILD: Sql = sql("
delete from rollup_builds
where build = :build");
}

/// Removes at most `limit` rows of each kind, and finally the build.
pub async fn step(database: &Database, build: &Build, limit: u32) -> Result<Stepped, StoreError> {
    let build = *build;
    let limit = limit.max(1);
    steps!(database.write_or_undo(Of(&[build.workspace])), |tx| {
        let locked = LockedBuilds::lock(tx, &build).await?;
        if !matches!(locked.get(&build), Some((BuildState::Retired, _))) {
            return Ok((Stepped::Passed, End::Undo));
        }
        let args = args! { build: build.number, limit };
        let mut is_more = false;
        for kind in [&FACTS, &SLOTS, &DAYS] {
            is_more |= tx.run(kind, &args).await? >= u64::from(limit);
        }
        if is_more {
            return Ok((Stepped::More(0), End::Commit));
        }
        for last in [&CUBES, &BUILD] {
            tx.run(last, &args).await?;
        }
        Ok((Stepped::Done(0), End::Commit))
    })
    .await
}
