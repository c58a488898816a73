//! Removal of deals with their history, notes, and values in receipts. References to them are
//! cleared, and the rows that held them are stamped again. Rows are locked in the same order as by
//! a batch of leads.

use crate::operations::prelude::*;
use crate::operations::{repairs, tombstones};
use crate::tombstones::Removal;
use crate::{DedupeKey, Erased, erased_key, person_key};
use leadhost_domain::contact;

/// Locks the rows whose column `by` names one of the ids. The workspace is checked, but not
/// searched by.
macro_rules! locked {
    ($table:literal, $by:literal, $columns:literal) => {
        concat!(
            "
each (workspace_id uuid, id uuid)
select ",
            $columns,
            "
from each
ordered join ",
            $table,
            " as t
  on t.",
            $by,
            " = each.id
  and t.",
            $by,
            " is not null
  and (t.workspace_id = each.workspace_id) is true
order by t.id
for update of t                                  -- postgres
"
        )
    };
}

pub(super) use locked;

/// The deals `d` whose ids `each` has. The workspace is checked, but not searched by, on SQLite.
macro_rules! of_deals {
    ($columns:literal, $rest:literal) => {
        sql(concat!(
            "
each (workspace_id uuid, id uuid)
select ",
            $columns,
            "
from each
cross join deals as d                                    -- sqlite
  on d.id = each.id                                      -- sqlite
  and (d.workspace_id = each.workspace_id) is true       -- sqlite
join deals as d                                          -- postgres
  on d.workspace_id = each.workspace_id                  -- postgres
  and d.id = each.id                                     -- postgres
",
            $rest
        ))
    };
}

/// The match keys of the contacts of these deals, in one of the tables of keys.
macro_rules! keys_of_deals {
    ($table:literal) => {
        concat!(
            "
select d.id, k.key
from each
ordered join deals as d
  on d.id = each.id
  and (d.workspace_id = each.workspace_id) is true       -- sqlite
  and d.workspace_id = each.workspace_id                 -- postgres
ordered join ",
            $table,
            " as k
  on k.contact_id = d.person_id
  and (k.workspace_id = d.workspace_id) is true"
        )
    };
}

/// Match keys of a person by which repeats of a removed lead are recognised.
const KEYS_KEPT: usize = 64;

