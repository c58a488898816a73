//! Identifies the server of a connection, so that a standby that took its place, or a
//! restored server, can be distinguished from it. Every new connection asks, since nothing
//! else reveals a failover.

use sqlx::Row as _;
use sqlx::postgres::PgConnection;

use super::error;

// The timeline of current writes. The control file has the timeline of the last checkpoint, which is outdated
// for a while after a promotion.
const SERVER: &str = "
select (select system_identifier::text from pg_control_system())
  || '/' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8)";

// If these functions are not available: the start time, which changes with every start of
// the server. That may cause an unnecessary wait, but never misses a necessary one.
const STARTED: &str = "select 'started ' || extract(epoch from pg_postmaster_start_time())::text";

/// Returns the server's identity. `None`: it is a standby and accepts no writes.
pub async fn identity(connection: &mut PgConnection) -> Result<Option<String>, sqlx::Error> {
    match sqlx::query(SERVER).fetch_one(&mut *connection).await {
        Ok(row) => row.try_get(0),
        // recovery is in progress
        Err(error) if error::code(&error) == Some("55000") => Ok(None),
        // insufficient_privilege, undefined_function, feature_not_supported
        Err(error) if matches!(error::code(&error), Some("42501" | "42883" | "0A000")) => {
            let row = sqlx::query(STARTED).fetch_one(connection).await?;
            row.try_get(0)
        }
        Err(error) => Err(error),
    }
}

pub(super) const SQL: &[&str] = &[SERVER, STARTED];
