//! The rows that messaging touches: partners' idempotency keys, channels' ids of messages,
//! conversations, messages with their sends, message errors.

use super::links::Links;
use super::{
    desk,
    locked::{LockedRows, SEND, asked, ids},
};
use crate::IdempotencyKey;
use crate::decide::{
    ConversationRecord, IdempotencyRecord, MessageErrorRecord, MessageRecord, Reference,
    ReferenceKey, SendRecord,
};
use crate::operations::prelude::*;

macro_rules! requests {
    ($order:literal) => {
        sql(concat!(
            "
each (place number, partner_id uuid, route text, key text)
select each.place, i.fingerprint, i.message_id, i.answer, i.until_at
from each
ordered join idempotency as i
  on i.partner_id = each.partner_id
  and i.route = each.route
  and i.key = each.key",
            $order
        ))
    };
}

macro_rules! references {
    ($order:literal) => {
        sql(concat!(
            "
each (place number, connection_id text, external_id text)
select each.place, r.workspace_id, r.message_id, r.progress, r.recipient_id, r.until_at
from each
ordered join channel_refs as r
  on r.connection_id = each.connection_id
  and r.external_id = each.external_id",
            $order
        ))
    };
}

statements! {
    static FIND_REQUESTS: Sql = requests!("");
    static LOCK_REQUESTS: Sql = requests!("
order by i.partner_id, i.route, i.key -- postgres
for update of i -- postgres");

    static FIND_REFERENCES: Sql = references!("");
    static LOCK_REFERENCES: Sql = references!("
order by r.connection_id, r.external_id -- postgres
for update of r -- postgres");

    static FIND_MESSAGES: Sql = made(found_messages);

    static LOCK_MESSAGES: Sql = made(|| {
        let found = found_messages();
        format!(
            "{found}
order by m.id -- postgres
for update of m -- postgres"
        )
    });

    // The lock of the row in the queue covers the send.
    static SENDS: Sql = sql("
each (workspace_id uuid, id uuid)
select s.workspace_id, s.message_id, s.conversation_id, s.contact_id, s.connection_id, s.recipient,
  s.payload::text as payload, q.status as state, s.attempts, q.due_at, s.until_at, q.lease,
  q.lease_until_at
from each
fenced join sends as s
  on s.workspace_id = each.workspace_id
  and s.message_id = each.id
fenced join queue as q
  on q.delivery_id = s.message_id
  and q.item = -2");

    // A contact is locked before its open conversation is looked up, and every host that opens one
    // locks the contact first, so the one found is the only one. One statement returns all wanted
    // conversations, so that they are locked in one order.
    static CONVERSATIONS: Sql = reading!(CONVERSATIONS as "c", "
each (workspace_id uuid, id uuid, contact_id uuid, agent_id number, deal_id uuid, closed_too truth)
select {columns}
from (
  select workspace_id, id
  from each
  where id is not null
  union
  select each.workspace_id, open.id
  from each
  fenced join conversations as open
    on open.contact_id = each.contact_id
    and (each.agent_id is null
      or open.agent_id = each.agent_id)
    and open.closed_at is null
  union
  select each.workspace_id, about.id
  from each
  fenced join conversations as about
    on about.deal_id = each.deal_id
    and (each.closed_too or about.closed_at is null)
) as wanted
ordered join conversations as c
  on c.id = wanted.id
  and (c.workspace_id = wanted.workspace_id) is true
order by c.id -- postgres
for update of c -- postgres
");

    static ERRORS: Sql = reading!(MESSAGE_ERRORS as "e", "
each (workspace_id uuid, id uuid)
select {columns}
from each
ordered join message_errors as e
  on e.id = each.id
  and (e.workspace_id = each.workspace_id) is true
order by e.id -- postgres
for update of e -- postgres
");

    // Read without a lock: a hold may change a moment later, and also by the time the message is sent.
    static HOLDS: Sql = sql("
each (place number, connection_id text, contact_id uuid)
select each.place, h.until_at
from each
fenced join holds as h
  on h.connection_id = each.connection_id
  and h.contact_id = each.contact_id
");
}

/// Finds the messages, sends, tickets, conversations and contacts that the batch leads to,
/// without a lock.
pub async fn follow(tx: &mut Tx, read_set: &ReadSet) -> Result<Links, StoreError> {
    let mut draft = WorkingSet::default();
    let requests = requests(tx, &FIND_REQUESTS, &read_set.idempotency).await?;
    let references = references(tx, &FIND_REFERENCES, &read_set.references).await?;
    let mut links = Links {
        requests: requests.iter().map(|(key, _)| key.clone()).collect(),
        references: references.iter().map(|(key, _)| key.clone()).collect(),
        ..Links::default()
    };
    draft.dialogue.idempotency.extend(requests);
    draft.dialogue.references.extend(references);
    links.wanted = read_set.messages_of(&draft);
    messages(tx, &mut draft, &FIND_MESSAGES, &links.wanted).await?;
    let found = &draft.dialogue.messages;
    let is_there = |(_, id): &&(WorkspaceId, MessageId)| found.contains_key(id);
    links.messages = links.wanted.iter().filter(is_there).copied().collect();
    sends(tx, &mut draft, &links.messages).await?;
    links.sends = draft.dialogue.sends.keys().copied().collect();
    links.tickets = desk::follow(tx, &mut draft, read_set).await?;
    links.handed = read_set.handed_of(&draft);
    links.deals = read_set.handed_deals_of(&draft);
    links.conversations = read_set.conversations_of(&draft);
    links.contacts = read_set.contacts_of(&draft);
    Ok(links)
}

/// Locks rows whose keys come from outside: idempotency keys and channels' ids of messages.
pub async fn names(
    tx: &mut Tx,
    set: &mut WorkingSet,
    locked: &mut LockedRows,
    links: &Links,
) -> Result<(), StoreError> {
    for (key, row) in requests(tx, &LOCK_REQUESTS, &links.requests).await? {
        locked.requests.insert(key.clone());
        set.dialogue.idempotency.insert(key, row);
    }
    for (key, row) in references(tx, &LOCK_REFERENCES, &links.references).await? {
        locked.references.insert(key.clone());
        set.dialogue.references.insert(key, row);
    }
    Ok(())
}

/// Locks conversations, their messages and the reported errors of these. The contacts are locked
/// already.
/// Fails with [`StoreError::Contended`] if the locked rows lead to rows that are not locked.
pub async fn lock_conversations(
    tx: &mut Tx,
    set: &mut WorkingSet,
    locked: &LockedRows,
    links: &Links,
    read_set: &ReadSet,
) -> Result<(), StoreError> {
    conversations(tx, set, links, read_set).await?;
    messages(tx, set, &LOCK_MESSAGES, &links.messages).await?;
    let sending = links
        .messages
        .iter()
        .filter(|(_, id)| links.sends.contains(id));
    let sending: BTreeSet<_> = sending.copied().collect();
    sends(tx, set, &sending).await?;
    let is_locked = |id: &MessageId| locked.work.contains_key(&(id.0, SEND));
    let led_here = read_set.messages_of(set).is_subset(&links.wanted)
        && read_set
            .conversations_of(set)
            .is_subset(&links.conversations)
        && read_set.contacts_of(set).is_subset(&links.contacts)
        && set.dialogue.sends.keys().all(is_locked);
    if !led_here {
        return Err(StoreError::Contended);
    }
    errors(tx, set, read_set).await
}

async fn requests(
    tx: &mut Tx,
    sql: &'static Sql,
    wanted: &BTreeSet<IdempotencyKey>,
) -> Result<Vec<(IdempotencyKey, IdempotencyRecord)>, StoreError> {
    let keys: Vec<&IdempotencyKey> = wanted.iter().collect();
    let rows: Vec<_> = keys
        .iter()
        .zip(0_u32..)
        .map(|(of, place)| args! { place, partner_id: of.partner, route: &of.route, key: &of.key })
        .collect();
    tx.rows_each(sql, &rows, |row| {
        Ok((
            asked(&keys, row)?.clone(),
            IdempotencyRecord::from_row(row)?,
        ))
    })
    .await
}

async fn references(
    tx: &mut Tx,
    sql: &'static Sql,
    wanted: &BTreeSet<ReferenceKey>,
) -> Result<Vec<(ReferenceKey, Reference)>, StoreError> {
    let keys: Vec<&ReferenceKey> = wanted.iter().collect();
    let rows: Vec<_> = keys
        .iter()
        .zip(0_u32..)
        .map(|((connection, external_id), place)| {
            args! { place, connection_id: connection, external_id }
        })
        .collect();
    tx.rows_each(sql, &rows, |row| {
        Ok((asked(&keys, row)?.clone(), Reference::from_row(row)?))
    })
    .await
}

fn found_messages() -> String {
    let columns = schema::MESSAGES.read("m", &[]);
    format!(
        "
each (workspace_id uuid, id uuid)
select {columns}
from each
ordered join messages as m
  on m.id = each.id
  and (m.workspace_id = each.workspace_id) is true"
    )
}

async fn messages(
    tx: &mut Tx,
    set: &mut WorkingSet,
    sql: &'static Sql,
    wanted: &BTreeSet<(WorkspaceId, MessageId)>,
) -> Result<(), StoreError> {
    let found: Vec<(MessageId, MessageRecord)> = tx.rows_each(sql, &ids(wanted), with_id).await?;
    set.dialogue.messages.extend(found);
    Ok(())
}

async fn sends(
    tx: &mut Tx,
    set: &mut WorkingSet,
    wanted: &BTreeSet<(WorkspaceId, MessageId)>,
) -> Result<(), StoreError> {
    let found: Vec<(MessageId, SendRecord)> = tx
        .rows_each(&SENDS, &ids(wanted), |row| {
            Ok((row.get("message_id")?, SendRecord::from_row(row)?))
        })
        .await?;
    set.dialogue.sends.extend(found);
    Ok(())
}

enum ConversationLookup {
    Id(ConversationId),
    /// The open conversation of a contact with an agent.
    Talk(ContactId, AgentId),
    /// The open conversations of a contact.
    Contact(ContactId),
    /// The open conversations about a deal.
    Deal(DealId),
    /// All conversations about a deal, including closed ones.
    AllOfDeal(DealId),
}

impl ConversationLookup {
    fn row(self, workspace_id: WorkspaceId) -> [Arg<'static>; 6] {
        let (mut id, mut contact_id, mut agent_id, mut deal_id) = (None, None, None, None);
        let mut closed_too = false;
        match self {
            Self::Id(of) => id = Some(of),
            Self::Talk(contact, agent) => {
                contact_id = Some(contact);
                agent_id = Some(agent);
            }
            Self::Contact(of) => contact_id = Some(of),
            Self::Deal(of) => deal_id = Some(of),
            Self::AllOfDeal(of) => {
                deal_id = Some(of);
                closed_too = true;
            }
        }
        args! { workspace_id, id, contact_id, agent_id, deal_id, closed_too }
    }
}

async fn conversations(
    tx: &mut Tx,
    set: &mut WorkingSet,
    links: &Links,
    read_set: &ReadSet,
) -> Result<(), StoreError> {
    let mut wanted = Vec::new();
    for (workspace, id) in &links.conversations {
        wanted.push(ConversationLookup::Id(*id).row(*workspace));
    }
    for (workspace, contact, agent) in read_set.contact_conversations_of(set) {
        wanted.push(ConversationLookup::Talk(contact, agent).row(workspace));
    }
    for (workspace, contact) in read_set.talking_contacts_of(set) {
        wanted.push(ConversationLookup::Contact(contact).row(workspace));
    }
    for (workspace, deal) in &read_set.deal_conversations {
        wanted.push(ConversationLookup::Deal(*deal).row(*workspace));
    }
    for (workspace, deal) in read_set.wholly_of(set) {
        wanted.push(ConversationLookup::AllOfDeal(deal).row(workspace));
    }
    let found: Vec<(ConversationId, ConversationRecord)> =
        tx.rows_each(&CONVERSATIONS, &wanted, with_id).await?;
    for (id, conversation) in found {
        set.dialogue.know_conversation(id, conversation);
    }
    Ok(())
}

async fn errors(tx: &mut Tx, set: &mut WorkingSet, read_set: &ReadSet) -> Result<(), StoreError> {
    let wanted = read_set.errors_of(set);
    let found: Vec<(MessageErrorId, MessageErrorRecord)> =
        tx.rows_each(&ERRORS, &ids(&wanted), with_id).await?;
    set.dialogue.errors.extend(found);
    Ok(())
}

pub async fn holds(
    tx: &mut Tx,
    set: &mut WorkingSet,
    read_set: &ReadSet,
) -> Result<(), StoreError> {
    let wanted = read_set.holds_of(set);
    let holds: Vec<&(ConnectionId, Option<ContactId>)> = wanted.iter().collect();
    let rows: Vec<_> = holds
        .iter()
        .zip(0_u32..)
        .map(|((connection, contact), place)| {
            args! { place, connection_id: connection, contact_id: contact_of(*contact) }
        })
        .collect();
    let found: Vec<((ConnectionId, Option<ContactId>), Micros)> = tx
        .rows_each(&HOLDS, &rows, |row| {
            Ok((asked(&holds, row)?.clone(), row.get("until_at")?))
        })
        .await?;
    set.dialogue.holds.extend(found);
    Ok(())
}

/// Returns the contact id that stands for a hold in the store. A hold of the whole number has the
/// nil id.
pub fn contact_of(hold: Option<ContactId>) -> Uuid {
    hold.map_or(Uuid::nil(), |contact| contact.0)
}
