//! What messaging saves that carries no stamp: requests that partners named,
//! channels' ids of messages, sends, holds, lists of templates.

use std::borrow::Cow;
use std::collections::BTreeMap;

use sqlx::postgres::{PgArguments, PgConnection};
use sqlx::query::Query;
use uuid::Uuid;

use super::all_made;
use super::rows::each;
use crate::domain::channel::Template;
use crate::domain::id::{ConnectionId, MessageId};
use crate::domain::time::Micros;
use crate::store::decide::{Change, Known, Reference, Remembered, Send, TemplateState};
use crate::store::postgres::columns::{at, json, text};
use crate::store::postgres::load::Locked;
use crate::store::postgres::load::dialogue::contact_of;
use crate::store::row::Columns as _;
use crate::store::{IdempotencyKey, StoreError};

/// What nobody had before.
pub async fn new(
    connection: &mut PgConnection,
    known: &Known,
    locked: &Locked,
) -> Result<(), StoreError> {
    let requests = changed_requests(known, |key| !locked.requests.contains(key));
    if !requests.is_empty() {
        let sent = requests.len();
        let made = bind_requests(NEW_REQUESTS, &requests)?
            .execute(&mut *connection)
            .await?;
        all_made(sent, made.rows_affected())?;
    }
    let references = changed_references(known, |key| !locked.references.contains(key));
    if !references.is_empty() {
        let sent = references.len();
        let made = bind_references(NEW_REFERENCES, &references)?
            .execute(connection)
            .await?;
        all_made(sent, made.rows_affected())?;
    }
    Ok(())
}

/// Changes of what is locked, and sends, which are new with their messages.
pub async fn changes(
    connection: &mut PgConnection,
    known: &Known,
    locked: &Locked,
) -> Result<(), StoreError> {
    let requests = changed_requests(known, |key| locked.requests.contains(key));
    if !requests.is_empty() {
        bind_requests(CHANGED_REQUESTS, &requests)?
            .execute(&mut *connection)
            .await?;
    }
    let references = changed_references(known, |key| locked.references.contains(key));
    if !references.is_empty() {
        bind_references(CHANGED_REFERENCES, &references)?
            .execute(&mut *connection)
            .await?;
    }
    sends(connection, known).await?;
    holds(connection, known).await?;
    templates(connection, &known.dialogue.template_changes).await
}

const NEW_REQUESTS: &str = "
insert into idempotency (workspace_id, partner_id, route, key, fingerprint, message_id, answer,
  until_at)
select n.workspace_id, n.partner_id, n.route, n.key, n.fingerprint, n.message_id, n.answer::json,
  n.until_at
from unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::text[], $6::uuid[], $7::text[],
  $8::timestamptz[])
  as n (workspace_id, partner_id, route, key, fingerprint, message_id, answer, until_at)
on conflict do nothing";

const CHANGED_REQUESTS: &str = "
update idempotency as i
set workspace_id = n.workspace_id, fingerprint = n.fingerprint, message_id = n.message_id,
  answer = n.answer::json, until_at = n.until_at
from unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::text[], $6::uuid[], $7::text[],
  $8::timestamptz[])
  as n (workspace_id, partner_id, route, key, fingerprint, message_id, answer, until_at)
where i.partner_id = n.partner_id
and i.route = n.route
and i.key = n.key";

type Request<'a> = ((Uuid, Cow<'a, str>, Cow<'a, str>), (Uuid, &'a Remembered));

/// Sorted, as every host inserts them.
fn changed_requests(known: &Known, which: impl Fn(&IdempotencyKey) -> bool) -> Vec<Request<'_>> {
    let changed: BTreeMap<_, _> = known
        .dialogue
        .idempotency
        .iter()
        .filter(|(key, row)| row.change != Change::None && which(key))
        .map(|(key, row)| {
            let name = (key.partner.0, text(&key.route), text(&key.key));
            (name, (key.workspace.0, row))
        })
        .collect();
    changed.into_iter().collect()
}

type Statement<'a> = Query<'a, sqlx::Postgres, PgArguments>;

