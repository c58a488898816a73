//! What erasing a person would take with it, counted without doing it.

use sqlx::Connection as _;

use super::raw;
use crate::store::row::erase::erased;
use crate::store::sqlite::db::Db;
use crate::store::sqlite::json;
use crate::store::{Erased, Person, StoreError};

// Failures and the channels' ids of messages are found on two ways: by what was said
// with the person, and by how channels name it. Each counts once.
const COUNTS: &str = "
select
  (select count(*) from contacts where id = ?1) as contacts,
  (select count(*) from contact_keys where contact_id = ?1)
    + (select count(*) from shared_keys where contact_id = ?1) as contact_keys,
  (select count(*) from deals where person_id = ?1) as deals,
  (select count(*) from deals as d cross join deal_history as h on h.deal_id = d.id
    where d.person_id = ?1) as deal_changes,
  (select count(*) from deals as d cross join deal_logs as l on l.deal_id = d.id
    where d.person_id = ?1) as deal_logs,
  (select count(*) from conversations where contact_id = ?1) as conversations,
  (select count(*) from conversations as c cross join messages as m on m.conversation_id = c.id
    where c.contact_id = ?1) as messages,
  (select count(*) from (
    select e.id
    from conversations as c
    cross join message_errors as e on e.conversation_id = c.id
    where c.contact_id = ?1
    union
    select e.id
    from json_each(?3) as wanted
    cross join message_errors as e
      on e.workspace_id = ?2
      and e.recipient_id = wanted.value
      and e.message_id is null
    where e.recipient_id is not null) as found) as message_errors,
  (select count(*) from conversations as c cross join messages as m on m.conversation_id = c.id
    cross join sends as s on s.message_id = m.id
    where c.contact_id = ?1) as sends,
  (select count(*) from conversations as c cross join messages as m on m.conversation_id = c.id
    cross join idempotency as i on i.message_id = m.id
    where c.contact_id = ?1
    and (i.answer is null or i.answer ->> 'status' >= 400)) as idempotency_answers,
  (select count(*) from (
    select r.connection_id, r.external_id
    from conversations as c
    cross join messages as m on m.conversation_id = c.id
    cross join json_each(m.metadata, '$.externalIds') as wanted
    cross join connections as k on k.workspace_id = ?2
    cross join channel_refs as r
      on r.connection_id = k.id
      and r.external_id = wanted.value
      and r.message_id = m.id
    where c.contact_id = ?1
    union
    select r.connection_id, r.external_id
    from json_each(?3) as wanted
    cross join channel_refs as r
      on r.workspace_id = ?2
      and r.recipient_id = wanted.value
    where r.recipient_id is not null) as found) as channel_refs,
  (select count(*) from connections as k
    cross join holds as h on h.connection_id = k.id and h.contact_id = ?1
    where k.workspace_id = ?2) as holds,
  (select count(*) from tickets where contact_id = ?1) as tickets";

pub async fn count(db: &Db, person: &Person) -> Result<Erased, StoreError> {
    let mut connection = db.readers().acquire().await?;
    let mut snapshot = connection.begin().await?;
    let row = sqlx::query(COUNTS)
        .bind(person.id.to_string())
        .bind(person.workspace.to_string())
        .bind(json(&person.names())?)
        .fetch_one(&mut *snapshot)
        .await?;
    let mut counted = erased(&row)?;
    counted.add(&raw::count(&mut snapshot, person).await?);
    snapshot.rollback().await?;
    Ok(counted)
}

#[cfg(test)]
pub(super) const SQL: &[&str] = &[COUNTS];
