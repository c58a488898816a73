//! What messaging keeps beside its feeds: sends, the channel's ids, answers of named
//! requests, holds, what changed in the lists of templates.

use std::collections::BTreeMap;

use serde::Serialize;
use sqlx::sqlite::SqliteConnection;

use super::super::json;
use super::write;
use crate::domain::channel::Template;
use crate::store::StoreError;
use crate::store::decide::{Change, Known, TemplateState};
use crate::store::row::Columns as _;

#[derive(Serialize)]
struct SendRow<'a> {
    workspace: String,
    message: String,
    conversation: String,
    contact: String,
    connection: &'a str,
    recipient: &'a str,
    payload: &'a str,
    state: &'static str,
    attempts: u32,
    due: Option<i64>,
    until: i64,
    lease: i64,
    lease_until: Option<i64>,
}

const SENDS: &str = "
insert into sends (workspace_id, message_id, conversation_id, contact_id, connection_id, recipient,
  payload, state, attempts, due_at, until_at, lease, lease_until_at)
select value ->> 'workspace', value ->> 'message', value ->> 'conversation', value ->> 'contact',
  value ->> 'connection', value ->> 'recipient', value ->> 'payload', value ->> 'state',
  value ->> 'attempts', value ->> 'due', value ->> 'until', value ->> 'lease',
  value ->> 'lease_until'
from jsonb_each(?1)
where true
on conflict (message_id) do update
set state = excluded.state, attempts = excluded.attempts, due_at = excluded.due_at,
  until_at = excluded.until_at, lease_until_at = excluded.lease_until_at";

const REMOVED_SENDS: &str = "
delete from sends
where message_id in (select value from json_each(?1))";

pub(super) async fn sends(
    connection: &mut SqliteConnection,
    known: &Known,
) -> Result<(), StoreError> {
    let mut rows = Vec::new();
    let mut removed = Vec::new();
    for (id, send) in &known.dialogue.sends {
        match send.change {
            Change::None => {}
            Change::Removed => removed.push(id),
            Change::New | Change::Changed => rows.push(SendRow {
                workspace: send.workspace.to_string(),
                message: id.to_string(),
                conversation: send.conversation.to_string(),
                contact: send.contact.to_string(),
                connection: send.connection.as_str(),
                recipient: &send.recipient,
                payload: &send.payload,
                state: send.state.as_str(),
                attempts: send.attempts,
                due: send.due_at.map(|at| at.0),
                until: send.until.0,
                lease: send.lease,
                lease_until: send.lease_until.map(|at| at.0),
            }),
        }
    }
    write(connection, REMOVED_SENDS, &removed).await?;
    write(connection, SENDS, &rows).await
}

#[derive(Serialize)]
struct ReferenceRow<'a> {
    connection: &'a str,
    external: &'a str,
    workspace: String,
    message: Option<String>,
    progress: Option<String>,
    recipient: Option<&'a str>,
    until: Option<i64>,
}

const REFERENCES: &str = "
insert or replace into channel_refs (connection_id, external_id, workspace_id, message_id, progress,
  recipient_id, until_at)
select value ->> 'connection', value ->> 'external', value ->> 'workspace', value ->> 'message',
  value ->> 'progress', value ->> 'recipient', value ->> 'until'
from jsonb_each(?1)";

pub(super) async fn references(
    connection: &mut SqliteConnection,
    known: &Known,
) -> Result<(), StoreError> {
    let rows = known
        .dialogue
        .references
        .iter()
        .filter(|(_, reference)| reference.change != Change::None)
        .map(|((owner, external_id), reference)| {
            let said = Some(&reference.progress).filter(|progress| !progress.is_empty());
            Ok(ReferenceRow {
                connection: owner.as_str(),
                external: external_id,
                workspace: reference.workspace.to_string(),
                message: reference.message.map(|id| id.to_string()),
                progress: said.map(json).transpose()?,
                recipient: reference.recipient_id.as_deref(),
                until: reference.until.map(|at| at.0),
            })
        })
        .collect::<Result<Vec<_>, StoreError>>()?;
    write(connection, REFERENCES, &rows).await
}

