//! What messaging touches: requests that partners named, channels' ids of
//! messages, conversations, messages with their sends, rows of the report.

use std::collections::{BTreeMap, BTreeSet};

use sqlx::Row as _;
use sqlx::postgres::{PgConnection, PgRow};
use uuid::Uuid;

use super::leads::asked;
use super::{Locked, SEND, desk, rows, two_columns};
use crate::domain::id::{
    ConnectionId, ContactId, ConversationId, DealId, MessageId, TicketId, WorkspaceId,
};
use crate::store::decide::{Known, Needs, Reference, ReferenceKey, Remembered};
use crate::store::postgres::columns::text;
use crate::store::row::{Columns as _, known};
use crate::store::{IdempotencyKey, StoreError};

/// A statement that finds rows, and the same that locks them in their order.
macro_rules! find_and_lock {
    ($find:ident, $lock:ident, $sql:literal, $order:literal) => {
        const $find: &str = $sql;
        const $lock: &str = concat!($sql, $order);
    };
}

/// What the batch leads to, found without a lock. What was not there then is not
/// looked for again: who makes it meanwhile is met when this batch saves its own.
#[derive(Default)]
pub struct Links {
    requests: BTreeSet<IdempotencyKey>,
    references: BTreeSet<ReferenceKey>,
    /// Also those that are not there.
    wanted: BTreeSet<(WorkspaceId, MessageId)>,
    messages: BTreeSet<(WorkspaceId, MessageId)>,
    pub sends: BTreeSet<MessageId>,
    conversations: BTreeSet<(WorkspaceId, ConversationId)>,
    pub contacts: BTreeSet<(WorkspaceId, ContactId)>,
    /// Those that are named.
    pub tickets: BTreeSet<(WorkspaceId, TicketId)>,
    /// The conversations of these.
    pub handed: BTreeSet<(WorkspaceId, ConversationId)>,
    /// The deals of those that have no conversation.
    pub deals: BTreeSet<(WorkspaceId, DealId)>,
}

pub async fn follow(connection: &mut PgConnection, needs: &Needs) -> Result<Links, StoreError> {
    let mut draft = Known::default();
    let requests = requests(connection, FIND_REQUESTS, &needs.idempotency).await?;
    let references = references(connection, FIND_REFERENCES, &needs.references).await?;
    let mut links = Links {
        requests: requests.iter().map(|(key, _)| key.clone()).collect(),
        references: references.iter().map(|(key, _)| key.clone()).collect(),
        ..Links::default()
    };
    draft.dialogue.idempotency.extend(requests);
    draft.dialogue.references.extend(references);
    links.wanted = needs.messages_of(&draft);
    messages(connection, &mut draft, FIND_MESSAGES, &links.wanted).await?;
    let found = &draft.dialogue.messages;
    let is_there = |(_, id): &&(WorkspaceId, MessageId)| found.contains_key(id);
    links.messages = links.wanted.iter().filter(is_there).copied().collect();
    sends(connection, &mut draft, &links.messages).await?;
    links.sends = draft.dialogue.sends.keys().copied().collect();
    links.tickets = desk::follow(connection, &mut draft, needs).await?;
    links.handed = needs.handed_of(&draft);
    links.deals = needs.handed_deals_of(&draft);
    links.conversations = needs.conversations_of(&draft);
    links.contacts = needs.contacts_of(&draft);
    Ok(links)
}

/// What has a name that somebody else gave to it, locked.
pub async fn names(
    connection: &mut PgConnection,
    known: &mut Known,
    locked: &mut Locked,
    links: &Links,
) -> Result<(), StoreError> {
    for (key, row) in requests(connection, LOCK_REQUESTS, &links.requests).await? {
        locked.requests.insert(key.clone());
        known.dialogue.idempotency.insert(key, row);
    }
    for (key, row) in references(connection, LOCK_REFERENCES, &links.references).await? {
        locked.references.insert(key.clone());
        known.dialogue.references.insert(key, row);
    }
    Ok(())
}

