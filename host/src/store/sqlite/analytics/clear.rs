//! A build that has retired goes, some rows at a time.

use super::super::db::Db;
use crate::store::{Build, Stepped, StoreError};

const FACTS: &str = "
delete from rollup_facts
where build = ?1
and id in (select id from rollup_facts where build = ?1 limit ?2)";

const SLOTS: &str = "
delete from rollup_slots
where build = ?1
and (slot, key) in (select slot, key from rollup_slots where build = ?1 limit ?2)";

const DAYS: &str = "
delete from rollup_days
where build = ?1
and (zone, day) in (select zone, day from rollup_days where build = ?1 limit ?2)";

const CUBES: &str = "
delete from rollup_cubes
where build = ?1";

const BUILD: &str = "
delete from rollup_builds
where build = ?1
and state = 'retired'";

/// At most `limit` rows of each kind, and at last the build.
pub async fn step(db: &Db, build: &Build, limit: u32) -> Result<Stepped, StoreError> {
    let limit = i64::from(limit.max(1));
    let mut transaction = db.begin().await?;
    let connection = &mut transaction.connection;
    let mut more = false;
    for sql in [FACTS, SLOTS, DAYS] {
        let gone = sqlx::query(sql)
            .bind(build.number)
            .bind(limit)
            .execute(&mut *connection)
            .await?;
        more |= i64::try_from(gone.rows_affected()).unwrap_or(i64::MAX) >= limit;
    }
    if !more {
        for sql in [CUBES, BUILD] {
            sqlx::query(sql)
                .bind(build.number)
                .execute(&mut *connection)
                .await?;
        }
    }
    transaction.commit().await?;
    Ok(if more {
        Stepped::More(0)
    } else {
        Stepped::Done(0)
    })
}

#[cfg(test)]
pub(super) const SQL: &[&str] = &[FACTS, SLOTS, DAYS, CUBES, BUILD];
