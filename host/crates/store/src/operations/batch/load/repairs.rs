//! Repairs that replays are part of, or that are undone, and what only they need to know of contacts.

use crate::decide::Talk;
use crate::operations::prelude::*;
use leadhost_domain::id::time_of;
use leadhost_domain::repair::RepairState;

statements! {
    // A change of the state waits until the batch has ended, so nothing is committed for a repair that
    // has ended.
    static STATES: Sql = sql("
each (id uuid)
select r.id, r.state, r.generation
from each
ordered join repairs as r
  on r.id = each.id
order by r.id
for share of r -- postgres
");

    static SHARED_KEYS: Sql = sql("
each (workspace_id uuid, key text, contact_id uuid)
select s.workspace_id, s.key, s.contact_id
from each
ordered join shared_keys as s
  on s.workspace_id = each.workspace_id
  and s.key = each.key
  and s.contact_id = each.contact_id");

    static HEIRS: Sql = sql("
each (workspace_id uuid, key text, contact_id uuid)
select each.workspace_id, (
  select s.contact_id from shared_keys as s
  where s.workspace_id = each.workspace_id
  and s.key = each.key
  and s.contact_id <> each.contact_id
  order by (
    select c.created_at
    from contacts as c
    where c.workspace_id = s.workspace_id
    and c.id = s.contact_id
  ), s.contact_id
  limit 1) as contact_id
from each");

    static SAID: Sql = sql("
each (workspace_id uuid, contact_id uuid)
select d.person_id, d.id, d.props -> 'contact' as said
from each
ordered join deals as d
  on d.person_id = each.contact_id
  and d.workspace_id = each.workspace_id                    -- postgres
  and (d.workspace_id = each.workspace_id) is true          -- sqlite
");

    static HELD: Sql = sql("
each (workspace_id uuid, contact_id uuid)
select k.workspace_id, k.contact_id, k.key, true as own
from each
ordered join contact_keys as k
  on k.contact_id = each.contact_id
  and (k.workspace_id = each.workspace_id) is true
union all
select s.workspace_id, s.contact_id, s.key, false
from each
ordered join shared_keys as s
  on s.contact_id = each.contact_id
  and (s.workspace_id = each.workspace_id) is true");

    static TALKS: Sql = sql("
each (workspace_id uuid, contact_id uuid)
select c.contact_id, c.id, c.deal_id, c.first_message_at, c.answered_at, c.messaged_at
from each
ordered join conversations as c
  on c.contact_id = each.contact_id
  and (c.workspace_id = each.workspace_id) is true");
}

/// Loads the states of these repairs, which stay as they are until the batch has ended.
pub async fn states(
    tx: &mut Tx,
    set: &mut WorkingSet,
    wanted: &BTreeSet<RepairId>,
) -> Result<(), StoreError> {
    let rows: Vec<_> = wanted.iter().map(|id| args! { id }).collect();
    let found: Vec<(RepairId, (RepairState, i64))> = tx
        .rows_each(&STATES, &rows, |row| {
            let state = row.get("state")?;
            Ok((row.get("id")?, (state, row.get("generation")?)))
        })
        .await?;
    set.repairs.extend(found);
    Ok(())
}

/// Loads which of these keys the loaded contacts share already. A key may have thousands of contacts,
/// such as the address of a portal, so only those of the batch are looked up.
pub async fn shared_keys(
    tx: &mut Tx,
    set: &mut WorkingSet,
    wanted: &BTreeSet<(WorkspaceId, String)>,
) -> Result<(), StoreError> {
    let mut rows = Vec::new();
    for entry in wanted {
        // A key without an owner is not shared.
        let Some(owner) = set.contact_keys.get(entry) else {
            continue;
        };
        let (workspace, key) = entry;
        let others = set.contacts.iter();
        let others = others.filter(|(id, one)| one.workspace == *workspace && *id != owner);
        for (contact, _) in others {
            rows.push(args! { workspace_id: *workspace, key, contact_id: *contact });
        }
    }
    let found: Vec<(WorkspaceId, String, ContactId)> = tx
        .rows_each(
            &SHARED_KEYS,
            &rows,
            cells!("workspace_id", "key", "contact_id"),
        )
        .await?;
    set.known_shared_keys.extend(found);
    Ok(())
}

/// Returns the first contacts that share these keys, each without the contact that is named.
pub async fn heirs(
    tx: &mut Tx,
    wanted: &BTreeSet<(WorkspaceId, String, ContactId)>,
) -> Result<BTreeSet<(WorkspaceId, ContactId)>, StoreError> {
    let rows: Vec<_> = wanted
        .iter()
        .map(|(workspace_id, key, contact_id)| args! { workspace_id, key, contact_id })
        .collect();
    let found: Vec<(WorkspaceId, Option<ContactId>)> = tx
        .rows_each(&HEIRS, &rows, cells!("workspace_id", "contact_id"))
        .await?;
    let found = found.into_iter();
    Ok(found
        .filter_map(|(workspace, id)| Some((workspace, id?)))
        .collect())
}

/// Loads what the leads of these contacts say of the person. A new lead needs the lock of its contact,
/// which this transaction holds, so none is missed.
pub async fn said(
    tx: &mut Tx,
    set: &mut WorkingSet,
    wanted: &BTreeSet<(WorkspaceId, ContactId)>,
) -> Result<(), StoreError> {
    let rows: Vec<_> = wanted.iter().map(|one| contact(*one)).collect();
    let found: Vec<(ContactId, (DealId, Value))> = tx
        .rows_each(&SAID, &rows, |row| {
            let said = row.get::<Option<_>>("said")?.unwrap_or_default();
            Ok((row.get("person_id")?, (row.get("id")?, said)))
        })
        .await?;
    for (contact, said) in found {
        set.said.entry(contact).or_default().push(said);
    }
    Ok(())
}

/// Loads the match keys of these contacts, and their conversations.
pub async fn held(
    tx: &mut Tx,
    set: &mut WorkingSet,
    wanted: &BTreeSet<(WorkspaceId, ContactId)>,
) -> Result<(), StoreError> {
    let rows: Vec<_> = wanted.iter().map(|one| contact(*one)).collect();
    let found: Vec<(WorkspaceId, ContactId, String, bool)> = tx
        .rows_each(
            &HELD,
            &rows,
            cells!("workspace_id", "contact_id", "key", "own"),
        )
        .await?;
    for (workspace, contact, key, is_own) in found {
        if is_own {
            set.contact_keys.insert((workspace, key.clone()), contact);
        }
        set.held_keys.entry(contact).or_default().push(key);
    }
    let found: Vec<(ContactId, Talk)> = tx
        .rows_each(&TALKS, &rows, |row| {
            Ok((row.get("contact_id")?, talk(row)?))
        })
        .await?;
    for (contact, talk) in found {
        set.talks.entry(contact).or_default().push(talk);
    }
    Ok(())
}

fn talk(row: &SqlRow<'_>) -> Result<Talk, StoreError> {
    let (conversation, deal): (ConversationId, Option<DealId>) =
        (row.get("id")?, row.get("deal_id")?);
    let (first, ours): (Option<Micros>, Option<Micros>) =
        (row.get("first_message_at")?, row.get("messaged_at")?);
    let is_older = deal.is_some_and(|deal| time_of(conversation.0) < time_of(deal.0));
    let asks = first.is_some_and(|first| ours.is_none_or(|ours| first < ours));
    Ok(Talk {
        conversation,
        deal,
        is_older,
        asks,
        answers: !is_older && !asks && row.get::<Option<Micros>>("answered_at")?.is_some(),
    })
}

fn contact((workspace_id, contact_id): (WorkspaceId, ContactId)) -> [Arg<'static>; 2] {
    args! { workspace_id, contact_id }
}
