//! What was said with a person: messages with what hangs on them, failures,
//! conversations, tickets.

use sqlx::Row as _;
use sqlx::sqlite::SqliteRow;
use uuid::Uuid;

use super::Work;
use crate::domain::row::Entity;
use crate::limits;
use crate::store::erase::ERASED_ANSWER;
use crate::store::gone::Gone;
use crate::store::sqlite::json;
use crate::store::sqlite::remove::{ids, texts};
use crate::store::{Erased, StoreError};

const MESSAGES: &str = "
select m.id, m.metadata -> 'externalIds' as external_ids
from conversations as c
cross join messages as m on m.conversation_id = c.id
where c.contact_id = ?1
limit ?2";

const SENDS: &str = "
delete from sends
where message_id in (select value from json_each(?1))";

// What a partner heard of a message that went out are ids; a refusal is in the
// provider's words, which may name the person.
const ANSWERS: &str = "
update idempotency
set message_id = null, answer = ?2
where message_id in (select value from json_each(?1))
and (answer is null or answer ->> 'status' >= 400)";

const REFERENCES: &str = "
delete from channel_refs
where (connection_id, external_id) in (
  select c.id, wanted.value
  from connections as c
  cross join json_each(?3) as wanted
  where c.workspace_id = ?1)
and message_id in (select value from json_each(?2))";

const REMOVE_MESSAGES: &str = "
delete from messages
where id in (select value from json_each(?1))";

pub async fn messages(work: &mut Work<'_>) -> Result<Option<Erased>, StoreError> {
    let found = sqlx::query(MESSAGES)
        .bind(work.contact())
        .bind(i64::from(limits::ERASED_AT_ONCE))
        .fetch_all(&mut *work.connection)
        .await?;
    if found.is_empty() {
        return Ok(None);
    }
    let (messages, list) = (ids(&found)?, json(&texts(&found)?)?);
    let external_ids = json(&external_ids(&found)?)?;
    let sends = work.run(sqlx::query(SENDS).bind(&list)).await?;
    let answers = sqlx::query(ANSWERS).bind(&list).bind(ERASED_ANSWER);
    let idempotency_answers = work.run(answers).await?;
    let references = sqlx::query(REFERENCES)
        .bind(work.workspace())
        .bind(&list)
        .bind(external_ids);
    let channel_refs = work.run(references).await?;
    work.run(sqlx::query(REMOVE_MESSAGES).bind(&list)).await?;
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

/// The channels' ids of these messages.
fn external_ids(messages: &[SqliteRow]) -> Result<Vec<String>, StoreError> {
    let mut all = Vec::new();
    for row in messages {
        let text: Option<String> = row.try_get("external_ids")?;
        let of_one = text.and_then(|text| serde_json::from_str::<Vec<String>>(&text).ok());
        all.extend(of_one.into_iter().flatten());
    }
    Ok(all)
}

const ERRORS: &str = "
select e.id
from conversations as c
cross join message_errors as e on e.conversation_id = c.id
where c.contact_id = ?1
limit ?2";

// Of messages that nobody knows: another system sent them.
const STRAY_ERRORS: &str = "
select e.id
from json_each(?2) as wanted
cross join message_errors as e
  on e.workspace_id = ?1
  and e.recipient_id = wanted.value
  and e.message_id is null
where e.recipient_id is not null
limit ?3";

const REMOVE_ERRORS: &str = "
delete from message_errors
where id in (select value from json_each(?1))";

const STRAY_REFERENCES: &str = "
delete from channel_refs
where (connection_id, external_id) in (
  select r.connection_id, r.external_id
  from json_each(?2) as wanted
  cross join channel_refs as r
    on r.workspace_id = ?1
    and r.recipient_id = wanted.value
  where r.recipient_id is not null
  limit ?3)";

pub async fn errors(work: &mut Work<'_>) -> Result<Option<Erased>, StoreError> {
    let limit = i64::from(limits::ERASED_AT_ONCE);
    let names = json(&work.person.names())?;
    let mut found = sqlx::query(ERRORS)
        .bind(work.contact())
        .bind(limit)
        .fetch_all(&mut *work.connection)
        .await?;
    if found.is_empty() {
        found = sqlx::query(STRAY_ERRORS)
            .bind(work.workspace())
            .bind(&names)
            .bind(limit)
            .fetch_all(&mut *work.connection)
            .await?;
    }
    let references = sqlx::query(STRAY_REFERENCES)
        .bind(work.workspace())
        .bind(&names)
        .bind(limit);
    let channel_refs = work.run(references).await?;
    if found.is_empty() && channel_refs == 0 {
        return Ok(None);
    }
    let errors = ids(&found)?;
    let list = json(&texts(&found)?)?;
    work.run(sqlx::query(REMOVE_ERRORS).bind(list)).await?;
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
where contact_id = ?1
limit ?2";

const TICKETS_OF: &str = "
select id
from tickets
where contact_id = ?1
and conversation_id in (select value from json_each(?2))";

const REMOVE_TICKETS: &str = "
delete from tickets
where id in (select value from json_each(?1))";

const REMOVE_CONVERSATIONS: &str = "
delete from conversations
where id in (select value from json_each(?1))";

/// Their messages and failures are gone.
pub async fn conversations(work: &mut Work<'_>) -> Result<Option<Erased>, StoreError> {
    let found = sqlx::query(CONVERSATIONS)
        .bind(work.contact())
        .bind(i64::from(limits::ERASED_WHOLE_AT_ONCE))
        .fetch_all(&mut *work.connection)
        .await?;
    if found.is_empty() {
        return Ok(None);
    }
    let (conversations, list) = (ids(&found)?, json(&texts(&found)?)?);
    let of_them = sqlx::query(TICKETS_OF)
        .bind(work.contact())
        .bind(&list)
        .fetch_all(&mut *work.connection)
        .await?;
    let tickets = ids(&of_them)?;
    let of_them = json(&texts(&of_them)?)?;
    work.run(sqlx::query(REMOVE_TICKETS).bind(of_them)).await?;
    work.run(sqlx::query(REMOVE_CONVERSATIONS).bind(list))
        .await?;
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
where contact_id = ?1
limit ?2";

/// Those that are left.
pub async fn tickets(work: &mut Work<'_>) -> Result<Option<Erased>, StoreError> {
    let found = sqlx::query(TICKETS)
        .bind(work.contact())
        .bind(i64::from(limits::ERASED_AT_ONCE))
        .fetch_all(&mut *work.connection)
        .await?;
    if found.is_empty() {
        return Ok(None);
    }
    let tickets = ids(&found)?;
    let list = json(&texts(&found)?)?;
    work.run(sqlx::query(REMOVE_TICKETS).bind(list)).await?;
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

#[cfg(test)]
pub(super) const SQL: &[&str] = &[
    MESSAGES,
    SENDS,
    ANSWERS,
    REFERENCES,
    REMOVE_MESSAGES,
    ERRORS,
    STRAY_ERRORS,
    REMOVE_ERRORS,
    STRAY_REFERENCES,
    CONVERSATIONS,
    TICKETS_OF,
    REMOVE_TICKETS,
    REMOVE_CONVERSATIONS,
    TICKETS,
];
