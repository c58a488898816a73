//! The audit: rows are added and read, never changed. The first ones are removed after their retention.

use serde_json::json;

use crate::operations::prelude::*;
use crate::{AuditExtent, AuditFilter};
use leadhost_domain::audit::{Act, AuditActor, AuditCheckpoint, AuditRow, OperatorAct, SERVICE};

statements! {
    // One host at a time: two that read the last row at once would both follow it. Readers are not
    // blocked.
    static ONE_AT_A_TIME: Sql = sql("
lock table audit in share row exclusive mode -- postgres");

    static LAST: Sql = reading!(AUDIT as "audit", "
select {columns}
from audit
where number = (select max(number) from audit)");

    static ADD: Sql = sql("
insert into audit (number, at, key_id, label, role, address, act, target, outcome, begun, detail, hash)
values (:number, :at, :key_id, :label, :role, :address, :act, :target, :outcome, :begun, :detail, :hash)");

    static NEWEST: Sql = reading!(AUDIT as "audit", "
select {columns}
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

    static AFTER: Sql = reading!(AUDIT as "audit", "
select {columns}
from audit
where number > :after
order by number
limit :limit");

    static REMOVE: Sql = sql("
delete from audit
where number <= :number");

    static CHECKPOINT: Sql = sql("
insert into audit_checkpoint (id, number, hash)
values (1, :number, :hash)
on conflict (id) do update set number = excluded.number, hash = excluded.hash");

    static EXTENT: Sql = sql("
select coalesce((select max(number) from audit), 0) as newest, coalesce(max(number), 0) as removed,
  coalesce(max(hash), '') as hash
from audit_checkpoint
where id = 1");
}

from_row! {
    AuditExtent |row| {
        newest, removed = read!(row => AuditCheckpoint { number: "removed", hash }),
    }
}

#[leadhost_boxed::boxed]
impl Store {
    pub async fn add_audit(&self, act: Act) -> Result<AuditRow, StoreError> {
        steps!(self.database.write(Exempt), |tx| add_in(tx, act).await).await
    }

    pub async fn audit(&self, filter: &AuditFilter) -> Result<Vec<AuditRow>, StoreError> {
        let args = args! {
            from filter: actor, act, since, folded, limit;
            before: filter.before.unwrap_or(i64::MAX),
        };
        self.database
            .rows(VisibleRows::Exempt, &NEWEST, args, AuditRow::from_row)
            .await
    }

    pub async fn audit_after(&self, after: i64, limit: u32) -> Result<Vec<AuditRow>, StoreError> {
        let args = args! { after, limit };
        self.database
            .rows(VisibleRows::Exempt, &AFTER, args, AuditRow::from_row)
            .await
    }

    /// Removes the first rows of the audit, at most `limit`, from before this time, once a day. Records their
    /// removal and where the chain begins from then on. Returns how many it removed.
    pub async fn remove_audit(
        &self,
        before: Micros,
        now: Micros,
        limit: u32,
    ) -> Result<u64, StoreError> {
        steps!(self.database.write(Exempt), |tx| {
            tx.run(&ONE_AT_A_TIME, &[]).await?;
            let args = args! { after: 0_i64, limit };
            let oldest = tx.rows(&AFTER, &args, AuditRow::from_row).await?;
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
        })
        .await
    }

    pub async fn audit_extent(&self) -> Result<AuditExtent, StoreError> {
        steps!(self.database.read(Exempt), |tx| {
            tx.only(&EXTENT, &[], AuditExtent::from_row).await
        })
        .await
    }
}

/// Adds an act like [`Store::add_audit`], in a transaction that changes more.
pub async fn add_in(tx: &mut Tx, act: Act) -> Result<AuditRow, StoreError> {
    tx.run(&ONE_AT_A_TIME, &[]).await?;
    let last = tx.row(&LAST, &[], AuditRow::from_row).await?;
    let row = AuditRow::new(last.as_ref(), act);
    let args = args! {
        from row: number, at, key_id, label, role, address, act, target, outcome, begun, detail,
        hash,
    };
    tx.run(&ADD, &args).await?;
    Ok(row)
}

/// Old rows are removed once a day, so that the rows about it stay few.
const DAY: Duration = Duration::from_hours(24);
