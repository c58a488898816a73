//! Hosts, their proposals, activations and jobs. All times are the database's. Every
//! operation that stands alone is one statement and one round trip, on connections that
//! requests do not use.

use sqlx::Row as _;

use super::columns;
use super::db::Db;
use super::health::CHANNEL;
use crate::prelude::*;
use crate::row::read;
use crate::{Announcement, Beat, Fence, Proposal, SeenHost};

const ANNOUNCE: &str = "select pg_notify($1, $2)";

pub async fn announce(db: &Db, what: Announcement) -> Result<(), StoreError> {
    sqlx::query(ANNOUNCE)
        .bind(CHANNEL)
        .bind(what.as_str())
        .execute(db.aside())
        .await?;
    Ok(())
}

const BEAT: &str = "
with long_dead as (
  delete from hosts
  where id <> $1 and seen_at < clock_timestamp() - make_interval(secs => $5)
)
insert into hosts as h (id, name, version, report)
values ($1, $2, $3, $4::json)
on conflict (id) do update
set seen_at = clock_timestamp(), report = excluded.report
returning (extract(epoch from clock_timestamp()) * 1000000)::bigint";

/// Stores a heartbeat, and removes hosts that have been dead for long. Returns the time of the database.
pub async fn beat(db: &Db, beat: &Beat) -> Result<Micros, StoreError> {
    let row = sqlx::query(BEAT)
        .bind(beat.host.0)
        .bind(columns::text(&beat.name))
        .bind(&beat.version)
        .bind(columns::json(&beat.report)?)
        .bind(limits::DEAD_HOST_RETENTION.as_secs_f64())
        .fetch_one(db.aside())
        .await?;
    Ok(Micros(row.try_get(0)?))
}

const LEAVE: &str = "
with no_jobs as (
  delete from jobs where host_id = $1
), no_proposals as (
  delete from proposals where host_id = $1
)
delete from hosts
where id = $1";

pub async fn leave(db: &Db, host: HostId) -> Result<(), StoreError> {
    sqlx::query(LEAVE).bind(host.0).execute(db.aside()).await?;
    Ok(())
}

const HOSTS: &str = "
select id, name, version, started_at, seen_at, report,
  seen_at > clock_timestamp() - make_interval(secs => $1) as alive
from hosts
order by name collate \"C\", id";

pub async fn hosts(db: &Db) -> Result<Vec<SeenHost>, StoreError> {
    sqlx::query(HOSTS)
        .bind(limits::HOST_DEAD.as_secs_f64())
        .fetch_all(db.aside())
        .await?
        .iter()
        .map(|row| {
            let row = SqlRow::Postgres(row);
            Ok(read!(row => SeenHost { id, name, version, started_at, seen_at, alive, report }))
        })
        .collect()
}

// A host's next proposal replaces its last one. The proposal of a dead host blocks no
// other.
const PROPOSE: &str = "
insert into proposals as p (name, number, digest, host_id, until_at)
values ($1, nextval('leases'), $2, $3, clock_timestamp() + make_interval(secs => $4))
on conflict (name) do update
set number = excluded.number, digest = excluded.digest, host_id = excluded.host_id,
  until_at = excluded.until_at
where p.until_at <= clock_timestamp()
or p.host_id = excluded.host_id
or not exists (
  select from hosts as h
  where h.id = p.host_id and h.seen_at > clock_timestamp() - make_interval(secs => $5)
)
returning number";

pub async fn propose(
    db: &Db,
    by: HostId,
    name: &str,
    digest: &Digest,
    within: Duration,
) -> Result<Option<Proposal>, StoreError> {
    let row = sqlx::query(PROPOSE)
        .bind(columns::text(name))
        .bind(&digest.0)
        .bind(by.0)
        .bind(within.as_secs_f64())
        .bind(limits::HOST_DEAD.as_secs_f64())
        .fetch_optional(db.aside())
        .await?;
    let Some(row) = row else {
        return Ok(None);
    };
    let proposal = Proposal {
        name: name.to_owned(),
        digest: digest.clone(),
        number: row.try_get("number")?,
    };
    // Sent once the proposal is visible: hosts look as soon as they receive it.
    announce(db, Announcement::Plugins).await?;
    Ok(Some(proposal))
}

const PROPOSALS: &str = "
select name, digest, number
from proposals
where until_at > clock_timestamp()
order by name collate \"C\"";

pub async fn proposals(db: &Db) -> Result<Vec<Proposal>, StoreError> {
    sqlx::query(PROPOSALS)
        .fetch_all(db.aside())
        .await?
        .iter()
        .map(|row| {
            Ok(Proposal {
                name: row.try_get("name")?,
                digest: Digest(row.try_get("digest")?),
                number: row.try_get("number")?,
            })
        })
        .collect()
}

const WITHDRAW: &str = "
delete from proposals
where name = $1 and number = $2";

pub async fn withdraw(db: &Db, proposal: &Proposal) -> Result<(), StoreError> {
    sqlx::query(WITHDRAW)
        .bind(columns::text(&proposal.name))
        .bind(proposal.number)
        .execute(db.aside())
        .await?;
    Ok(())
}

// A holder that renews its lease keeps its fencing token.
const HOLD_JOB: &str = "
insert into jobs as j (name, host_id, fence, until_at)
values ($1, $2, nextval('leases'), clock_timestamp() + make_interval(secs => $3))
on conflict (name) do update
set fence = case
    when j.host_id = excluded.host_id and j.until_at > clock_timestamp() then j.fence
    else excluded.fence
  end,
  host_id = excluded.host_id, until_at = excluded.until_at
where j.host_id = excluded.host_id or j.until_at <= clock_timestamp()
returning fence";

pub async fn hold_job(
    db: &Db,
    job: &str,
    by: HostId,
    within: Duration,
) -> Result<Option<Fence>, StoreError> {
    let row = sqlx::query(HOLD_JOB)
        .bind(job)
        .bind(by.0)
        .bind(within.as_secs_f64())
        .fetch_optional(db.aside())
        .await?;
    row.map(|row| Ok(Fence(row.try_get("fence")?))).transpose()
}

const LEAVE_JOB: &str = "
delete from jobs
where name = $1 and host_id = $2";

pub async fn leave_job(db: &Db, job: &str, by: HostId) -> Result<(), StoreError> {
    sqlx::query(LEAVE_JOB)
        .bind(job)
        .bind(by.0)
        .execute(db.aside())
        .await?;
    Ok(())
}

pub const SQL: &[&str] = &[
    ANNOUNCE, BEAT, LEAVE, HOSTS, PROPOSE, PROPOSALS, WITHDRAW, HOLD_JOB, LEAVE_JOB,
];