fn bind_requests<'a>(
    sql: &'static str,
    rows: &'a [Request<'a>],
) -> Result<Statement<'a>, StoreError> {
    let answers = rows
        .iter()
        .map(|(_, (_, row))| row.answer.as_ref().map(json).transpose())
        .collect::<Result<Vec<_>, _>>()?;
    Ok(sqlx::query(sql)
        .bind(each(rows, |(_, (workspace, _))| *workspace))
        .bind(each(rows, |((partner, _, _), _)| *partner))
        .bind(each(rows, |((_, route, _), _)| route.as_ref()))
        .bind(each(rows, |((_, _, key), _)| key.as_ref()))
        .bind(each(rows, |(_, (_, row))| text(&row.fingerprint)))
        .bind(each(rows, |(_, (_, row))| row.message.map(|id| id.0)))
        .bind(answers)
        .bind(each(rows, |(_, (_, row))| at(row.until))))
}

const NEW_REFERENCES: &str = "
insert into channel_refs (workspace_id, connection_id, external_id, message_id, progress,
  recipient_id, until_at)
select n.workspace_id, n.connection_id, n.external_id, n.message_id, n.progress::json,
  n.recipient_id, n.until_at
from unnest($1::uuid[], $2::text[], $3::text[], $4::uuid[], $5::text[], $6::text[],
  $7::timestamptz[])
  as n (workspace_id, connection_id, external_id, message_id, progress, recipient_id, until_at)
on conflict do nothing";

const CHANGED_REFERENCES: &str = "
update channel_refs as r
set workspace_id = n.workspace_id, message_id = n.message_id, progress = n.progress::json,
  recipient_id = n.recipient_id, until_at = n.until_at
from unnest($1::uuid[], $2::text[], $3::text[], $4::uuid[], $5::text[], $6::text[],
  $7::timestamptz[])
  as n (workspace_id, connection_id, external_id, message_id, progress, recipient_id, until_at)
where r.connection_id = n.connection_id
and r.external_id = n.external_id";

type Named<'a> = ((&'a str, Cow<'a, str>), &'a Reference);

/// Sorted, as every host inserts them.
fn changed_references(
    known: &Known,
    which: impl Fn(&(ConnectionId, String)) -> bool,
) -> Vec<Named<'_>> {
    let changed: BTreeMap<_, _> = known
        .dialogue
        .references
        .iter()
        .filter(|(key, row)| row.change != Change::None && which(key))
        .map(|(key, row)| ((key.0.as_str(), text(&key.1)), row))
        .collect();
    changed.into_iter().collect()
}

fn bind_references<'a>(
    sql: &'static str,
    rows: &'a [Named<'a>],
) -> Result<Statement<'a>, StoreError> {
    let progress = rows
        .iter()
        .map(|(_, row)| {
            let said = Some(&row.progress).filter(|said| !said.is_empty());
            said.map(json).transpose()
        })
        .collect::<Result<Vec<_>, _>>()?;
    Ok(sqlx::query(sql)
        .bind(each(rows, |(_, row)| row.workspace.0))
        .bind(each(rows, |((connection, _), _)| *connection))
        .bind(each(rows, |((_, id), _)| id.as_ref()))
        .bind(each(rows, |(_, row)| row.message.map(|id| id.0)))
        .bind(progress)
        .bind(each(rows, |(_, row)| row.recipient_id.as_deref().map(text)))
        .bind(each(rows, |(_, row)| row.until.map(at))))
}

// When it is due and who holds it is in the queue.
const SENDS: &str = "
insert into sends (workspace_id, message_id, conversation_id, contact_id, connection_id, recipient,
  payload, attempts, until_at)
select n.workspace_id, n.message_id, n.conversation_id, n.contact_id, n.connection_id, n.recipient,
  n.payload::json, n.attempts, n.until_at
from unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::uuid[], $5::text[], $6::text[], $7::text[],
  $8::bigint[], $9::timestamptz[])
  as n (workspace_id, message_id, conversation_id, contact_id, connection_id, recipient, payload,
    attempts, until_at)
on conflict (workspace_id, message_id) do update
set attempts = excluded.attempts, until_at = excluded.until_at";

const REMOVED_SENDS: &str = "
delete from sends as s
using unnest($1::uuid[], $2::uuid[]) as n (workspace_id, message_id)
where s.workspace_id = n.workspace_id
and s.message_id = n.message_id";

