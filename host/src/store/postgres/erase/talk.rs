//! What was said with a person: messages with what hangs on them, failures,
//! conversations, tickets.

use std::collections::BTreeSet;

use sqlx::Row as _;
use sqlx::postgres::PgRow;
use uuid::Uuid;

use super::{Work, ids};
use crate::domain::row::Entity;
use crate::limits;
use crate::store::erase::ERASED_ANSWER;
use crate::store::gone::Gone;
use crate::store::{Erased, StoreError};

const MESSAGES: &str = "
select m.id, m.metadata -> 'externalIds' as external_ids
from conversations as c
join messages as m on m.conversation_id = c.id
where c.contact_id = $2
and (c.workspace_id = $1) is true
limit $3";

const LOCK_WORK: &str = "
select delivery_id
from queue
where delivery_id = any ($2)
and (workspace_id = $1) is true
order by delivery_id, item
for update";

const LOCK_REQUESTS: &str = "
select message_id
from idempotency
where message_id = any ($2)
and message_id is not null
and (workspace_id = $1) is true
order by partner_id, route, key
for update";

const LOCK_REFERENCES: &str = "
select r.connection_id, r.external_id
from connections as c
cross join unnest($3::text[]) as wanted (external_id)
join channel_refs as r
  on r.connection_id = c.id
  and r.external_id = wanted.external_id
where c.workspace_id = $1
and r.message_id = any ($2)
order by r.connection_id, r.external_id
for update of r";

const LOCK_MESSAGES: &str = "
select id, metadata -> 'externalIds' as external_ids
from messages
where id = any ($2)
and (workspace_id = $1) is true
order by id
for update";

const SENDS: &str = "
delete from sends
where workspace_id = $1
and message_id = any ($2)";

const WORK: &str = "
delete from queue
where delivery_id = any ($2)
and item = -2
and (workspace_id = $1) is true";

// What a partner heard of a message that went out are ids; a refusal is in the
// provider's words, which may name the person.
const ANSWERS: &str = "
update idempotency
set message_id = null, answer = $3::json
where message_id = any ($2)
and message_id is not null
and (workspace_id = $1) is true
and (answer is null or (answer ->> 'status')::int >= 400)";

const REFERENCES: &str = "
delete from channel_refs as r
using unnest($1::text[], $2::text[]) as gone (connection_id, external_id)
where r.connection_id = gone.connection_id
and r.external_id = gone.external_id";

const REMOVE_MESSAGES: &str = "
delete from messages
where id = any ($2)
and (workspace_id = $1) is true";

pub async fn messages(work: &mut Work<'_>) -> Result<Option<Erased>, StoreError> {
    let found = work.of_contact(MESSAGES, limits::ERASED_AT_ONCE).await?;
    if found.is_empty() {
        return Ok(None);
    }
    let (wanted, names) = (ids(&found)?, external_ids(&found)?);
    work.of_ids(LOCK_WORK, &wanted).await?;
    work.of_ids(LOCK_REQUESTS, &wanted).await?;
    let references = sqlx::query(LOCK_REFERENCES)
        .bind(work.person.workspace.0)
        .bind(&wanted)
        .bind(names.iter().collect::<Vec<_>>())
        .fetch_all(&mut *work.connection)
        .await?;
    let locked = work.of_ids(LOCK_MESSAGES, &wanted).await?;
    if !external_ids(&locked)?.is_subset(&names) {
        // A channel gave one of them another id in between.
        return Err(StoreError::Contended);
    }
    let messages = ids(&locked)?;
    let sends = work.remove(SENDS, &messages).await?;
    work.remove(WORK, &messages).await?;
    let answers = sqlx::query(ANSWERS)
        .bind(work.person.workspace.0)
        .bind(&messages)
        .bind(ERASED_ANSWER);
    let idempotency_answers = work.run(answers).await?;
    let channel_refs = remove_references(work, &references).await?;
    work.remove(REMOVE_MESSAGES, &messages).await?;
    let mut gone = Gone::default();
    gone.remove(Entity::Messages, &messages);
    work.bury(&gone).await?;
    Ok(Some(Erased {
        messages: count(&messages),
        sends,
        idempotency_answers,
        channel_refs,
        ..Erased::default()
    }))
}

