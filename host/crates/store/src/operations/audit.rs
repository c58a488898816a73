//! The audit: rows are added and read, never changed. The first ones are removed after their retention.

use std::time::Duration;

use serde_json::json;

use crate::database::Database;
use crate::postgres::VisibleRows;
use crate::row::RowColumns as _;
use crate::row::audit::audit_row;
use crate::sql::{Sql, Tx, args, sql, steps};
use crate::{AuditExtent, AuditFilter, StoreError};
use leadhost_domain::audit::{Act, AuditActor, AuditCheckpoint, AuditRow, OperatorAct, SERVICE};
use leadhost_domain::key::Role;
use leadhost_domain::time::Micros;

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
pub async fn add(database: &Database, act: Act) -> Result<AuditRow, StoreError> {
    database
        .write(VisibleRows::Exempt, steps!(|tx| add_in(tx, act).await))
        .await
}

/// Adds an act like [`add`], in a transaction that changes more.
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
and (
  not :folded::boolean or outcome <> 'begun'
  or (
    select ending.number from audit ending
    where ending.number > audit.number and ending.begun = audit.number
    order by ending.number limit 1
  ) is null
)
order by number desc
limit :limit");

/// Returns rows, newest first.
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
                    folded: filter.folded,
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

/// Old rows are removed once a day, so that the rows about it stay few.
const DAY: Duration = Duration::from_hours(24);

static REMOVE: Sql = sql("
delete from audit
where number <= :number");

static CHECKPOINT: Sql = sql("
insert into audit_checkpoint (id, number, hash)
values (1, :number, :hash)
on conflict (id) do update set number = excluded.number, hash = excluded.hash");

/// Removes rows from before this time, the first ones and at most `limit`, if the first of them is older by a
/// day. The same transaction records the removal in a row, and the last removed row as the checkpoint. Returns
/// how many it removed.
pub async fn remove(
    database: &Database,
    before: Micros,
    now: Micros,
    limit: u32,
) -> Result<u64, StoreError> {
    database
        .write(
            VisibleRows::Exempt,
            steps!(|tx| {
                tx.run(&ONE_AT_A_TIME, &[]).await?;
                let args = args! { after: 0_i64, limit };
                let oldest = tx.rows(&AFTER, &args, |row| audit_row(row)).await?;
                let is_due = oldest.first().is_some_and(|row| row.at < before.minus(DAY));
                // Clocks of hosts differ: the chain ends at the first row that is kept.
                let past = oldest.iter().take_while(|row| is_due && row.at < before);
                let Some(last) = past.clone().last() else {
                    return Ok(0);
                };
                let rows = past.count();
                let detail = json!({"number": last.number, "hash": last.hash, "rows": rows});
                let by = AuditActor::service(SERVICE);
                let act = (OperatorAct::RemoveAudit, "");
                add_in(tx, Act::done(by, now, act, &detail)).await?;
                let args = args! { number: last.number, hash: &last.hash };
                tx.run(&CHECKPOINT, &args).await?;
                tx.run(&REMOVE, &args! { number: last.number }).await
            }),
        )
        .await
}

static EXTENT: Sql = sql("
select coalesce((select max(number) from audit), 0) as newest, coalesce(max(number), 0) as removed,
  coalesce(max(hash), '') as hash
from audit_checkpoint
where id = 1");

/// Returns which rows there are.
pub async fn extent(database: &Database) -> Result<AuditExtent, StoreError> {
    database
        .read(
            VisibleRows::Exempt,
            steps!(|tx| {
                tx.only(&EXTENT, &[], |row| {
                    let (number, hash) = (row.number("removed")?, row.text("hash")?);
                    Ok(AuditExtent {
                        newest: row.number("newest")?,
                        removed: AuditCheckpoint { number, hash },
                    })
                })
                .await
            }),
        )
        .await
}

pub const SQL: &[&Sql] = &[
    &ONE_AT_A_TIME,
    &LAST,
    &ADD,
    &NEWEST,
    &AFTER,
    &REMOVE,
    &CHECKPOINT,
    &EXTENT,
];