statements! {
    static IDS: Sql = of_deals!("d.id, d.connection_id, d.external_id", "");

    // The key of an id, as it is or erased: who holds it changes no lead with the id.
    static LOCK_CLAIMS: Sql = sql("
each (connection_id text, key text, erased_key text)
select k.connection_id, k.key, k.deal_id
from each
ordered join dedupe as k
  on k.connection_id = each.connection_id
  and k.key in (each.key, each.erased_key)               -- sqlite
  and k.key = any (array[each.key, each.erased_key])     -- postgres
order by k.connection_id, k.key
for update of k                                          -- postgres
");

    // A repeat that came in meanwhile may have made one.
    static FORMER_CLAIMS: Sql = sql("
each (connection_id text, key text, erased_key text)
delete from dedupe as gone
using each                                               -- postgres
where gone.connection_id = each.connection_id            -- postgres
and gone.key = each.erased_key                           -- postgres
where connection_id = :connection_id                     -- sqlite
and key = :erased_key                                    -- sqlite
");

    static ERASED_CLAIMS: Sql = sql("
each (connection_id text, key text, erased_key text)
update dedupe as d
set key = each.erased_key
from each
where d.connection_id = each.connection_id
and d.key = each.key");

    static PERSON_CLAIMS: Sql = sql("
each (workspace_id uuid, id uuid, key text)
insert into dedupe (workspace_id, connection_id, key, delivery_id, item, deal_id, contact_id)
select d.workspace_id, d.connection_id, each.key, d.delivery_id, coalesce((
    select min(i.item)
    from items as i
    where i.workspace_id = d.workspace_id
    and i.delivery_id = d.delivery_id
    and i.deal_id = d.id
  ), 0), d.id, d.person_id
from each
ordered join deals as d
  on d.id = each.id
  and d.workspace_id = each.workspace_id
where d.delivery_id is not null
order by d.connection_id, each.key
on conflict do nothing");

    static LOCK_DEALS: Sql = of_deals!(
        "d.id, d.props -> 'contact' as said",
        "order by d.id
for update of d                                          -- postgres
"
    );

    static KEYS: Sql = sql(concat!(
        "
each (workspace_id uuid, id uuid)",
        keys_of_deals!("contact_keys"),
        "
union all",
        keys_of_deals!("shared_keys")
    ));

    static LOCK_CONVERSATIONS: Sql = sql(locked!("conversations", "deal_id", "t.id"));
    static LOCK_ERRORS: Sql = sql(locked!("message_errors", "deal_id", "t.id"));

    static LOCK_TICKETS: Sql = sql(locked!(
        "tickets",
        "deal_id",
        "t.id, t.conversation_id is null as whole"
    ));

    // Conversations about a test lead must not count after its removal, when nothing else shows that it
    // was a test.
    static TRIALS: Sql = sql("
each (workspace_id uuid, id uuid)
update conversations as c
set props = json_set(c.props, '$.test', json('true'))            -- sqlite
set props = (c.props::jsonb || '{\"test\": true}')::json         -- postgres
from each
join deals as d
  on d.id = each.id
  and (d.workspace_id = each.workspace_id) is true               -- sqlite
  and d.workspace_id = each.workspace_id                         -- postgres
where c.deal_id = each.id
and c.deal_id is not null
and (d.props -> 'test')::text = 'true'");

    static HISTORY: Sql = made(|| schema::DEAL_HISTORY.remove_with("deal_id"));
    static LOGS: Sql = made(|| schema::DEAL_LOGS.remove_with("deal_id"));
    static DEALS: Sql = made(|| schema::DEALS.remove_with("id"));

    pub static REMOVE_TICKETS: Sql = made(|| schema::TICKETS.remove_with("id"));

    static UNLINK_CONVERSATIONS: Sql = sql("
each (id uuid, cursor_us number, updated_at time)
update conversations as c
set deal_id = null, cursor_us = each.cursor_us, updated_at = each.updated_at
from each
where c.id = each.id");

    static UNLINK_ERRORS: Sql = sql("
each (id uuid, cursor_us number)
update message_errors as e
set deal_id = null, cursor_us = each.cursor_us
from each
where e.id = each.id");

    static UNLINK_TICKETS: Sql = sql("
each (id uuid, cursor_us number, updated_at time)
update tickets as t
set deal_id = null, cursor_us = each.cursor_us, updated_at = each.updated_at
from each
where t.id = each.id");
}

#[leadhost_boxed::boxed]
impl Store {
    /// Removes a deal with its history and notes, and clears references to it. Returns false if
    /// there is no such deal.
    pub async fn remove_deal(
        &self,
        workspace: WorkspaceId,
        deal: DealId,
    ) -> Result<bool, StoreError> {
        let now = self.clock.now();
        steps!(self.database.write(Of(&[workspace])), |tx| {
            let gone = deals(tx, workspace, &[deal.0], now).await?;
            Ok(gone.deals > 0)
        })
        .await
    }
}

/// Removes these deals of the workspace, in a transaction that names it and holds no lock yet that
/// a batch of leads takes after deals.
pub async fn deals(
    tx: &mut Tx,
    workspace: WorkspaceId,
    deals: &[Uuid],
    now: Micros,
) -> Result<Erased, StoreError> {
    let wanted = rows_of(workspace, deals);
    let ids = claims(tx, &wanted).await?;
    let deals: Vec<(Uuid, Option<Value>)> = tx
        .rows_each(&LOCK_DEALS, &wanted, cells!("id", "said"))
        .await?;
    if deals.is_empty() {
        return Ok(Erased::default());
    }
    keep_persons(tx, workspace, &deals, &ids).await?;
    let deals: Vec<Uuid> = deals.into_iter().map(|(id, _)| id).collect();
    let locked = rows_of(workspace, &deals);
    let conversations: Vec<Uuid> = tx
        .rows_each(&LOCK_CONVERSATIONS, &locked, |row| row.get("id"))
        .await?;
    let errors: Vec<Uuid> = tx
        .rows_each(&LOCK_ERRORS, &locked, |row| row.get("id"))
        .await?;
    let tickets: Vec<(Uuid, bool)> = tx
        .rows_each(&LOCK_TICKETS, &locked, cells!("id", "whole"))
        .await?;
    let (mut whole, mut of_talks) = (Vec::new(), Vec::new());
    for (id, is_whole) in tickets {
        let of = if is_whole { &mut whole } else { &mut of_talks };
        of.push(id);
    }
    tx.run_each(&TRIALS, &locked).await?;
    let mut counts = [0; 4];
    let all = [&HISTORY, &LOGS, &repairs::ERASE_OF_DEALS, &DEALS];
    for (sql, count) in all.into_iter().zip(&mut counts) {
        *count = tx.run_each(sql, &locked).await?;
    }
    tx.run_each(&REMOVE_TICKETS, &rows_of(workspace, &whole))
        .await?;
    let mut gone = Removal::default();
    gone.remove(Entity::Deals, &deals);
    gone.remove(Entity::Tickets, &whole);
    gone.change(Entity::Conversations, &conversations);
    gone.change(Entity::MessageErrors, &errors);
    gone.change(Entity::Tickets, &of_talks);
    let mut stamps: BTreeMap<Entity, Vec<_>> = BTreeMap::new();
    for row in tombstones::bury(tx, workspace, &gone).await? {
        let stamped = args! { id: row.id, cursor_us: row.stamp, updated_at: now };
        stamps.entry(row.entity).or_default().push(stamped);
    }
    for (entity, sql) in [
        (Entity::Conversations, &UNLINK_CONVERSATIONS),
        (Entity::MessageErrors, &UNLINK_ERRORS),
        (Entity::Tickets, &UNLINK_TICKETS),
    ] {
        if let Some(rows) = stamps.get(&entity) {
            tx.run_each(sql, rows).await?;
        }
    }
    let [deal_changes, deal_logs, repair_changes, deals] = counts;
    Ok(Erased {
        deals,
        deal_changes,
        deal_logs,
        repair_changes,
        tickets: u64::try_from(whole.len()).unwrap_or(u64::MAX),
        ..Erased::default()
    })
}

/// Locks the keys of the ids that these deals have, and erases those that they hold: see [`erased_key`].
/// Returns the keys.
async fn claims(
    tx: &mut Tx,
    wanted: &[[Arg<'static>; 2]],
) -> Result<HashMap<Uuid, String>, StoreError> {
    let named: Vec<(Uuid, Option<String>, Option<String>)> = tx
        .rows_each(&IDS, wanted, cells!("id", "connection_id", "external_id"))
        .await?;
    let named = named.into_iter().filter_map(|(deal, connection, id)| {
        Some((connection?, DedupeKey::from_id(&id?).key, deal))
    });
    let named: Vec<(String, String, Uuid)> = named.collect();
    let rows = named.iter().map(|(connection_id, key, _)| {
        args! { connection_id, key, erased_key: erased_key(key) }
    });
    let held: Vec<(String, String, Option<Uuid>)> = tx
        .rows_each(
            &LOCK_CLAIMS,
            &rows.collect::<Vec<_>>(),
            cells!("connection_id", "key", "deal_id"),
        )
        .await?;
    let held = held.iter().filter(|(connection, key, of)| {
        let mut named = named.iter();
        named.any(|(at, id, deal)| (at, id, Some(*deal)) == (connection, key, *of))
    });
    let held = held.filter_map(|(connection_id, key, _)| {
        Some(args! { connection_id, key, erased_key: erased_key(key)? })
    });
    let held: Vec<_> = held.collect();
    tx.run_each(&FORMER_CLAIMS, &held).await?;
    tx.run_each(&ERASED_CLAIMS, &held).await?;
    Ok(named
        .into_iter()
        .map(|(_, key, deal)| (deal, key))
        .collect())
}

/// Keeps hashes of the phones and addresses of removed leads that have an id, with the id: a repeat of such
/// a lead is recognised by one, and a lead of another person by having none.
async fn keep_persons(
    tx: &mut Tx,
    workspace_id: WorkspaceId,
    deals: &[(Uuid, Option<Value>)],
    ids: &HashMap<Uuid, String>,
) -> Result<(), StoreError> {
    let known = deals.iter().filter(|(deal, _)| ids.contains_key(deal));
    let known: Vec<Uuid> = known.map(|(deal, _)| *deal).collect();
    let of_contacts: Vec<(Uuid, String)> = tx
        .rows_each(&KEYS, &rows_of(workspace_id, &known), cells!("id", "key"))
        .await?;
    let mut rows = Vec::new();
    for (deal, said) in deals {
        let Some(id) = ids.get(deal) else { continue };
        let said = said.as_ref().map_or_else(Vec::new, contact::said_keys);
        let own = of_contacts.iter().filter(|(of, _)| of == deal);
        let keys = said.iter().chain(own.map(|(_, key)| key));
        let keys: BTreeSet<String> = keys.filter_map(|key| person_key(id, key)).collect();
        let keys = keys.into_iter().take(KEYS_KEPT);
        rows.extend(keys.map(|key| args! { workspace_id, id: *deal, key }));
    }
    tx.run_each(&PERSON_CLAIMS, &rows).await?;
    Ok(())
}

/// Returns the rows of `each (workspace_id uuid, id uuid)` for these ids of the workspace.
pub fn rows_of(workspace_id: WorkspaceId, ids: &[Uuid]) -> Vec<[Arg<'static>; 2]> {
    ids.iter().map(|&id| args! { workspace_id, id }).collect()
}