/// Conversations, their messages and what is reported of these, locked, once the
/// contacts are.
pub async fn talks(
    connection: &mut PgConnection,
    known: &mut Known,
    locked: &Locked,
    links: &Links,
    needs: &Needs,
) -> Result<(), StoreError> {
    conversations(connection, known, links, needs).await?;
    messages(connection, known, LOCK_MESSAGES, &links.messages).await?;
    let sending = links
        .messages
        .iter()
        .filter(|(_, id)| links.sends.contains(id));
    let sending: BTreeSet<_> = sending.copied().collect();
    sends(connection, known, &sending).await?;
    let is_locked = |id: &MessageId| locked.work.contains_key(&(id.0, SEND));
    let led_here = needs.messages_of(known).is_subset(&links.wanted)
        && needs
            .conversations_of(known)
            .is_subset(&links.conversations)
        && needs.contacts_of(known).is_subset(&links.contacts)
        && known.dialogue.sends.keys().all(is_locked);
    if !led_here {
        return Err(StoreError::Contended);
    }
    errors(connection, known, needs).await
}

find_and_lock!(
    FIND_REQUESTS,
    LOCK_REQUESTS,
    "
select wanted.at, i.fingerprint, i.message_id, i.answer, i.until_at
from unnest($1::uuid[], $2::text[], $3::text[]) with ordinality as wanted (partner_id, route, key, at)
join idempotency as i
  on i.partner_id = wanted.partner_id
  and i.route = wanted.route
  and i.key = wanted.key",
    "
order by i.partner_id, i.route, i.key
for update of i"
);

async fn requests(
    connection: &mut PgConnection,
    sql: &'static str,
    wanted: &BTreeSet<IdempotencyKey>,
) -> Result<Vec<(IdempotencyKey, Remembered)>, StoreError> {
    if wanted.is_empty() {
        return Ok(Vec::new());
    }
    let keys: Vec<&IdempotencyKey> = wanted.iter().collect();
    let partners: Vec<Uuid> = keys.iter().map(|key| key.partner.0).collect();
    let routes: Vec<_> = keys.iter().map(|key| text(&key.route)).collect();
    let named: Vec<_> = keys.iter().map(|key| text(&key.key)).collect();
    let rows = sqlx::query(sql)
        .bind(partners)
        .bind(routes)
        .bind(named)
        .fetch_all(connection)
        .await?;
    read(&keys, &rows, known::remembered)
}

find_and_lock!(
    FIND_REFERENCES,
    LOCK_REFERENCES,
    "
select wanted.at, r.workspace_id, r.message_id, r.progress, r.recipient_id, r.until_at
from unnest($1::text[], $2::text[]) with ordinality as wanted (connection_id, external_id, at)
join channel_refs as r
  on r.connection_id = wanted.connection_id
  and r.external_id = wanted.external_id",
    "
order by r.connection_id, r.external_id
for update of r"
);

async fn references(
    connection: &mut PgConnection,
    sql: &'static str,
    wanted: &BTreeSet<ReferenceKey>,
) -> Result<Vec<(ReferenceKey, Reference)>, StoreError> {
    if wanted.is_empty() {
        return Ok(Vec::new());
    }
    let keys: Vec<&ReferenceKey> = wanted.iter().collect();
    let connections: Vec<&str> = keys.iter().map(|(of, _)| of.as_str()).collect();
    let ids: Vec<_> = keys.iter().map(|(_, id)| text(id)).collect();
    let rows = sqlx::query(sql)
        .bind(connections)
        .bind(ids)
        .fetch_all(connection)
        .await?;
    read(&keys, &rows, known::reference)
}

/// Rows by the keys that they were asked by.
fn read<K: Clone, R>(
    asked_by: &[&K],
    rows: &[PgRow],
    row_of: impl Fn(&PgRow) -> Result<R, StoreError>,
) -> Result<Vec<(K, R)>, StoreError> {
    rows.iter()
        .map(|row| {
            let key: &K = asked(asked_by, row)?;
            Ok((key.clone(), row_of(row)?))
        })
        .collect()
}

