//! Rollouts of plugin versions, and what hosts report about them.

use crate::operations::prelude::*;
use leadhost_domain::rollout::{Rollout, RolloutReport};

statements! {
    static LIST: Sql = reading!(ROLLOUTS as "rollouts", "
select {columns}
from rollouts
order by name");

    // One host at a time, so that two that begin at once do not both replace an ended rollout.
    static ONE_AT_A_TIME: Sql = sql("
lock table rollouts in share row exclusive mode -- postgres");

    // An open rollout is not replaced. The numbers and generations grow across all plugins.
    static BEGIN: Sql = sql("
insert into rollouts (name, number, candidate, stable, stage, paused, step, plan, generation,
  spent_seconds, spent_at, started_by, started_at, stage_at, why)
values (:name, (select coalesce(max(number), 0) + 1 from rollouts), :candidate, :stable, :stage,
  :paused, :step, :plan, (select coalesce(max(generation), 0) + 1 from rollouts), :spent_seconds,
  :spent_at, :started_by, :started_at, :stage_at, :why)
on conflict (name) do update
set number = excluded.number, candidate = excluded.candidate, stable = excluded.stable,
  stage = excluded.stage, paused = excluded.paused, step = excluded.step, plan = excluded.plan,
  generation = excluded.generation, spent_seconds = excluded.spent_seconds,
  spent_at = excluded.spent_at, started_by = excluded.started_by, started_at = excluded.started_at,
  stage_at = excluded.stage_at, why = excluded.why
where rollouts.stage not in ('verified', 'shadow', 'canary', 'probation')");

    static ONE: Sql = reading!(ROLLOUTS as "rollouts", "
select {columns}
from rollouts
where name = :name");

    static FORGET_REPORTS: Sql = sql("
delete from rollout_reports
where name = :name and number <> :number");

    static CHANGE: Sql = sql("
update rollouts
set stage = :stage, paused = :paused, step = :step, spent_seconds = :spent_seconds,
  spent_at = :spent_at, stage_at = :stage_at, why = :why,
  generation = (select max(generation) + 1 from rollouts)
where name = :name and generation = :generation");

    static SPEND: Sql = sql("
update rollouts
set spent_seconds = :spent_seconds, spent_at = :spent_at
where name = :name and generation = :generation");

    static REPORT: Sql = sql("
insert into rollout_reports (name, number, host_id, host, generation, error, reported_at, seen)
values (:name, :number, :host_id, :host, :generation, :error, :reported_at, :seen)
on conflict (name, number, host_id) do update
set generation = excluded.generation, error = excluded.error,
  reported_at = excluded.reported_at, seen = excluded.seen");

    // A host that starts again and again has a report for each start.
    static FORGET_OLDEST: Sql = sql("
delete from rollout_reports
where name = :name and number = :number and reported_at < (
  select min(newest.reported_at)
  from (
    select reported_at from rollout_reports
    where name = :name and number = :number
    order by reported_at desc
    limit :kept
  ) newest)");

    static REPORTS: Sql = sql("
select name, number, host_id, host, generation, error, reported_at, seen
from rollout_reports
where name = :name and number = :number
order by host, host_id");

    static FORGET_ENDED: Sql = sql("
delete from rollout_reports
where (name, number, host_id) in (
  select seen.name, seen.number, seen.host_id
  from rollouts as ended
  join rollout_reports as seen
    on seen.name = ended.name
    and seen.number = ended.number
  where ended.stage not in ('verified', 'shadow', 'canary', 'probation')
  and ended.stage_at < :before
  limit :limit
  for update of seen skip locked -- postgres
)");
}

#[leadhost_boxed::boxed]
impl Store {
    /// Returns the last rollout of every plugin that had one, by name.
    pub async fn rollouts(&self) -> Result<Vec<Rollout>, StoreError> {
        self.database
            .rows(VisibleRows::Exempt, &LIST, [], Rollout::from_row)
            .await
    }

    /// Begins a rollout; its number and generation are assigned. Returns it, or the one that is
    /// open with `false`.
    pub async fn begin_rollout(&self, new: &Rollout) -> Result<(Rollout, bool), StoreError> {
        let new = new.clone();
        steps!(self.database.write(Exempt), |tx| {
            tx.run(&ONE_AT_A_TIME, &[]).await?;
            let args = args! {
                from new: name, candidate, stable, stage, paused, step, plan, spent_at,
                started_by, started_at, stage_at, why;
                spent_seconds: seconds(new.recorded_spent),
            };
            let is_new = tx.run(&BEGIN, &args).await? == 1;
            let args = args! { name: &new.name };
            let stored = tx.only(&ONE, &args, Rollout::from_row).await?;
            let args = args! { name: &new.name, number: stored.number };
            tx.run(&FORGET_REPORTS, &args).await?;
            Ok((stored, is_new))
        })
        .await
    }

    /// Changes a rollout, unless it was changed since its generation was read: then returns
    /// `None`.
    pub async fn change_rollout(&self, changed: &Rollout) -> Result<Option<Rollout>, StoreError> {
        let changed = changed.clone();
        steps!(self.database.write(Exempt), |tx| {
            change_in(tx, &changed).await
        })
        .await
    }

    pub async fn spend_rollout(&self, rollout: &Rollout) -> Result<(), StoreError> {
        let rollout = rollout.clone();
        steps!(self.database.write(Exempt), |tx| {
            let args = args! {
                name: &rollout.name,
                spent_seconds: seconds(rollout.recorded_spent),
                spent_at: rollout.spent_at,
                generation: rollout.generation,
            };
            tx.run(&SPEND, &args).await?;
            Ok(())
        })
        .await
    }

    /// Stores what a host has seen of a rollout, in place of its last report.
    pub async fn report_rollout(&self, report: &RolloutReport) -> Result<(), StoreError> {
        let report = report.clone();
        steps!(self.database.write(Exempt), |tx| {
            let args = args! {
                from report: name, number, host_id = host, host = host_name, generation,
                error, reported_at = at, seen,
            };
            tx.run(&REPORT, &args).await?;
            let args = args! {
                name: &report.name,
                number: report.number,
                kept: limits::ROLLOUT_REPORTS,
            };
            tx.run(&FORGET_OLDEST, &args).await?;
            Ok(())
        })
        .await
    }

    pub async fn rollout_reports(
        &self,
        name: &str,
        number: i64,
    ) -> Result<Vec<RolloutReport>, StoreError> {
        let args = args! { name, number };
        self.database
            .rows(VisibleRows::Exempt, &REPORTS, args, RolloutReport::from_row)
            .await
    }
}

/// Returns the whole seconds of a span, as the store keeps it.
fn seconds(span: Duration) -> i64 {
    i64::try_from(span.as_secs()).unwrap_or(i64::MAX)
}

/// Changes a rollout like [`change`], in a transaction that changes more.
pub async fn change_in(tx: &mut Tx, changed: &Rollout) -> Result<Option<Rollout>, StoreError> {
    tx.run(&ONE_AT_A_TIME, &[]).await?;
    let args = args! {
        from changed: name, stage, paused, step, spent_at, stage_at, why, generation;
        spent_seconds: seconds(changed.recorded_spent),
    };
    if tx.run(&CHANGE, &args).await? == 0 {
        return Ok(None);
    }
    let args = args! { name: &changed.name };
    Ok(Some(tx.only(&ONE, &args, Rollout::from_row).await?))
}

/// Removes reports on rollouts that ended before this time, at most `limit`, and returns how many.
/// The rollouts themselves stay.
pub async fn forget(database: &Database, before: Micros, limit: u32) -> Result<u64, StoreError> {
    steps!(database.write_alone(), |tx| {
        tx.run(&FORGET_ENDED, &args! { before, limit }).await
    })
    .await
}
