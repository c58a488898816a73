//! Loads what a batch touches, and locks what it may change: at most one
//! statement a table, whatever the number of writes.
//!
//! Every batch locks in the same order, so that two hosts never wait for each
//! other in a circle: work of deliveries, work of sends, dedupe keys, requests
//! that partners named, channels' ids of messages, deals, contacts,
//! conversations, messages, rows of the report, tickets, each sorted. What is new
//! is inserted after all of these locks are held (`save`), and the clocks of the
//! feeds come last (`stamp`).
//!
//! Some locks stand for what is not there yet. Whoever opens a conversation has
//! locked its contact, and whoever makes one be about a deal that is there has
//! locked the deal: so a deal that is locked has the open conversations that are
//! found, and no other. Whoever opens a ticket, or closes one, has locked its
//! conversation, or its deal where it has none: so there is one at a time.
//!
//! What a channel says leads the other way: from its id to the message, and on to
//! the conversation. That way is gone once without a lock, so that what it leads
//! to can be locked in order; if the locked rows lead elsewhere, another host was
//! there in between, and the batch runs again.

pub mod desk;
pub mod dialogue;
pub mod leads;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use chrono::{DateTime, Utc};
use sqlx::Row as _;
use sqlx::postgres::{PgConnection, PgRow};
use uuid::Uuid;

use crate::domain::id::{DealId, DeliveryId, WorkspaceId};
use crate::store::decide::{self, ClaimKey, Known, Needs, Places, ReferenceKey};
use crate::store::postgres::save::place;
use crate::store::row::Columns as _;
use crate::store::{IdempotencyKey, StoreError, Write};

/// The place of a delivery itself in the queue, beside those of its items' fetches.
pub const WHOLE: i32 = -1;

/// The place of a message that is not out yet, by its own id.
pub const SEND: i32 = -2;

/// What the transaction holds locked beside what is known.
#[derive(Default)]
pub struct Locked {
    /// By a delivery's id and its place, or by a message's.
    pub work: HashMap<(Uuid, i32), Work>,
    /// Keys that somebody has, expired ones included.
    pub claims: HashSet<ClaimKey>,
    pub requests: HashSet<IdempotencyKey>,
    pub references: HashSet<ReferenceKey>,
}

/// A row of the queue.
pub struct Work {
    pub workspace: WorkspaceId,
    pub lease: i64,
    pub until: Option<DateTime<Utc>>,
}

impl Locked {
    /// The workspaces of the work that is locked.
    pub fn workspaces(&self) -> BTreeSet<WorkspaceId> {
        self.work.values().map(|work| work.workspace).collect()
    }

    fn of(&self, delivery: DeliveryId, place: i32) -> (i64, bool) {
        self.work
            .get(&(delivery.0, place))
            .map_or((0, false), |work| (work.lease, work.until.is_some()))
    }
}

// What is wanted comes sorted, and is gone through in that order.
const WORK: &str = "
select q.workspace_id, q.delivery_id, q.item, q.lease, q.lease_until
from unnest($1::uuid[], $2::int[], $3::int[]) as wanted (id, first, last)
cross join lateral (
  select workspace_id, delivery_id, item, lease, lease_until
  from queue
  where delivery_id = wanted.id
  and (item < 0 or item between wanted.first and wanted.last)
  order by item
  for update
) as q";

/// Locks the work that the batch names. A delivery that is not there is finished
/// and held by nobody: what a batch says of it is stale.
pub async fn work(
    connection: &mut PgConnection,
    wanted: &BTreeMap<DeliveryId, Places>,
) -> Result<Locked, StoreError> {
    let mut locked = Locked::default();
    let stretches = wanted.iter().flat_map(|(id, places)| {
        // A delivery without any is locked itself.
        let none = places.stretches.is_empty().then_some((WHOLE, WHOLE));
        let stretches = places.stretches.iter();
        let stretches = stretches.map(|(first, last)| (place(*first), place(*last)));
        let all: Vec<_> = stretches.chain(none).collect();
        all.into_iter().map(|(first, last)| (id.0, first, last))
    });
    lock_work(connection, &mut locked, stretches).await?;
    Ok(locked)
}