find_and_lock!(
    FIND_MESSAGES,
    LOCK_MESSAGES,
    "
select m.id, m.workspace_id, m.conversation_id, m.contact_id, m.agent_id, m.created_at, m.actor,
  m.kind, m.content, m.metadata, m.delivered_at, m.read_at
from unnest($1::uuid[], $2::uuid[]) as wanted (workspace_id, id)
join messages as m
  on m.id = wanted.id
  and (m.workspace_id = wanted.workspace_id) is true",
    "
order by m.id
for update of m"
);

async fn messages(
    connection: &mut PgConnection,
    known: &mut Known,
    sql: &'static str,
    wanted: &BTreeSet<(WorkspaceId, MessageId)>,
) -> Result<(), StoreError> {
    for row in &rows(connection, sql, wanted).await? {
        let message = known::message(row)?;
        known.dialogue.messages.insert(row.id("id")?, message);
    }
    Ok(())
}

// Whoever has locked the queue's row has the send's.
const SENDS: &str = "
select s.workspace_id, s.message_id, s.conversation_id, s.contact_id, s.connection_id, s.recipient,
  s.payload::text as payload, q.status as state, s.attempts, q.due_at, s.until_at, q.lease,
  q.lease_until as lease_until_at
from unnest($1::uuid[], $2::uuid[]) as wanted (workspace_id, message_id)
cross join lateral (
  select *
  from sends
  where workspace_id = wanted.workspace_id
  and message_id = wanted.message_id
  offset 0
) as s
join queue as q
  on q.delivery_id = s.message_id
  and q.item = -2";

async fn sends(
    connection: &mut PgConnection,
    known: &mut Known,
    wanted: &BTreeSet<(WorkspaceId, MessageId)>,
) -> Result<(), StoreError> {
    for row in &rows(connection, SENDS, wanted).await? {
        let send = known::send(row)?;
        known.dialogue.sends.insert(row.id("message_id")?, send);
    }
    Ok(())
}

// A contact is locked before its open conversation is looked for, and whoever
// opens one has locked the contact: so there is none but the one that is found.
const CONVERSATIONS: &str = "
select c.id, c.workspace_id, c.contact_id, c.deal_id, c.agent_id, c.agent_type, c.source, c.channel,
  c.first_message_at, c.answered_at, c.last_message_at, c.no_response_at, c.transferred_at,
  c.appointment_at, c.closed_at, c.props, c.messaged_at, c.transfer, c.respond_by, c.close_by
from (
  select named.workspace_id, named.id
  from unnest($1::uuid[], $2::uuid[]) as named (workspace_id, id)
  union
  select talk.workspace_id, open.id
  from unnest($3::uuid[], $4::uuid[], $5::bigint[]) as talk (workspace_id, contact_id, agent_id)
  cross join lateral (
    select id
    from conversations
    where contact_id = talk.contact_id
    and agent_id = talk.agent_id
    and closed_at is null
    offset 0
  ) as open
  union
  select handled.workspace_id, open.id
  from unnest($6::uuid[], $7::uuid[]) as handled (workspace_id, deal_id)
  cross join lateral (
    select id
    from conversations
    where deal_id = handled.deal_id
    and closed_at is null
    offset 0
  ) as open
  union
  select trial.workspace_id, any_of.id
  from unnest($8::uuid[], $9::uuid[]) as trial (workspace_id, deal_id)
  cross join lateral (
    select id
    from conversations
    where deal_id = trial.deal_id
    offset 0
  ) as any_of
) as wanted
join conversations as c
  on c.id = wanted.id
  and (c.workspace_id = wanted.workspace_id) is true
order by c.id
for update of c";

