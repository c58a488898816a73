//! Which server a connection is to: what differs between a server and the
//! standby that takes its place, or the one that was restored. It is asked on
//! every new connection, since a fail-over shows itself as nothing else.

use sqlx::Row as _;
use sqlx::postgres::PgConnection;

use super::error;

// The timeline of what is written now: the one of the last checkpoint, which the
// control file has, is a while behind after a promotion.
const SERVER: &str = "
select (select system_identifier::text from pg_control_system())
  || '/' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8)";

// Where these are not to be had: it changes with every start of a server, which
// costs a wait too many and never one too few.
const STARTED: &str = "select 'started ' || extract(epoch from pg_postmaster_start_time())::text";

/// `None`: it only follows another server, and takes no writes.
pub async fn of(connection: &mut PgConnection) -> Result<Option<String>, sqlx::Error> {
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
