//! Communication with a person: messages with the rows that belong to them, errors, conversations,
//! tickets.

use super::erasing::{ErasureTx, LOCK_WORK, WORK};
use crate::erase::ERASED_ANSWER;
use crate::operations::prelude::*;
use crate::operations::remove::{REMOVE_TICKETS, locked, rows_of};
use crate::sql::Json;
use crate::tombstones::Removal;
use crate::{Erased, erased_reference};

statements! {
    static MESSAGES: Sql = sql("
select m.id, m.metadata -> 'externalIds' as external_ids
from conversations as c
ordered join messages as m
  on m.conversation_id = c.id
where c.contact_id = :contact
and (c.workspace_id = :workspace) is true
limit :limit");

    static LOCK_REQUESTS: Sql = sql("
each (workspace_id uuid, id uuid)                                          -- postgres
select message_id                                                          -- postgres
from idempotency                                                           -- postgres
where message_id in (select id from each)                                  -- postgres
and message_id is not null                                                 -- postgres
and (workspace_id in (select workspace_id from each)) is true              -- postgres
order by partner_id, route, key                                            -- postgres
for update                                                                 -- postgres
");

    static LOCK_REFERENCES: Sql = sql("
each (workspace_id uuid, message_id uuid, external_id text)
select r.connection_id, r.external_id
from each
ordered join connections as c
  on c.workspace_id = each.workspace_id
ordered join channel_refs as r
  on r.connection_id = c.id
  and r.external_id = each.external_id
  and r.message_id = each.message_id
order by r.connection_id, r.external_id
for update of r                                          -- postgres
");

    static LOCK_MESSAGES: Sql = sql(locked!(
        "messages",
        "id",
        "t.id, t.metadata -> 'externalIds' as external_ids"
    ));

    static SENDS: Sql = made(|| schema::SENDS.remove_with("message_id"));

    // The sends of these messages that a host of the former release has kept.
    static KEPT_SENDS: Sql = made(|| schema::KEPT_SENDS.remove_with("message_id"));

    // The stored answer for a sent message contains only ids. A refusal quotes the provider, whose
    // words may name the person.
    static ANSWERS: Sql = sql("
each (workspace_id uuid, id uuid, answer json)
update idempotency as i
set message_id = null, answer = each.answer
from each
where i.message_id = each.id
and i.message_id is not null
and (i.workspace_id = each.workspace_id) is true
and (i.answer is null or (i.answer ->> 'status')::int >= 400)");

    static REFERENCES: Sql = sql("
each (connection_id text, external_id text)
delete from channel_refs as gone
using each                                               -- postgres
where gone.connection_id = each.connection_id            -- postgres
and gone.external_id = each.external_id                  -- postgres
where connection_id = :connection_id                     -- sqlite
and external_id = :external_id                           -- sqlite
");

    static ERASED_REFERENCES: Sql = made(|| schema::CHANNEL_REFS.insert(&[], OnConflict::Skip));

    static REMOVE_MESSAGES: Sql = made(|| schema::MESSAGES.remove_with("id"));

    static ERRORS: Sql = sql("
select e.id
from conversations as c
ordered join message_errors as e
  on e.conversation_id = c.id
where c.contact_id = :contact
and (c.workspace_id = :workspace) is true
limit :limit");

    // Errors of unknown messages, which another system sent.
    static STRAY_ERRORS: Sql = sql("
select id
from message_errors
where recipient_id in (select value from json_each(:names))                        -- sqlite
where recipient_id = any (array(select json_array_elements_text(:names)))          -- postgres
and recipient_id is not null
and message_id is null
and (workspace_id = :workspace) is true
limit :limit");

    static LOCK_ERRORS: Sql = sql(locked!("message_errors", "id", "t.id"));
    static REMOVE_ERRORS: Sql = made(|| schema::MESSAGE_ERRORS.remove_with("id"));

    static STRAY_REFERENCES: Sql = sql("
select connection_id, external_id
from channel_refs
where recipient_id in (select value from json_each(:names))                        -- sqlite
where recipient_id = any (array(select json_array_elements_text(:names)))          -- postgres
and recipient_id is not null
and (workspace_id = :workspace) is true
order by connection_id, external_id                                                -- postgres
limit :limit
for update                                                                         -- postgres
");

    static CONVERSATIONS: Sql = sql("
select id
from conversations
where contact_id = :contact
and (workspace_id = :workspace) is true
limit :limit");

    static LOCK_CONVERSATIONS: Sql = sql(locked!("conversations", "id", "t.id"));

    // Every writer locks the conversation before adding to it, so what is found now is complete.
    static FILLED: Sql = sql("
each (workspace_id uuid, id uuid)
select each.id
from each
where exists (
  select 1
  from messages
  where conversation_id = each.id
  offset 0                                               -- postgres
)
or exists (
  select 1
  from message_errors
  where conversation_id = each.id
  offset 0                                               -- postgres
)");

    static LOCK_TICKETS_OF: Sql = sql("
each (workspace_id uuid, id uuid, contact_id uuid)
select t.id
from each
ordered join tickets as t
  on t.contact_id = each.contact_id
  and t.conversation_id = each.id
  and (t.workspace_id = each.workspace_id) is true
order by t.id
for update of t                                          -- postgres
");

    static REMOVE_CONVERSATIONS: Sql = made(|| schema::CONVERSATIONS.remove_with("id"));

    static TICKETS: Sql = sql("
select id
from tickets
where contact_id = :contact
and (workspace_id = :workspace) is true
limit :limit");

    static LOCK_TICKETS: Sql = sql(locked!("tickets", "id", "t.id"));
}

/// A message, and the ids that channels use for it.
type Named = (Uuid, Vec<String>);

/// Removes at most `limits::ERASED_AT_ONCE` messages of the person, with their sends and
/// channels' ids, and overwrites stored answers that may name the person. Returns `None` if
/// there are no messages.
/// Fails with [`StoreError::Contended`] if a channel assigned another id to one of the messages in
/// the meantime.
pub async fn messages(work: &mut ErasureTx<'_>) -> Result<Option<Erased>, StoreError> {
    let (workspace, contact) = (work.person.workspace, work.person.id);
    let args = args! { workspace, contact, limit: limits::ERASED_AT_ONCE };
    let found = work.tx.rows(&MESSAGES, &args, named).await?;
    if found.is_empty() {
        return Ok(None);
    }
    let (wanted, names) = (ids(&found), external_ids(&found));
    work.run(&LOCK_WORK, &wanted).await?;
    work.run(&LOCK_REQUESTS, &wanted).await?;
    let rows: Vec<_> = names
        .iter()
        .map(|&(message_id, external_id)| {
            args! { workspace_id: workspace, message_id, external_id }
        })
        .collect();
    let references = work
        .tx
        .rows_each(&LOCK_REFERENCES, &rows, reference)
        .await?;
    let wanted = rows_of(workspace, &wanted);
    let locked = work.tx.rows_each(&LOCK_MESSAGES, &wanted, named).await?;
    if !external_ids(&locked).is_subset(&names) {
        // A channel assigned another id to one of them in the meantime.
        return Err(StoreError::Contended);
    }
    let messages = ids(&locked);
    let sends = work.run(&SENDS, &messages).await?;
    work.run(&KEPT_SENDS, &messages).await?;
    work.run(&WORK, &messages).await?;
    let answers: Vec<_> = messages
        .iter()
        .map(|&id| args! { workspace_id: workspace, id, answer: Json(ERASED_ANSWER.to_owned()) })
        .collect();
    let idempotency_answers = work.tx.run_each(&ANSWERS, &answers).await?;
    let channel_refs = remove_references(work, &references).await?;
    work.run(&REMOVE_MESSAGES, &messages).await?;
    let mut gone = Removal::default();
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

fn named(row: &SqlRow<'_>) -> Result<Named, StoreError> {
    let names: Option<Vec<String>> = row.get("external_ids")?;
    Ok((row.get("id")?, names.unwrap_or_default()))
}

fn ids(messages: &[Named]) -> Vec<Uuid> {
    messages.iter().map(|(id, _)| *id).collect()
}

fn external_ids(messages: &[Named]) -> BTreeSet<(Uuid, &str)> {
    let mut all = BTreeSet::new();
    for (id, names) in messages {
        all.extend(names.iter().map(|name| (*id, name.as_str())));
    }
    all
}

/// Reads a channel's id of a message: the channel and the id.
fn reference(row: &SqlRow<'_>) -> Result<(String, String), StoreError> {
    Ok((row.get("connection_id")?, row.get("external_id")?))
}

/// Removes channels' ids of messages. Their later statuses are still recognised.
async fn remove_references(
    work: &mut ErasureTx<'_>,
    locked: &[(String, String)],
) -> Result<u64, StoreError> {
    let until = work.now.plus(limits::ERASED_REFERENCE_RETENTION);
    let erased: Vec<_> = locked
        .iter()
        .map(|(connection_id, external_id)| {
            args! {
                workspace_id: work.person.workspace,
                connection_id,
                external_id: erased_reference(external_id),
                message_id: None::<MessageId>,
                progress: None::<Json>,
                recipient_id: None::<String>,
                until_at: Some(until),
            }
        })
        .collect();
    work.tx.run_each(&ERASED_REFERENCES, &erased).await?;
    let rows: Vec<_> = locked
        .iter()
        .map(|(connection_id, external_id)| args! { connection_id, external_id })
        .collect();
    work.tx.run_each(&REFERENCES, &rows).await
}

/// Removes message errors of the person's conversations, or else errors of unknown messages to the person,
/// and channels' ids that name the person: at most `limits::ERASED_AT_ONCE` of each. Returns `None` if there
/// are none.
pub async fn errors(work: &mut ErasureTx<'_>) -> Result<Option<Erased>, StoreError> {
    let mut found = work.ids_of_contact(&ERRORS, limits::ERASED_AT_ONCE).await?;
    let args = args! {
        workspace: work.person.workspace,
        names: json(&work.person.names())?,
        limit: limits::ERASED_AT_ONCE,
    };
    if found.is_empty() {
        found = work
            .tx
            .rows(&STRAY_ERRORS, &args, |row| row.get("id"))
            .await?;
    }
    let references = work.tx.rows(&STRAY_REFERENCES, &args, reference).await?;
    if found.is_empty() && references.is_empty() {
        return Ok(None);
    }
    let errors = work.ids_of(&LOCK_ERRORS, &found).await?;
    let channel_refs = remove_references(work, &references).await?;
    work.run(&REMOVE_ERRORS, &errors).await?;
    let mut gone = Removal::default();
    gone.remove(Entity::MessageErrors, &errors);
    work.bury(&gone).await?;
    Ok(Some(Erased {
        message_errors: count(&errors),
        channel_refs,
        ..Erased::default()
    }))
}

/// Removes conversations whose messages and errors are gone. One that got new ones in the meantime
/// stays for now.
pub async fn conversations(work: &mut ErasureTx<'_>) -> Result<Option<Erased>, StoreError> {
    let most = limits::ERASED_WHOLE_AT_ONCE;
    let found = work.ids_of_contact(&CONVERSATIONS, most).await?;
    if found.is_empty() {
        return Ok(None);
    }
    let mut conversations = work.ids_of(&LOCK_CONVERSATIONS, &found).await?;
    let filled = work.ids_of(&FILLED, &conversations).await?;
    conversations.retain(|id| !filled.contains(id));
    let (workspace, contact) = (work.person.workspace, work.person.id);
    let wanted: Vec<_> = conversations
        .iter()
        .map(|&id| args! { workspace_id: workspace, id, contact_id: contact })
        .collect();
    let tickets: Vec<Uuid> = work
        .tx
        .rows_each(&LOCK_TICKETS_OF, &wanted, |row| row.get("id"))
        .await?;
    work.run(&REMOVE_TICKETS, &tickets).await?;
    work.run(&REMOVE_CONVERSATIONS, &conversations).await?;
    let mut gone = Removal::default();
    gone.remove(Entity::Tickets, &tickets);
    gone.remove(Entity::Conversations, &conversations);
    work.bury(&gone).await?;
    Ok(Some(Erased {
        conversations: count(&conversations),
        tickets: count(&tickets),
        ..Erased::default()
    }))
}

pub async fn tickets(work: &mut ErasureTx<'_>) -> Result<Option<Erased>, StoreError> {
    let found = work
        .ids_of_contact(&TICKETS, limits::ERASED_AT_ONCE)
        .await?;
    if found.is_empty() {
        return Ok(None);
    }
    let tickets = work.ids_of(&LOCK_TICKETS, &found).await?;
    work.run(&REMOVE_TICKETS, &tickets).await?;
    let mut gone = Removal::default();
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