async fn conversations(
    connection: &mut PgConnection,
    known: &mut Known,
    links: &Links,
    needs: &Needs,
) -> Result<(), StoreError> {
    let talks = needs.talks_of(known);
    let trials = needs.trials_of(known);
    let is_wanted = !links.conversations.is_empty()
        || !talks.is_empty()
        || !needs.deal_talks.is_empty()
        || !trials.is_empty();
    if !is_wanted {
        return Ok(());
    }
    let (trials_of, trials) = two_columns(&trials);
    let (deals_of, deals) = two_columns(&needs.deal_talks);
    let (workspaces, ids) = two_columns(&links.conversations);
    let talks_of: Vec<Uuid> = talks.iter().map(|(of, _, _)| of.0).collect();
    let contacts: Vec<Uuid> = talks.iter().map(|(_, contact, _)| contact.0).collect();
    let agents: Vec<i64> = talks.iter().map(|(_, _, agent)| agent.0).collect();
    let rows = sqlx::query(CONVERSATIONS)
        .bind(workspaces)
        .bind(ids)
        .bind(talks_of)
        .bind(contacts)
        .bind(agents)
        .bind(deals_of)
        .bind(deals)
        .bind(trials_of)
        .bind(trials)
        .fetch_all(connection)
        .await?;
    for row in &rows {
        let conversation = known::conversation(row)?;
        known
            .dialogue
            .know_conversation(row.id("id")?, conversation);
    }
    Ok(())
}

const ERRORS: &str = "
select e.id, e.workspace_id, e.conversation_id, e.deal_id, e.agent_id, e.message_id, e.external_id,
  e.recipient_id, e.code, e.title, e.description, e.details, e.template_name, e.channel,
  e.occurred_at
from unnest($1::uuid[], $2::uuid[]) as wanted (workspace_id, id)
join message_errors as e
  on e.id = wanted.id
  and (e.workspace_id = wanted.workspace_id) is true
order by e.id
for update of e";

async fn errors(
    connection: &mut PgConnection,
    known: &mut Known,
    needs: &Needs,
) -> Result<(), StoreError> {
    let wanted = needs.errors_of(known);
    for row in &rows(connection, ERRORS, &wanted).await? {
        let error = known::message_error(row)?;
        known.dialogue.errors.insert(row.id("id")?, error);
    }
    Ok(())
}

// What is only looked at: it may be another a moment later, as it may be when
// the message goes out.
const HOLDS: &str = "
select h.contact_id, h.connection_id, h.until_at
from unnest($1::text[], $2::uuid[]) as wanted (connection_id, contact_id)
cross join lateral (
  select *
  from holds
  where connection_id = wanted.connection_id
  and contact_id = wanted.contact_id
  offset 0
) as h";

/// What holds back messages to whom is talked to.
pub async fn holds(
    connection: &mut PgConnection,
    known: &mut Known,
    needs: &Needs,
) -> Result<(), StoreError> {
    let holds = needs.holds_of(known);
    if holds.is_empty() {
        return Ok(());
    }
    let held: BTreeMap<(&str, Uuid), &(ConnectionId, Option<ContactId>)> = holds
        .iter()
        .map(|hold| ((hold.0.as_str(), contact_of(hold.1)), hold))
        .collect();
    let (connections, contacts): (Vec<&str>, Vec<Uuid>) = held.keys().copied().unzip();
    let rows = sqlx::query(HOLDS)
        .bind(connections)
        .bind(contacts)
        .fetch_all(connection)
        .await?;
    for row in &rows {
        let contact: Uuid = row.try_get("contact_id")?;
        if let Some(hold) = held.get(&(row.try_get("connection_id")?, contact)) {
            let until = row.time("until_at")?;
            known.dialogue.holds.insert((*hold).clone(), until);
        }
    }
    Ok(())
}

/// As a hold names it: the whole number has the nil id.
pub fn contact_of(hold: Option<ContactId>) -> Uuid {
    hold.map_or(Uuid::nil(), |contact| contact.0)
}

pub const SQL: &[&str] = &[
    FIND_REQUESTS,
    LOCK_REQUESTS,
    FIND_REFERENCES,
    LOCK_REFERENCES,
    FIND_MESSAGES,
    LOCK_MESSAGES,
    SENDS,
    CONVERSATIONS,
    ERRORS,
    HOLDS,
];