#[derive(Serialize)]
struct RememberedRow<'a> {
    partner: String,
    route: &'a str,
    key: &'a str,
    workspace: String,
    fingerprint: &'a str,
    message: Option<String>,
    answer: Option<String>,
    until: i64,
}

const IDEMPOTENCY: &str = "
insert or replace into idempotency (partner_id, route, key, workspace_id, fingerprint, message_id,
  answer, until_at)
select value ->> 'partner', value ->> 'route', value ->> 'key', value ->> 'workspace',
  value ->> 'fingerprint', value ->> 'message', value ->> 'answer', value ->> 'until'
from jsonb_each(?1)";

pub(super) async fn idempotency(
    connection: &mut SqliteConnection,
    known: &Known,
) -> Result<(), StoreError> {
    let rows = known
        .dialogue
        .idempotency
        .iter()
        .filter(|(_, remembered)| remembered.change != Change::None)
        .map(|(key, remembered)| {
            Ok(RememberedRow {
                partner: key.partner.to_string(),
                route: &key.route,
                key: &key.key,
                workspace: key.workspace.to_string(),
                fingerprint: &remembered.fingerprint,
                message: remembered.message.map(|id| id.to_string()),
                answer: remembered.answer.as_ref().map(json).transpose()?,
                until: remembered.until.0,
            })
        })
        .collect::<Result<Vec<_>, StoreError>>()?;
    write(connection, IDEMPOTENCY, &rows).await
}

const HOLDS: &str = "
insert into holds (connection_id, contact_id, workspace_id, until_at)
select value ->> 0, value ->> 1, value ->> 2, value ->> 3
from jsonb_each(?1)
where true
on conflict (connection_id, contact_id) do update
set until_at = max(holds.until_at, excluded.until_at)";

pub(super) async fn holds(
    connection: &mut SqliteConnection,
    known: &Known,
) -> Result<(), StoreError> {
    let rows: Vec<_> = known
        .dialogue
        .new_holds
        .iter()
        .map(|hold| {
            let contact = hold.contact.map(|id| id.to_string()).unwrap_or_default();
            (&hold.connection, contact, hold.workspace, hold.until.0)
        })
        .collect();
    write(connection, HOLDS, &rows).await
}

const TEMPLATES: &str = "
select connection_id, templates
from template_lists
where connection_id in (select value from json_each(?1))";

const CHANGED_TEMPLATES: &str = "
update template_lists
set templates = value ->> 1
from jsonb_each(?1)
where template_lists.connection_id = value ->> 0";

pub(super) async fn templates(
    connection: &mut SqliteConnection,
    known: &Known,
) -> Result<(), StoreError> {
    let mut changes: BTreeMap<&str, Vec<&TemplateState>> = BTreeMap::new();
    for change in &known.dialogue.template_changes {
        let of_connection = changes.entry(change.connection.as_str()).or_default();
        of_connection.push(change);
    }
    if changes.is_empty() {
        return Ok(());
    }
    let wanted: Vec<&str> = changes.keys().copied().collect();
    let found = sqlx::query(TEMPLATES)
        .bind(json(&wanted)?)
        .fetch_all(&mut *connection)
        .await?;
    let mut rows = Vec::new();
    for row in &found {
        let of = row.text("connection_id")?;
        let mut templates: Vec<Template> = row.json("templates")?;
        let mut changed = false;
        for change in changes.get(of.as_str()).into_iter().flatten() {
            changed |= change.change(&mut templates);
        }
        if changed {
            rows.push((of, json(&templates)?));
        }
    }
    write(connection, CHANGED_TEMPLATES, &rows).await
}

#[cfg(test)]
pub(super) const SQL: &[&str] = &[
    SENDS,
    REMOVED_SENDS,
    REFERENCES,
    IDEMPOTENCY,
    HOLDS,
    TEMPLATES,
    CHANGED_TEMPLATES,
];
