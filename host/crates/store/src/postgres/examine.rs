//! Looks at a database without changing it: for an operator who checks a deployment.

use sqlx::Row as _;

use super::db::Db;
use super::open;
use crate::high_water_mark::HighWaterMark;
use crate::migrations;
use crate::{Examination, StoreError};
use leadhost_domain::limits;
use leadhost_domain::time::Micros;

const LOOK: &str = "
select current_setting('server_version'),
  (extract(epoch from clock_timestamp()) * 1000000)::bigint,
  to_regclass('leadhost.schema_versions') is not null";
const SCHEMA_VERSION: &str = "select coalesce(max(version), 0) from leadhost.schema_versions";

/// Returns what the database of this URL says about itself.
pub async fn examine(url: &str) -> Result<Examination, StoreError> {
    let within = limits::DOCTOR_DEADLINE;
    tokio::time::timeout(within, look(url)).await.map_err(|_| {
        StoreError::Open(format!(
            "the database did not answer within {} s",
            within.as_secs()
        ))
    })?
}

async fn look(url: &str) -> Result<Examination, StoreError> {
    let db = Db::new(url, 1, HighWaterMark::in_memory())?;
    let mut owner = open::connect(&db).await?;
    let row = sqlx::query(LOOK).fetch_one(&mut owner).await?;
    let (version, now, has_schema): (String, i64, bool) =
        (row.try_get(0)?, row.try_get(1)?, row.try_get(2)?);
    let mut schema = None;
    if has_schema {
        let found: i32 = sqlx::query(SCHEMA_VERSION)
            .fetch_one(&mut owner)
            .await?
            .try_get(0)?;
        migrations::POSTGRES.refuse_other(found.into())?;
        schema = Some(i64::from(found)).filter(|found| *found > 0);
    }
    Ok(Examination {
        server: format!("PostgreSQL {version}"),
        schema,
        newest_schema: migrations::POSTGRES.newest(),
        now: Some(Micros(now)),
    })
}

pub(super) const SQL: &[&str] = &[LOOK, SCHEMA_VERSION];
