//! A page of a feed: rows and clock from one snapshot, in stamp order. A page
//! costs the same at any depth: the index leads to its first row. A row leaves
//! letter by letter as any other store would give it.

use futures_util::TryStreamExt as _;
use sqlx::postgres::{PgArguments, PgConnection};
use sqlx::{Postgres, Row as _};
use uuid::Uuid;

use super::columns;
use super::db::{Db, Rows, Transaction};
use crate::domain::row::Entity;
use crate::store::row::export::{self, Filling};
use crate::store::{ExportPage, MessageErrorFilter, Scope, StoreError};

const CLOCK: &str = "
select coalesce(max(last_us), 0)
from feed_clock
where workspace_id = $1
and entity = $2";

// Columns are read by place: their order is that of `row::export`.
const CONTACTS: &str = "
select id, workspace_id, cursor_us, name, email, phone_number, banned_at, props
from contacts
where workspace_id = $1
and cursor_us > $2
and cursor_us <= $3
order by cursor_us
limit $4";

const DEALS: &str = "
select id, workspace_id, cursor_us, person_id, agent_id, owner_id, status, title, created_at,
  updated_at, stage_code, product_id, external_id, props
from deals
where workspace_id = $1
and cursor_us > $2
and cursor_us <= $3
order by cursor_us
limit $4";

const MESSAGES: &str = "
select id, workspace_id, cursor_us, conversation_id, created_at, actor, kind, content, delivered_at,
  read_at, metadata
from messages
where workspace_id = $1
and cursor_us > $2
and cursor_us <= $3
order by cursor_us
limit $4";

const CONVERSATIONS: &str = "
select id, workspace_id, cursor_us, contact_id, deal_id, agent_id, agent_type, source, channel,
  status, created_at, updated_at, first_message_at, answered_at, last_message_at, no_response_at,
  transferred_at, appointment_at, closed_at, props
from conversations
where workspace_id = $1
and cursor_us > $2
and cursor_us <= $3
order by cursor_us
limit $4";

// Of a row nothing is read but its id.
macro_rules! ids_of {
    ($table:literal) => {
        concat!(
            "
select id, cursor_us
from ",
            $table,
            "
where workspace_id = $1
and cursor_us > $2
and cursor_us <= $3
order by cursor_us
limit $4"
        )
    };
}

const CONTACT_IDS: &str = ids_of!("contacts");
const DEAL_IDS: &str = ids_of!("deals");
const MESSAGE_IDS: &str = ids_of!("messages");
const CONVERSATION_IDS: &str = ids_of!("conversations");

pub async fn page(
    db: &Db,
    scope: &Scope,
    entity: Entity,
    after: i64,
    upper: Option<i64>,
    limit: u32,
) -> Result<ExportPage, StoreError> {
    let sql = match entity {
        Entity::Contacts => CONTACTS,
        Entity::Deals => DEALS,
        Entity::Messages => MESSAGES,
        Entity::Conversations => CONVERSATIONS,
        Entity::MessageErrors => {
            let all = MessageErrorFilter::default();
            return errors(db, scope, &all, after, upper, limit).await;
        }
        Entity::Tickets | Entity::Products => return Err(export::not_exported(entity)),
    };
    let workspace = scope.workspace();
    let mut snapshot = db.snapshot(Rows::Of(&[workspace])).await?;
    let clock = clock(&mut snapshot, workspace.0, entity).await?;
    let upper = upper.unwrap_or(clock);
    let found = sqlx::query(sql)
        .bind(workspace.0)
        .bind(after)
        .bind(upper)
        // One more than asked for tells whether rows remain.
        .bind(i64::from(limit) + 1);
    let page = filled(&mut snapshot, found, entity, limit).await?;
    ended(snapshot, page.done(upper, clock), limit).await
}

type Statement<'q> = sqlx::query::Query<'q, Postgres, PgArguments>;

/// Takes rows as they come, until the page is full: rows that are long are never all
/// in memory.
async fn filled(
    snapshot: &mut PgConnection,
    statement: Statement<'_>,
    entity: Entity,
    limit: u32,
) -> Result<Filling, StoreError> {
    let mut page = Filling::new(limit);
    let mut rows = statement.fetch(snapshot);
    while let Some(row) = rows.try_next().await? {
        if !page.add(|| export::row(entity, &row))? {
            break;
        }
    }
    Ok(page)
}

