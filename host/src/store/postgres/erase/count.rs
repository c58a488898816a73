//! What erasing a person would take with it, counted without doing it.

use super::raw;
use crate::store::postgres::db::{Db, Rows};
use crate::store::row::erase::erased;
use crate::store::{Erased, Person, StoreError};

// Failures and the channels' ids of messages are found on two ways: by what was said
// with the person, and by how channels name it. Each counts once.
const COUNTS: &str = "
select
  (select count(*) from contacts where workspace_id = $1 and id = $2) as contacts,
  (select count(*) from contact_keys where contact_id = $2)
    + (select count(*) from shared_keys where contact_id = $2) as contact_keys,
  (select count(*) from deals where workspace_id = $1 and person_id = $2) as deals,
  (select count(*) from deals as d join deal_history as h on h.deal_id = d.id
    where d.workspace_id = $1 and d.person_id = $2) as deal_changes,
  (select count(*) from deals as d join deal_logs as l on l.deal_id = d.id
    where d.workspace_id = $1 and d.person_id = $2) as deal_logs,
  (select count(*) from conversations where contact_id = $2) as conversations,
  (select count(*) from conversations as c join messages as m on m.conversation_id = c.id
    where c.contact_id = $2) as messages,
  (select count(*) from (
    select e.id
    from conversations as c
    join message_errors as e on e.conversation_id = c.id
    where c.contact_id = $2
    union
    select id
    from message_errors
    where recipient_id = any ($3)
    and recipient_id is not null
    and message_id is null
    and (workspace_id = $1) is true
  ) as found) as message_errors,
  (select count(*) from conversations as c
    join messages as m on m.conversation_id = c.id
    cross join lateral (
      select 1 from sends where workspace_id = $1 and message_id = m.id offset 0
    ) as s
    where c.contact_id = $2) as sends,
  (select count(*) from conversations as c
    join messages as m on m.conversation_id = c.id
    cross join lateral (
      select answer from idempotency
      where message_id = m.id
      and message_id is not null
      and (workspace_id = $1) is true
      offset 0
    ) as i
    where c.contact_id = $2
    and (i.answer is null or (i.answer ->> 'status')::int >= 400)) as idempotency_answers,
  (select count(*) from (
    select r.connection_id, r.external_id
    from conversations as c
    join messages as m on m.conversation_id = c.id
    cross join lateral json_array_elements_text(
      case json_typeof(m.metadata -> 'externalIds') when 'array' then m.metadata -> 'externalIds' end
    ) as named (external_id)
    cross join lateral (
      select id from connections where workspace_id = $1 offset 0
    ) as k
    cross join lateral (
      select connection_id, external_id from channel_refs
      where connection_id = k.id
      and external_id = named.external_id
      and message_id = m.id
      offset 0
    ) as r
    where c.contact_id = $2
    union
    select connection_id, external_id
    from channel_refs
    where recipient_id = any ($3)
    and recipient_id is not null
    and (workspace_id = $1) is true
  ) as found) as channel_refs,
  (select count(*) from connections as k
    cross join lateral (
      select 1 from holds where connection_id = k.id and contact_id = $2 offset 0
    ) as h
    where k.workspace_id = $1) as holds,
  (select count(*) from tickets where contact_id = $2) as tickets";

pub async fn count(db: &Db, person: &Person) -> Result<Erased, StoreError> {
    let mut snapshot = db.snapshot(Rows::Of(&[person.workspace])).await?;
    let row = sqlx::query(COUNTS)
        .bind(person.workspace.0)
        .bind(person.id.0)
        .bind(person.names())
        .fetch_one(&mut *snapshot)
        .await?;
    let mut counted = erased(&row)?;
    counted.add(&raw::count(&mut snapshot, person).await?);
    snapshot.rollback().await?;
    Ok(counted)
}

pub const SQL: &[&str] = &[COUNTS];