async fn remove_references(work: &mut Work<'_>, locked: &[PgRow]) -> Result<u64, StoreError> {
    let column = |at: usize| -> Result<Vec<String>, sqlx::Error> {
        locked.iter().map(|row| row.try_get(at)).collect()
    };
    let query = sqlx::query(REFERENCES).bind(column(0)?).bind(column(1)?);
    work.run(query).await
}

/// The channels' ids of these messages.
fn external_ids(messages: &[PgRow]) -> Result<BTreeSet<String>, StoreError> {
    let mut all = BTreeSet::new();
    for row in messages {
        let ids: Option<sqlx::types::Json<Vec<String>>> = row.try_get("external_ids")?;
        all.extend(ids.into_iter().flat_map(|ids| ids.0));
    }
    Ok(all)
}

const ERRORS: &str = "
select e.id
from conversations as c
join message_errors as e on e.conversation_id = c.id
where c.contact_id = $2
and (c.workspace_id = $1) is true
limit $3";

// Of messages that nobody knows: another system sent them.
const STRAY_ERRORS: &str = "
select id
from message_errors
where recipient_id = any ($2)
and recipient_id is not null
and message_id is null
and (workspace_id = $1) is true
limit $3";

const LOCK_ERRORS: &str = "
select id
from message_errors
where id = any ($2)
and (workspace_id = $1) is true
order by id
for update";

const REMOVE_ERRORS: &str = "
delete from message_errors
where id = any ($2)
and (workspace_id = $1) is true";

const STRAY_REFERENCES: &str = "
select connection_id, external_id
from channel_refs
where recipient_id = any ($2)
and recipient_id is not null
and (workspace_id = $1) is true
order by connection_id, external_id
limit $3
for update";

pub async fn errors(work: &mut Work<'_>) -> Result<Option<Erased>, StoreError> {
    let limit = i64::from(limits::ERASED_AT_ONCE);
    let (workspace, names) = (work.person.workspace.0, work.person.names());
    let mut found = work.of_contact(ERRORS, limits::ERASED_AT_ONCE).await?;
    if found.is_empty() {
        found = sqlx::query(STRAY_ERRORS)
            .bind(workspace)
            .bind(&names)
            .bind(limit)
            .fetch_all(&mut *work.connection)
            .await?;
    }
    let references = sqlx::query(STRAY_REFERENCES)
        .bind(workspace)
        .bind(&names)
        .bind(limit)
        .fetch_all(&mut *work.connection)
        .await?;
    if found.is_empty() && references.is_empty() {
        return Ok(None);
    }
    let locked = work.of_ids(LOCK_ERRORS, &ids(&found)?).await?;
    let errors = ids(&locked)?;
    let channel_refs = remove_references(work, &references).await?;
    work.remove(REMOVE_ERRORS, &errors).await?;
    let mut gone = Gone::default();
    gone.remove(Entity::MessageErrors, &errors);
    work.bury(&gone).await?;
    Ok(Some(Erased {
        message_errors: count(&errors),
        channel_refs,
        ..Erased::default()
    }))
}

const CONVERSATIONS: &str = "
select id
from conversations
where contact_id = $2
and (workspace_id = $1) is true
limit $3";

const LOCK_CONVERSATIONS: &str = "
select id
from conversations
where id = any ($2)
and (workspace_id = $1) is true
order by id
for update";

// Whoever adds to a conversation has locked it: what is found now is all.
const FILLED: &str = "
select wanted.id
from unnest($2::uuid[]) as wanted (id)
where $1::uuid is not null
and (exists (select 1 from messages where conversation_id = wanted.id)
  or exists (select 1 from message_errors where conversation_id = wanted.id))";

