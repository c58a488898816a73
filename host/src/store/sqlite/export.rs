//! A page of a feed: rows and clock by one statement, in stamp order. A page costs
//! the same at any depth: the index leads to its first row.
//!
//! A page is one value, a JSON list of rows, each a list of its columns. What is
//! taken out of SQLite costs by the value, and several times what listing costs.

use sqlx::Row as _;
use sqlx::sqlite::SqliteArguments;

use super::db::Db;
use super::listed::{Listed, listed};
use crate::domain::row::Entity;
use crate::limits;
use crate::memory;
use crate::store::row::export;
use crate::store::{ExportPage, MessageErrorFilter, Scope, StoreError};

// Columns are read by place: their order is that of `row::export`. The last one is
// JSON already and stays as it is written, letter by letter.
macro_rules! page {
    ($table:literal, $columns:literal, $json:literal, $where:expr, $sizes:expr, $more:literal,
        $limit:literal) => {
        concat!(
            "
with clock as materialized (
  select coalesce(max(last_us), 0) as last_us
  from feed_clock
  where workspace_id = ?1
  and entity = ?2
)",
            $sizes,
            "
select last_us as clock, ",
            $more,
            " as more, (
    select '[' || group_concat(
      rtrim(json_array(",
            $columns,
            "), ']') || ',' || coalesce(json, 'null') || ']', ',') || ']'
    from (
      select ",
            $columns,
            ", ",
            $json,
            " as json
      from ",
            $table,
            $where,
            "
      order by cursor_us
      limit ",
            $limit,
            "
    ) as page
  ) as rows
from clock"
        )
    };
}

macro_rules! on_page {
    ($($filter:literal),*) => {
        concat!(
            "
      where workspace_id = ?1
      and cursor_us > ?3
      and cursor_us <= coalesce(?4, (select last_us from clock))"
            $(, $filter)*
        )
    };
}

// Of rows that are short there are as many as are asked for, and one more, which
// tells whether rows remain.
macro_rules! page_of {
    ($table:literal, $columns:literal, $json:literal $(, $filter:literal)*) => {
        page!($table, $columns, $json, on_page!($($filter),*), "", "0", "?5 + 1")
    };
}

// Of rows that may be long there are as many as have so many bytes together, and at
// least one. How long a text is stands in front of it, so it is not read for that.
macro_rules! page_within {
    ($table:literal, $columns:literal, $json:literal, $bytes:literal) => {
        page!(
            $table,
            $columns,
            $json,
            on_page!(),
            concat!(
                ",
seen as materialized (
  select count(*) as rows, coalesce(sum(bytes), 0) as bytes
  from (
      select ",
                $bytes,
                " as bytes
      from ",
                $table,
                on_page!(),
                "
      order by cursor_us
      limit ?5 + 1
  ) as sizes
),
fits as materialized (
  select case when bytes <= ?6 then min(rows, ?5) else (
      select max(count(*), 1)
      from (
        select sum(bytes) over (order by cursor_us rows unbounded preceding) as total
        from (
      select cursor_us, ",
                $bytes,
                " as bytes
      from ",
                $table,
                on_page!(),
                "
      order by cursor_us
      limit ?5
        ) as sizes
      ) as totals
      where total <= ?6
    ) end as rows
  from seen
)"
            ),
            "(select rows from seen) > (select rows from fits)",
            "(select rows from fits)"
        )
    };
}

const CONTACTS: &str = page_of!(
    "contacts",
    "id, workspace_id, cursor_us, name, email, phone_number, banned_at",
    "props"
);

const DEALS: &str = page_within!(
    "deals",
    "id, workspace_id, cursor_us, person_id, agent_id, owner_id, status, title, created_at,
        updated_at, stage_code, product_id, external_id",
    "props",
    "512 + coalesce(octet_length(props), 0)"
);

const MESSAGES: &str = page_within!(
    "messages",
    "id, workspace_id, cursor_us, conversation_id, created_at, actor, kind, content,
        delivered_at, read_at",
    "metadata",
    "512 + coalesce(octet_length(content), 0) + coalesce(octet_length(metadata), 0)"
);

const CONVERSATIONS: &str = page_within!(
    "conversations",
    "id, workspace_id, cursor_us, contact_id, deal_id, agent_id, agent_type, source, channel,
        status, created_at, updated_at, first_message_at, answered_at, last_message_at,
        no_response_at, transferred_at, appointment_at, closed_at",
    "props",
    "512 + coalesce(octet_length(props), 0)"
);

// Of a row nothing is read but its id.
const CONTACT_IDS: &str = page_of!("contacts", "id, cursor_us", "null");
const DEAL_IDS: &str = page_of!("deals", "id, cursor_us", "null");
const MESSAGE_IDS: &str = page_of!("messages", "id, cursor_us", "null");
const CONVERSATION_IDS: &str = page_of!("conversations", "id, cursor_us", "null");

// The report has the same order and, where a conversation or a deal is named, an
// index for it; the rest is sifted from what those lead to.
macro_rules! message_errors {
    ($($filter:literal),*) => {
        page_of!(
            "message_errors",
            "id, workspace_id, cursor_us, recipient_id, deal_id, conversation_id, agent_id,
        message_id, external_id, code, title, description, details, template_name, channel,
        occurred_at",
            "null"
            $(, $filter)*
        )
    };
}

macro_rules! message_errors_where {
    ($lead:literal) => {
        message_errors!(
            "
      and (?6 is null or deal_id = ?6)
      and (?7 is null or conversation_id = ?7)
      and (?8 is null or agent_id = ?8)
      and (?9 is null or external_id = ?9)
      and (?10 is null or code = ?10)
      ",
            $lead
        )
    };
}

const MESSAGE_ERRORS: &str = message_errors!();
const SOME_MESSAGE_ERRORS: &str = message_errors_where!("");
const MESSAGE_ERRORS_OF_DEAL: &str = message_errors_where!("and deal_id = ?6");
const MESSAGE_ERRORS_OF_CONVERSATION: &str = message_errors_where!("and conversation_id = ?7");

/// Where a page begins and ends.
#[derive(Clone, Copy)]
struct Bounds {
    after: i64,
    /// None: the feed as it stands.
    upper: Option<i64>,
    limit: u32,
}

type Statement<'q> = sqlx::query::Query<'q, sqlx::Sqlite, SqliteArguments>;

fn bound<'q>(sql: &'static str, scope: &Scope, entity: Entity, bounds: Bounds) -> Statement<'q> {
    sqlx::query(sql)
        .bind(scope.workspace().to_string())
        .bind(i64::from(entity.code()))
        .bind(bounds.after)
        .bind(bounds.upper)
        .bind(i64::from(bounds.limit))
}

