//! A page of a feed: rows and clock from one snapshot, in stamp order. A page
//! costs the same at any depth: the index leads to its first row.

use sqlx::sqlite::SqliteConnection;
use sqlx::{Connection as _, Row as _};

use super::db::Db;
use crate::domain::row::Entity;
use crate::store::row::export;
use crate::store::{ExportPage, MessageErrorFilter, Scope, StoreError};

const CLOCK: &str = "
select coalesce(max(last_us), 0)
from feed_clock
where workspace_id = ?1
and entity = ?2";

// Columns are read by place: their order is that of `row::export`.
const CONTACTS: &str = "
select id, workspace_id, cursor_us, name, email, phone_number, banned_us, props
from contacts
where workspace_id = ?1
and cursor_us > ?2
and cursor_us <= ?3
order by cursor_us
limit ?4";

const DEALS: &str = "
select id, workspace_id, cursor_us, person_id, agent_id, owner_id, status, title, props,
  created_us, updated_us, stage_code, product_id, external_id
from deals
where workspace_id = ?1
and cursor_us > ?2
and cursor_us <= ?3
order by cursor_us
limit ?4";

const MESSAGES: &str = "
select id, workspace_id, cursor_us, conversation_id, created_us, actor, kind, content, metadata,
  delivered_us, read_us
from messages
where workspace_id = ?1
and cursor_us > ?2
and cursor_us <= ?3
order by cursor_us
limit ?4";

const CONVERSATIONS: &str = "
select id, workspace_id, cursor_us, contact_id, deal_id, agent_id, agent_type, source, channel,
  status, created_us, updated_us, first_message_us, answered_us, last_message_us, no_response_us,
  transferred_us, appointment_us, closed_us, props
from conversations
where workspace_id = ?1
and cursor_us > ?2
and cursor_us <= ?3
order by cursor_us
limit ?4";

const MESSAGE_ERRORS: &str = "
select id, workspace_id, cursor_us, recipient_id, deal_id, conversation_id, agent_id, message_id,
  external_id, code, title, description, details, template_name, channel, occurred_us
from message_errors
where workspace_id = ?1
and cursor_us > ?2
and cursor_us <= ?3
order by cursor_us
limit ?4";

// Of a row nothing is read but its id.
macro_rules! ids_of {
    ($table:literal) => {
        concat!(
            "
select id, cursor_us
from ",
            $table,
            "
where workspace_id = ?1
and cursor_us > ?2
and cursor_us <= ?3
order by cursor_us
limit ?4"
        )
    };
}

const CONTACT_IDS: &str = ids_of!("contacts");
const DEAL_IDS: &str = ids_of!("deals");
const MESSAGE_IDS: &str = ids_of!("messages");
const CONVERSATION_IDS: &str = ids_of!("conversations");

// The report has the same order and, where a conversation or a deal is named, an
// index for it; the rest is sifted from what those lead to.
macro_rules! message_errors_where {
    ($lead:literal) => {
        concat!(
            "
select id, workspace_id, cursor_us, recipient_id, deal_id, conversation_id, agent_id, message_id,
  external_id, code, title, description, details, template_name, channel, occurred_us
from message_errors
where workspace_id = ?1
and cursor_us > ?2
and cursor_us <= ?3
and (?5 is null or deal_id = ?5)
and (?6 is null or conversation_id = ?6)
and (?7 is null or agent_id = ?7)
and (?8 is null or external_id = ?8)
and (?9 is null or code = ?9)
",
            $lead,
            "
order by cursor_us
limit ?4"
        )
    };
}

const SOME_MESSAGE_ERRORS: &str = message_errors_where!("");
const MESSAGE_ERRORS_OF_DEAL: &str = message_errors_where!("and deal_id = ?5");
const MESSAGE_ERRORS_OF_CONVERSATION: &str = message_errors_where!("and conversation_id = ?6");