async fn lock_work(
    connection: &mut PgConnection,
    locked: &mut Locked,
    wanted: impl Iterator<Item = (Uuid, i32, i32)>,
) -> Result<(), StoreError> {
    let wanted: Vec<_> = wanted.collect();
    if wanted.is_empty() {
        return Ok(());
    }
    let rows = sqlx::query(WORK)
        .bind(wanted.iter().map(|(id, ..)| *id).collect::<Vec<_>>())
        .bind(
            wanted
                .iter()
                .map(|(_, first, _)| *first)
                .collect::<Vec<_>>(),
        )
        .bind(wanted.iter().map(|(.., last)| *last).collect::<Vec<_>>())
        .fetch_all(connection)
        .await?;
    for row in rows {
        let work = Work {
            workspace: row.id("workspace_id")?,
            lease: row.try_get("lease")?,
            until: row.try_get("lease_until")?,
        };
        let key = (row.try_get("delivery_id")?, row.try_get("item")?);
        locked.work.insert(key, work);
    }
    Ok(())
}

/// What a statement finds by workspace and id; for none it is not asked.
async fn rows<I: Copy + Into<Uuid>>(
    connection: &mut PgConnection,
    sql: &'static str,
    wanted: &BTreeSet<(WorkspaceId, I)>,
) -> Result<Vec<PgRow>, StoreError> {
    if wanted.is_empty() {
        return Ok(Vec::new());
    }
    let (workspaces, ids) = two_columns(wanted);
    let rows = sqlx::query(sql)
        .bind(workspaces)
        .bind(ids)
        .fetch_all(connection)
        .await?;
    Ok(rows)
}

/// Workspaces and ids, as two columns.
fn two_columns<I: Copy + Into<Uuid>>(
    wanted: &BTreeSet<(WorkspaceId, I)>,
) -> (Vec<Uuid>, Vec<Uuid>) {
    wanted.iter().map(|(of, id)| (of.0, (*id).into())).unzip()
}

/// Everything that the writes touch, once the work that they name is locked.
pub async fn all(
    connection: &mut PgConnection,
    writes: &[Write],
    first: Needs,
    mut locked: Locked,
) -> Result<(Known, Locked), StoreError> {
    let mut known = Known::default();
    leads::deliveries(connection, &mut known, &locked, &first.deliveries).await?;
    let mut needs = if locked.work.is_empty() {
        first
    } else {
        decide::needs(writes, |id| known.deliveries.get(&id))
    };
    // A fetch that ends lets go of its key.
    needs.claims.extend(
        known
            .fetches
            .values()
            .filter_map(|fetch| Some((fetch.connection.clone(), fetch.dedupe_key.clone()?))),
    );
    let links = dialogue::follow(connection, &needs).await?;
    let sends = links.sends.iter().map(|id| (id.0, SEND, SEND));
    lock_work(connection, &mut locked, sends).await?;
    let mut people = leads::keys(connection, &mut known, &mut locked, &needs).await?;
    leads::others(connection, &mut known, &needs).await?;
    dialogue::names(connection, &mut known, &mut locked, &links).await?;
    let mut deals = deals_that_may_change(&known, &needs);
    deals.extend(&links.deals);
    people.extend(leads::deals(connection, &mut known, &needs, &deals).await?);
    people.extend(&links.contacts);
    leads::contacts(connection, &mut known, &people).await?;
    dialogue::talks(connection, &mut known, &locked, &links, &needs).await?;
    desk::tickets(connection, &mut known, &links, &needs).await?;
    dialogue::holds(connection, &mut known, &needs).await?;
    leads::named(connection, &mut known, &needs).await?;
    leads::first_agents(connection, &mut known, &needs.first_agents).await?;
    leads::quarantine(connection, &mut known, &needs.quarantine).await?;
    Ok((known, locked))
}

fn deals_that_may_change(known: &Known, needs: &Needs) -> BTreeSet<(WorkspaceId, DealId)> {
    let of_claims = needs.deals_of_claims.iter().filter_map(|key| {
        let claim = known.claims.get(key)?;
        Some((claim.workspace, claim.deal?))
    });
    let of_items = needs
        .deals_of_deliveries
        .iter()
        .filter_map(|id: &DeliveryId| known.deliveries.get(id))
        .flat_map(|delivery| {
            let deals = delivery.items.values().filter_map(|item| item.deal);
            deals.map(|deal| (delivery.workspace, deal))
        });
    let named = needs.deals.iter().copied();
    of_claims.chain(of_items).chain(named).collect()
}

pub const SQL: &[&str] = &[WORK];