/// What the rows of a page make, and the feed's clock in the same moment. A large page
/// is read and put together off the threads that serve.
async fn read(
    db: &Db,
    bounds: Bounds,
    statement: Statement<'_>,
    page: impl FnOnce(&[Listed<'_>], u32, i64, i64) -> Result<ExportPage, StoreError> + Send + 'static,
) -> Result<ExportPage, StoreError> {
    let row = statement.fetch_one(db.readers()).await?;
    let is_large = row.try_get::<&str, _>("rows")?.len() > limits::PIECE_BYTES;
    let compose = move || {
        let clock: i64 = row.try_get("clock")?;
        let rows = listed(row.try_get("rows")?)?;
        let upper = bounds.upper.unwrap_or(clock);
        let mut page = page(&rows, bounds.limit, upper, clock)?;
        page.more |= row.try_get::<bool, _>("more")?;
        Ok(page)
    };
    if !is_large {
        return compose();
    }
    tokio::task::spawn_blocking(compose)
        .await
        .map_err(|died| StoreError::from(sqlx::Error::Io(std::io::Error::other(died))))?
}

pub async fn message_errors(
    db: &Db,
    scope: &Scope,
    filter: &MessageErrorFilter,
    after: i64,
    upper: Option<i64>,
    limit: u32,
) -> Result<ExportPage, StoreError> {
    let entity = Entity::MessageErrors;
    let sql = match filter {
        filter if filter.conversation.is_some() => MESSAGE_ERRORS_OF_CONVERSATION,
        filter if filter.deal.is_some() => MESSAGE_ERRORS_OF_DEAL,
        _ => SOME_MESSAGE_ERRORS,
    };
    let bounds = Bounds {
        after,
        upper,
        limit,
    };
    let statement = bound(sql, scope, entity, bounds)
        .bind(filter.deal.map(|id| id.to_string()))
        .bind(filter.conversation.map(|id| id.to_string()))
        .bind(filter.agent.map(|agent| agent.0))
        .bind(filter.external_id.as_deref())
        .bind(filter.error_code.as_deref());
    read(db, bounds, statement, move |rows, limit, upper, clock| {
        export::page(entity, rows, limit, upper, clock)
    })
    .await
}

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
        Entity::MessageErrors => MESSAGE_ERRORS,
        Entity::Tickets | Entity::Products => return Err(export::not_exported(entity)),
    };
    let bounds = Bounds {
        after,
        upper,
        limit,
    };
    let mut statement = bound(sql, scope, entity, bounds);
    if [DEALS, MESSAGES, CONVERSATIONS].contains(&sql) {
        statement = statement.bind(i64::try_from(memory::page_bytes()).unwrap_or(i64::MAX));
    }
    read(db, bounds, statement, move |rows, limit, upper, clock| {
        export::page(entity, rows, limit, upper, clock)
    })
    .await
}

/// The ids of a page, as [`page()`] gives its rows.
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
    let bounds = Bounds {
        after,
        upper,
        limit,
    };
    let statement = bound(sql, scope, entity, bounds);
    read(db, bounds, statement, |rows, limit, upper, clock| {
        export::ids(rows, limit, upper, clock)
    })
    .await
}

#[cfg(test)]
pub(super) const SQL: &[&str] = &[
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
