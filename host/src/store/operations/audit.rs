//! The audit: rows are added and read, never changed or removed.

use crate::domain::audit::{Act, AuditRow};
use crate::domain::key::Role;
use crate::store::database::Database;
use crate::store::postgres::VisibleRows;
use crate::store::row::audit::audit_row;
use crate::store::sql::{Sql, Tx, args, sql, steps};
use crate::store::{AuditFilter, StoreError};

// One host at a time: two that read the last row at once would both follow it. Readers are not
// blocked.
static ONE_AT_A_TIME: Sql = sql("
lock table audit in share row exclusive mode -- postgres");

static LAST: Sql = sql("
select number, at, key_id, label, role, address, act, target, outcome, begun, detail, hash
from audit
where number = (select max(number) from audit)");

static ADD: Sql = sql("
insert into audit (number, at, key_id, label, role, address, act, target, outcome, begun, detail, hash)
values (:number, :at, :key_id, :label, :role, :address, :act, :target, :outcome, :begun, :detail, :hash)");

/// Adds an act after the last row.
///
/// # Errors
///
/// [`StoreError`] if the database fails.
pub async fn add(database: &Database, act: Act) -> Result<AuditRow, StoreError> {
    database
        .write(VisibleRows::Exempt, steps!(|tx| add_in(tx, act).await))
        .await
}

/// Adds an act like [`add`], in a transaction that changes more.
///
/// # Errors
///
/// [`StoreError`] if the database fails.
pub async fn add_in(tx: &mut Tx, act: Act) -> Result<AuditRow, StoreError> {
    tx.run(&ONE_AT_A_TIME, &[]).await?;
    let last = tx.row(&LAST, &[], |row| audit_row(row)).await?;
    let row = AuditRow::new(last.as_ref(), act);
    let args = args! {
        number: row.number,
        at: row.at,
        key_id: row.key_id,
        label: &row.label,
        role: row.role.map(Role::as_str),
        address: &row.address,
        act: &row.act,
        target: &row.target,
        outcome: row.outcome.as_str(),
        begun: row.begun,
        detail: &row.detail,
        hash: &row.hash,
    };
    tx.run(&ADD, &args).await?;
    Ok(row)
}

static NEWEST: Sql = sql("
select number, at, key_id, label, role, address, act, target, outcome, begun, detail, hash
from audit
where number < :before
and (:actor::text is null or label = :actor)
and (:act::text is null or act = :act)
and (:since::timestamptz is null or at >= :since)
order by number desc
limit :limit");

/// Returns rows, newest first.
///
/// # Errors
///
/// [`StoreError`] if the database fails.
pub async fn newest(database: &Database, filter: AuditFilter) -> Result<Vec<AuditRow>, StoreError> {
    database
        .read(
            VisibleRows::Exempt,
            steps!(|tx| {
                let args = args! {
                    before: filter.before.unwrap_or(i64::MAX),
                    actor: filter.actor.as_deref(),
                    act: filter.act.as_deref(),
                    since: filter.since,
                    limit: filter.limit,
                };
                tx.rows(&NEWEST, &args, |row| audit_row(row)).await
            }),
        )
        .await
}

static AFTER: Sql = sql("
select number, at, key_id, label, role, address, act, target, outcome, begun, detail, hash
from audit
where number > :after
order by number
limit :limit");

/// Returns the rows after a number, oldest first.
///
/// # Errors
///
/// [`StoreError`] if the database fails.
pub async fn after(
    database: &Database,
    after: i64,
    limit: u32,
) -> Result<Vec<AuditRow>, StoreError> {
    database
        .read(
            VisibleRows::Exempt,
            steps!(|tx| {
                let args = args! { after, limit };
                tx.rows(&AFTER, &args, |row| audit_row(row)).await
            }),
        )
        .await
}

pub const SQL: &[&Sql] = &[&ONE_AT_A_TIME, &LAST, &ADD, &NEWEST, &AFTER];