pub async fn message_errors(
    db: &Db,
    scope: &Scope,
    filter: &MessageErrorFilter,
    after: i64,
    upper: Option<i64>,
    limit: u32,
) -> Result<ExportPage, StoreError> {
    let mut connection = db.readers().acquire().await?;
    let mut snapshot = connection.begin().await?;
    let workspace = scope.workspace().to_string();
    let entity = Entity::MessageErrors;
    let clock = clock_of(&mut snapshot, &workspace, entity).await?;
    let upper = upper.unwrap_or(clock);
    let sql = match filter {
        filter if filter.conversation.is_some() => MESSAGE_ERRORS_OF_CONVERSATION,
        filter if filter.deal.is_some() => MESSAGE_ERRORS_OF_DEAL,
        _ => SOME_MESSAGE_ERRORS,
    };
    let found = sqlx::query(sql)
        .bind(&workspace)
        .bind(after)
        .bind(upper)
        .bind(i64::from(limit) + 1)
        .bind(filter.deal.map(|id| id.to_string()))
        .bind(filter.conversation.map(|id| id.to_string()))
        .bind(filter.agent.map(|agent| agent.0))
        .bind(&filter.external_id)
        .bind(&filter.error_code)
        .fetch_all(&mut *snapshot)
        .await?;
    snapshot.rollback().await?;
    export::page(entity, &found, limit, upper, clock)
}

async fn clock_of(
    connection: &mut SqliteConnection,
    workspace: &str,
    entity: Entity,
) -> Result<i64, StoreError> {
    let row = sqlx::query(CLOCK)
        .bind(workspace)
        .bind(i64::from(entity.code()))
        .fetch_one(connection)
        .await?;
    Ok(row.try_get(0)?)
}

pub async fn page(
    db: &Db,
    scope: &Scope,
    entity: Entity,
    after: i64,
    upper: Option<i64>,
    limit: u32,
) -> Result<ExportPage, StoreError> {
    let mut connection = db.readers().acquire().await?;
    let mut snapshot = connection.begin().await?;
    let page = read(&mut snapshot, scope, entity, after, upper, limit).await?;
    snapshot.rollback().await?;
    Ok(page)
}

async fn read(
    connection: &mut SqliteConnection,
    scope: &Scope,
    entity: Entity,
    after: i64,
    upper: Option<i64>,
    limit: u32,
) -> Result<ExportPage, StoreError> {
    let workspace = scope.workspace().to_string();
    let clock = clock_of(connection, &workspace, entity).await?;
    let upper = upper.unwrap_or(clock);
    let sql = match entity {
        Entity::Contacts => CONTACTS,
        Entity::Deals => DEALS,
        Entity::Messages => MESSAGES,
        Entity::Conversations => CONVERSATIONS,
        Entity::MessageErrors => MESSAGE_ERRORS,
        Entity::Tickets | Entity::Products => return Err(export::not_exported(entity)),
    };
    // One more than asked for tells whether rows remain.
    let found = sqlx::query(sql)
        .bind(&workspace)
        .bind(after)
        .bind(upper)
        .bind(i64::from(limit) + 1)
        .fetch_all(connection)
        .await?;
    export::page(entity, &found, limit, upper, clock)
}

/// The ids of a page, as [`page`] gives its rows.
pub async fn ids(
    db: &Db,
    scope: &Scope,
    entity: Entity,
    after: i64,
    upper: Option<i64>,
    limit: u32,
) -> Result<ExportPage, StoreError> {
    let sql = match entity {
        Entity::Contacts => CONTACT_IDS,
        Entity::Deals => DEAL_IDS,
        Entity::Messages => MESSAGE_IDS,
        Entity::Conversations => CONVERSATION_IDS,
        Entity::MessageErrors | Entity::Tickets | Entity::Products => {
            return Err(export::not_exported(entity));
        }
    };
    let mut connection = db.readers().acquire().await?;
    let mut snapshot = connection.begin().await?;
    let workspace = scope.workspace().to_string();
    let clock = clock_of(&mut snapshot, &workspace, entity).await?;
    let upper = upper.unwrap_or(clock);
    let found = sqlx::query(sql)
        .bind(&workspace)
        .bind(after)
        .bind(upper)
        .bind(i64::from(limit) + 1)
        .fetch_all(&mut *snapshot)
        .await?;
    snapshot.rollback().await?;
    export::ids(&found, limit, upper, clock)
}

#[cfg(test)]
pub(super) const SQL: &[&str] = &[
    CLOCK,
    CONTACTS,
    DEALS,
    MESSAGES,
    CONVERSATIONS,
    MESSAGE_ERRORS,
    SOME_MESSAGE_ERRORS,
    MESSAGE_ERRORS_OF_DEAL,
    MESSAGE_ERRORS_OF_CONVERSATION,
    CONTACT_IDS,
    DEAL_IDS,
    MESSAGE_IDS,
    CONVERSATION_IDS,
];