const LOCK_TICKETS_OF: &str = "
select id
from tickets
where contact_id = $2
and conversation_id = any ($3)
and (workspace_id = $1) is true
order by id
for update";

const REMOVE_TICKETS: &str = "
delete from tickets
where id = any ($2)
and (workspace_id = $1) is true";

const REMOVE_CONVERSATIONS: &str = "
delete from conversations
where id = any ($2)
and (workspace_id = $1) is true";

/// Their messages and failures are gone; where some came since they stay for now.
pub async fn conversations(work: &mut Work<'_>) -> Result<Option<Erased>, StoreError> {
    let most = limits::ERASED_WHOLE_AT_ONCE;
    let found = work.of_contact(CONVERSATIONS, most).await?;
    if found.is_empty() {
        return Ok(None);
    }
    let locked = work.of_ids(LOCK_CONVERSATIONS, &ids(&found)?).await?;
    let locked = ids(&locked)?;
    let filled = work.of_ids(FILLED, &locked).await?;
    let filled = ids(&filled)?;
    let is_empty = |id: &Uuid| !filled.contains(id);
    let conversations: Vec<Uuid> = locked.into_iter().filter(is_empty).collect();
    let tickets = sqlx::query(LOCK_TICKETS_OF)
        .bind(work.person.workspace.0)
        .bind(work.person.id.0)
        .bind(&conversations)
        .fetch_all(&mut *work.connection)
        .await?;
    let tickets = ids(&tickets)?;
    work.remove(REMOVE_TICKETS, &tickets).await?;
    work.remove(REMOVE_CONVERSATIONS, &conversations).await?;
    let mut gone = Gone::default();
    gone.remove(Entity::Tickets, &tickets);
    gone.remove(Entity::Conversations, &conversations);
    work.bury(&gone).await?;
    Ok(Some(Erased {
        conversations: count(&conversations),
        tickets: count(&tickets),
        ..Erased::default()
    }))
}

const TICKETS: &str = "
select id
from tickets
where contact_id = $2
and (workspace_id = $1) is true
limit $3";

const LOCK_TICKETS: &str = "
select id
from tickets
where id = any ($2)
and (workspace_id = $1) is true
order by id
for update";

/// Those that are left.
pub async fn tickets(work: &mut Work<'_>) -> Result<Option<Erased>, StoreError> {
    let found = work.of_contact(TICKETS, limits::ERASED_AT_ONCE).await?;
    if found.is_empty() {
        return Ok(None);
    }
    let locked = work.of_ids(LOCK_TICKETS, &ids(&found)?).await?;
    let tickets = ids(&locked)?;
    work.remove(REMOVE_TICKETS, &tickets).await?;
    let mut gone = Gone::default();
    gone.remove(Entity::Tickets, &tickets);
    work.bury(&gone).await?;
    Ok(Some(Erased {
        tickets: count(&tickets),
        ..Erased::default()
    }))
}

fn count(ids: &[Uuid]) -> u64 {
    u64::try_from(ids.len()).unwrap_or(u64::MAX)
}

pub(super) const SQL: &[&str] = &[
    MESSAGES,
    LOCK_WORK,
    LOCK_REQUESTS,
    LOCK_REFERENCES,
    LOCK_MESSAGES,
    SENDS,
    WORK,
    ANSWERS,
    REFERENCES,
    REMOVE_MESSAGES,
    ERRORS,
    STRAY_ERRORS,
    LOCK_ERRORS,
    REMOVE_ERRORS,
    STRAY_REFERENCES,
    CONVERSATIONS,
    LOCK_CONVERSATIONS,
    FILLED,
    LOCK_TICKETS_OF,
    REMOVE_TICKETS,
    REMOVE_CONVERSATIONS,
    TICKETS,
    LOCK_TICKETS,
];