async fn sends(connection: &mut PgConnection, known: &Known) -> Result<(), StoreError> {
    let mut rows: Vec<(&MessageId, &Send)> = Vec::new();
    let (mut removed_of, mut removed) = (Vec::new(), Vec::new());
    for (id, send) in &known.dialogue.sends {
        match send.change {
            Change::None => {}
            Change::New | Change::Changed => rows.push((id, send)),
            Change::Removed => {
                removed_of.push(send.workspace.0);
                removed.push(id.0);
            }
        }
    }
    if !removed.is_empty() {
        sqlx::query(REMOVED_SENDS)
            .bind(removed_of)
            .bind(removed)
            .execute(&mut *connection)
            .await?;
    }
    if rows.is_empty() {
        return Ok(());
    }
    sqlx::query(SENDS)
        .bind(each(&rows, |(_, send)| send.workspace.0))
        .bind(each(&rows, |(id, _)| id.0))
        .bind(each(&rows, |(_, send)| send.conversation.0))
        .bind(each(&rows, |(_, send)| send.contact.0))
        .bind(each(&rows, |(_, send)| send.connection.as_str()))
        .bind(each(&rows, |(_, send)| text(&send.recipient)))
        .bind(each(&rows, |(_, send)| text(&send.payload)))
        .bind(each(&rows, |(_, send)| i64::from(send.attempts)))
        .bind(each(&rows, |(_, send)| at(send.until)))
        .execute(connection)
        .await?;
    Ok(())
}

// Nobody locks a hold before: of two hosts' ends the later one stays.
const HOLDS: &str = "
insert into holds as h (workspace_id, connection_id, contact_id, until_at)
select * from unnest($1::uuid[], $2::text[], $3::uuid[], $4::timestamptz[])
on conflict (connection_id, contact_id) do update
set until_at = greatest(h.until_at, excluded.until_at)";

async fn holds(connection: &mut PgConnection, known: &Known) -> Result<(), StoreError> {
    // Sorted, and each once: one statement may not change a row twice.
    let mut latest: BTreeMap<(&str, Uuid), (Uuid, Micros)> = BTreeMap::new();
    for hold in &known.dialogue.new_holds {
        let key = (hold.connection.as_str(), contact_of(hold.contact));
        let row = latest.entry(key).or_insert((hold.workspace.0, hold.until));
        row.1 = row.1.max(hold.until);
    }
    let rows: Vec<_> = latest.into_iter().collect();
    if rows.is_empty() {
        return Ok(());
    }
    sqlx::query(HOLDS)
        .bind(each(&rows, |(_, (workspace, _))| *workspace))
        .bind(each(&rows, |((connection, _), _)| *connection))
        .bind(each(&rows, |((_, contact), _)| *contact))
        .bind(each(&rows, |(_, (_, until))| at(*until)))
        .execute(connection)
        .await?;
    Ok(())
}

const LISTS: &str = "
select connection_id, templates
from template_lists
where connection_id = any ($1)
order by connection_id
for update";

const CHANGED_LISTS: &str = "
update template_lists as l
set templates = n.templates::json
from unnest($1::text[], $2::text[]) as n (connection_id, templates)
where l.connection_id = n.connection_id";

async fn templates(
    connection: &mut PgConnection,
    changes: &[TemplateState],
) -> Result<(), StoreError> {
    if changes.is_empty() {
        return Ok(());
    }
    let of: Vec<&str> = changes.iter().map(|of| of.connection.as_str()).collect();
    let rows = sqlx::query(LISTS)
        .bind(of)
        .fetch_all(&mut *connection)
        .await?;
    let (mut connections, mut lists) = (Vec::new(), Vec::new());
    for row in &rows {
        let id: ConnectionId = row.text_id("connection_id")?;
        let mut list: Vec<Template> = row.json("templates")?;
        let mut changed = false;
        for change in changes.iter().filter(|change| change.connection == id) {
            changed |= change.change(&mut list);
        }
        if changed {
            lists.push(json(&list)?);
            connections.push(id.as_str().to_owned());
        }
    }
    if connections.is_empty() {
        return Ok(());
    }
    sqlx::query(CHANGED_LISTS)
        .bind(connections)
        .bind(lists)
        .execute(connection)
        .await?;
    Ok(())
}

pub const SQL: &[&str] = &[
    NEW_REQUESTS,
    CHANGED_REQUESTS,
    NEW_REFERENCES,
    CHANGED_REFERENCES,
    SENDS,
    REMOVED_SENDS,
    HOLDS,
    LISTS,
    CHANGED_LISTS,
];
