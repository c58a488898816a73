//! Pages of a feed: rows and clock from one snapshot, in stamp order. A page costs the same at any
//! depth, because the index leads to its first row. Each row is written into the page as it is
//! read, and when the page is full the rest is not read, so long rows are never all in memory.

use crate::operations::prelude::*;
use crate::row::export::{
    self, ExportField, ExportFields, ExportPageBuilder, columns, not_exported,
};
use crate::schema::table::TableSchema;
use crate::{ExportPage, MessageErrorFilter, Scope};

statements! {
    static CLOCK: Sql = sql("
select coalesce(max(last_us), 0) as clock
from feed_clock
where workspace_id = :workspace
and entity = :entity");

    static CONTACTS: Sql = made(|| page_of(&schema::CONTACTS, &export::CONTACT, ALL));
    static DEALS: Sql = made(|| page_of(&schema::DEALS, &export::DEAL, ALL));
    static MESSAGES: Sql = made(|| page_of(&schema::MESSAGES, &export::MESSAGE, ALL));
    static CONVERSATIONS: Sql = made(|| page_of(&schema::CONVERSATIONS, &export::CONVERSATION, ALL));

    // Only the id of a row is exported.
    static CONTACT_IDS: Sql = made(|| page_of(&schema::CONTACTS, &export::ID, ALL));
    static DEAL_IDS: Sql = made(|| page_of(&schema::DEALS, &export::ID, ALL));
    static MESSAGE_IDS: Sql = made(|| page_of(&schema::MESSAGES, &export::ID, ALL));
    static CONVERSATION_IDS: Sql = made(|| page_of(&schema::CONVERSATIONS, &export::ID, ALL));
    static ERROR_IDS: Sql = made(|| page_of(&schema::MESSAGE_ERRORS, &export::ID, ALL));

    static ERRORS: Sql = made(|| errors_of(ALL));
    static ERRORS_OF_CONVERSATION: Sql =
        made(|| errors_of("conversation_id = :conversation and (workspace_id = :workspace) is true"));

    static ERRORS_OF_DEAL: Sql =
        made(|| errors_of("deal_id = :deal and (workspace_id = :workspace) is true"));
}

fn page_of(table: &TableSchema, fields: &[ExportField], filter: &str) -> String {
    format!(
        "
select {}
from {}
where {filter}
and cursor_us > :after
and cursor_us <= :upper
order by cursor_us
limit :rows",
        columns(fields),
        table.name,
    )
}

const ALL: &str = "workspace_id = :workspace";

// An index leads to the rows of a conversation or of a deal, in the same order. The other filters
// are applied to those rows. `is true` keeps the index of the workspace from being used instead.
fn errors_of(by: &str) -> String {
    let filter = format!(
        "{by}
and (:conversation::uuid is null or conversation_id = :conversation)
and (:deal::uuid is null or deal_id = :deal)
and (:agent::bigint is null or agent_id = :agent)
and (:external_id::text is null or external_id = :external_id)
and (:code::text is null or code = :code)"
    );
    page_of(&schema::MESSAGE_ERRORS, &export::MESSAGE_ERROR, &filter)
}

#[leadhost_boxed::boxed]
impl Store {
    /// Returns rows with `after < stamp <= upper` in stamp order. Without `upper`, the feed clock
    /// in the same snapshot as the rows is used.
    pub async fn export(
        &self,
        scope: &Scope,
        entity: Entity,
        after: i64,
        upper: Option<i64>,
        limit: u32,
    ) -> Result<ExportPage, StoreError> {
        let (sql, fields): (&'static Sql, ExportFields) = match entity {
            Entity::Contacts => (&CONTACTS, &*export::CONTACT),
            Entity::Deals => (&DEALS, &*export::DEAL),
            Entity::Messages => (&MESSAGES, &*export::MESSAGE),
            Entity::Conversations => (&CONVERSATIONS, &*export::CONVERSATION),
            Entity::MessageErrors => (&ERRORS, &*export::MESSAGE_ERROR),
            Entity::Tickets | Entity::Products => return Err(not_exported(entity)),
        };
        let (feed, bounds) = ((entity, sql, fields), (after, upper, limit));
        self.page(scope, feed, bounds, MessageErrorFilter::default())
            .await
    }

    /// Returns only the ids of such rows.
    pub async fn export_ids(
        &self,
        scope: &Scope,
        entity: Entity,
        after: i64,
        upper: Option<i64>,
        limit: u32,
    ) -> Result<ExportPage, StoreError> {
        let sql = match entity {
            Entity::Contacts => &CONTACT_IDS,
            Entity::Deals => &DEAL_IDS,
            Entity::Messages => &MESSAGE_IDS,
            Entity::Conversations => &CONVERSATION_IDS,
            Entity::MessageErrors => &ERROR_IDS,
            Entity::Tickets | Entity::Products => return Err(not_exported(entity)),
        };
        let fields: ExportFields = &export::ID;
        let (feed, bounds) = ((entity, sql, fields), (after, upper, limit));
        self.page(scope, feed, bounds, MessageErrorFilter::default())
            .await
    }

    /// Returns rows of the report with `after < stamp <= upper` in stamp order, as
    /// [`Store::export`] does for an entity.
    pub async fn message_errors(
        &self,
        scope: &Scope,
        filter: &MessageErrorFilter,
        after: i64,
        upper: Option<i64>,
        limit: u32,
    ) -> Result<ExportPage, StoreError> {
        let sql = match (filter.conversation, filter.deal) {
            (Some(_), _) => &ERRORS_OF_CONVERSATION,
            (None, Some(_)) => &ERRORS_OF_DEAL,
            (None, None) => &ERRORS,
        };
        let fields: ExportFields = &export::MESSAGE_ERROR;
        let feed = (Entity::MessageErrors, sql, fields);
        self.page(scope, feed, (after, upper, limit), filter.clone())
            .await
    }

    /// Reads a page between its bounds; the upper one may be the feed's clock. Only the statements
    /// of the report use the filter.
    async fn page(
        &self,
        scope: &Scope,
        (entity, sql, fields): (Entity, &'static Sql, ExportFields),
        (after, upper, limit): (i64, Option<i64>, u32),
        filter: MessageErrorFilter,
    ) -> Result<ExportPage, StoreError> {
        let workspace = scope.workspace();
        steps!(self.database.read_many(Of(&[workspace])), |tx| {
            let args = args! { workspace, entity: entity.code() };
            let clock: i64 = tx.only(&CLOCK, &args, |row| row.get("clock")).await?;
            let upper = upper.unwrap_or(clock);
            let args = args! {
                workspace,
                after,
                upper,
                // One row more than asked for shows whether rows remain.
                rows: i64::from(limit) + 1,
                conversation: filter.conversation,
                deal: filter.deal,
                agent: filter.agent,
                external_id: filter.external_id.as_deref(),
                code: filter.error_code.as_deref(),
            };
            let mut page = ExportPageBuilder::new(fields, limit);
            tx.rows_while(sql, &args, |row| page.add(row)).await?;
            Ok(page.done(upper, clock))
        })
        .await
    }
}