/// What is left unread of a page that its bytes have ended goes with its connection:
/// it may be long.
async fn ended(
    snapshot: Transaction,
    page: ExportPage,
    limit: u32,
) -> Result<ExportPage, StoreError> {
    let is_read = !page.more || u32::try_from(page.rows.len()) == Ok(limit);
    if is_read {
        snapshot.rollback().await?;
    }
    Ok(page)
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
    let workspace = scope.workspace();
    let mut snapshot = db.snapshot(Rows::Of(&[workspace])).await?;
    let clock = clock(&mut snapshot, workspace.0, entity).await?;
    let upper = upper.unwrap_or(clock);
    let found = sqlx::query(sql)
        .bind(workspace.0)
        .bind(after)
        .bind(upper)
        .bind(i64::from(limit) + 1)
        .fetch_all(&mut *snapshot)
        .await?;
    snapshot.rollback().await?;
    export::ids(&found, limit, upper, clock)
}

// An index leads to the rows of a conversation or of a deal; the other filters
// judge what it leads to.
macro_rules! errors_of {
    ($by:expr) => {
        concat!(
            "
select id, workspace_id, cursor_us, recipient_id, deal_id, conversation_id, agent_id, message_id,
  external_id, code, title, description, details, template_name, channel, occurred_at
from message_errors
where ",
            $by,
            "
and cursor_us > $2
and cursor_us <= $3
and ($5::uuid is null or conversation_id = $5)
and ($6::uuid is null or deal_id = $6)
and ($7::bigint is null or agent_id = $7)
and ($8::text is null or external_id = $8)
and ($9::text is null or code = $9)
order by cursor_us
limit $4"
        )
    };
}

const ERRORS: &str = errors_of!("workspace_id = $1");
const ERRORS_OF_CONVERSATION: &str =
    errors_of!("conversation_id = $5 and (workspace_id = $1) is true");
const ERRORS_OF_DEAL: &str = errors_of!("deal_id = $6 and (workspace_id = $1) is true");

/// A page of the report on failures of messages.
pub async fn errors(
    db: &Db,
    scope: &Scope,
    filter: &MessageErrorFilter,
    after: i64,
    upper: Option<i64>,
    limit: u32,
) -> Result<ExportPage, StoreError> {
    let sql = match (filter.conversation, filter.deal) {
        (Some(_), _) => ERRORS_OF_CONVERSATION,
        (None, Some(_)) => ERRORS_OF_DEAL,
        (None, None) => ERRORS,
    };
    let workspace = scope.workspace();
    let entity = Entity::MessageErrors;
    let mut snapshot = db.snapshot(Rows::Of(&[workspace])).await?;
    let clock = clock(&mut snapshot, workspace.0, entity).await?;
    let upper = upper.unwrap_or(clock);
    let found = sqlx::query(sql)
        .bind(workspace.0)
        .bind(after)
        .bind(upper)
        .bind(i64::from(limit) + 1)
        .bind(filter.conversation.map(|id| id.0))
        .bind(filter.deal.map(|id| id.0))
        .bind(filter.agent.map(|id| id.0))
        .bind(filter.external_id.as_deref().map(columns::text))
        .bind(filter.error_code.as_deref().map(columns::text));
    let page = filled(&mut snapshot, found, entity, limit).await?;
    ended(snapshot, page.done(upper, clock), limit).await
}

async fn clock(
    connection: &mut PgConnection,
    workspace: Uuid,
    entity: Entity,
) -> Result<i64, StoreError> {
    Ok(sqlx::query(CLOCK)
        .bind(workspace)
        .bind(i16::from(entity.code()))
        .fetch_one(connection)
        .await?
        .try_get(0)?)
}

pub(super) const SQL: &[&str] = &[
    CLOCK,
    CONTACTS,
    DEALS,
    MESSAGES,
    CONVERSATIONS,
    ERRORS,
    ERRORS_OF_CONVERSATION,
    ERRORS_OF_DEAL,
    CONTACT_IDS,
    DEAL_IDS,
    MESSAGE_IDS,
    CONVERSATION_IDS,
];
