//! Rows of feeds: each gets its stamp, in the order in which they changed.

mod people;
mod talk;

use serde::Serialize;
use sqlx::sqlite::SqliteConnection;

use self::people::{CONTACTS, DEALS, contacts, deals};
use self::talk::{
    CONVERSATIONS, MESSAGE_ERRORS, MESSAGES, TICKETS, conversations, message_errors, messages,
    tickets,
};
use super::super::json;
use super::super::stamp::Stamps;
use crate::domain::id::WorkspaceId;
use crate::domain::row::Entity;
use crate::store::StoreError;
use crate::store::decide::Known;

/// Rows of every feed that a batch changes.
pub async fn stamped(
    connection: &mut SqliteConnection,
    known: &Known,
    stamps: &Stamps,
) -> Result<(), StoreError> {
    let mut next = Next(stamps.clone());
    let dialogue = &known.dialogue;
    for (sql, rows) in [
        (CONTACTS, contacts(known, &mut next)?),
        (CONVERSATIONS, conversations(dialogue, &mut next)?),
        (DEALS, deals(known, &mut next)?),
        (TICKETS, tickets(dialogue, &mut next)?),
    ] {
        if let Some(rows) = rows {
            sqlx::query(sql)
                .bind(rows)
                .bind(known.now.0)
                .execute(&mut *connection)
                .await?;
        }
    }
    for (sql, rows) in [
        (MESSAGES, messages(dialogue, &mut next)?),
        (MESSAGE_ERRORS, message_errors(dialogue, &mut next)?),
    ] {
        if let Some(rows) = rows {
            sqlx::query(sql)
                .bind(rows)
                .execute(&mut *connection)
                .await?;
        }
    }
    Ok(())
}

/// The next stamp of each feed.
struct Next(Stamps);

impl Next {
    fn take(&mut self, workspace: WorkspaceId, entity: Entity) -> Result<i64, StoreError> {
        let stamp =
            self.0
                .get_mut(&(workspace, entity))
                .ok_or_else(|| StoreError::Inconsistent {
                    what: "a changed row without a stamp".to_owned(),
                })?;
        *stamp += 1;
        Ok(*stamp - 1)
    }
}

/// The rows as a parameter; none are no statement at all.
fn parameter<T: Serialize>(rows: &[T]) -> Result<Option<String>, StoreError> {
    (!rows.is_empty()).then(|| json(rows)).transpose()
}

#[cfg(test)]
pub(super) const SQL: &[&str] = &[
    CONTACTS,
    DEALS,
    CONVERSATIONS,
    MESSAGES,
    TICKETS,
    MESSAGE_ERRORS,
];
