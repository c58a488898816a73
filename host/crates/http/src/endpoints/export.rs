//! `GET /v1/export/{entity}`: the changed rows of a workspace, in pages. `GET
//! /v1/export/{entity}/ids`: the ids of the existing rows, by which a client finds the removed
//! rows in its copy. It is read from an index, without the rows.
//!
//! Rows are ordered by their stamps. `updated_since` is inclusive, so a client that passes on
//! the greatest stamp it has seen misses nothing. A row that changes during a pull lies above
//! the pull's bound, and the next pull returns it.

use crate::endpoints::prelude::*;
use crate::feed::{self, FeedKind, Pull};
use crate::openapi::schemas;
use crate::terms::time;
use leadhost_domain::row::{ContactRow, ConversationRow, DealRow, Entity, IdRow, MessageRow};

fn pull(operation: Operation<'_>) -> Operation<'_> {
    let since = "Only rows that changed at this time or later. Default: all rows.";
    feed::paged(operation.query("updated_since", time(""), since))
}

fn written<T: ToSchema>(operation: &mut Operation<'_>, name: &str) -> Value {
    let row = operation.schema::<T>();
    operation.written(name, schemas::page(&row))
}

/// Makes the export of an entity with its own type, for generated clients.
macro_rules! export {
    ($name:ident $entity:ident $row:ident $page:literal $id:literal) => {
        describe!($name, |mut operation| {
            let page = written::<$row>(&mut operation, $page);
            let summary = concat!(
                "Exports ",
                stringify!($name),
                " in the order of their changes"
            );
            pull(operation)
                .id($id)
                .summary(summary)
                .describe("As `/v1/export/{entity}`.")
                .answers_lines(200, feed::ANSWERED, &page)
                .refuses(&[400])
        });
        pub async fn $name(call: &Call<'_>, caller: &WorkspaceCaller) -> ApiResult {
            answer(call, caller, FeedKind::Rows(Entity::$entity)).await
        }
    };
}

export!(conversations Conversations ConversationRow "ConversationsPage" "exportConversations");
export!(messages Messages MessageRow "MessagesPage" "exportMessages");
export!(contacts Contacts ContactRow "ContactsPage" "exportContacts");
export!(deals Deals DealRow "DealsPage" "exportDeals");

describe!(page, |mut operation| {
    let pages = [
        written::<ConversationRow>(&mut operation, "ConversationsPage"),
        written::<MessageRow>(&mut operation, "MessagesPage"),
        written::<ContactRow>(&mut operation, "ContactsPage"),
        written::<DealRow>(&mut operation, "DealsPage"),
    ];
    pull(operation)
        .id("exportRows")
        .summary("Exports rows in the order of their changes")
        .describe(
            "Follow `next_cursor` until it is null. Pass the greatest `cursor_at` that you processed as the next pull's \
             `updated_since`. It is inclusive: a row can be repeated, so upsert by `id`. Rows are ordered by `cursor_at`. \
             Deletions are not reported: `/v1/export/{entity}/ids` lists the rows that exist.",
        )
        .answers_lines(200, feed::ANSWERED, &json!({"anyOf": pages}))
        .shows("contacts", "The only page of contacts", json!({
            "data": [ContactRow::example()],
            "next_cursor": null,
            "count": 1,
        }))
        .refuses(&[400, 404])
});
pub async fn page(call: &Call<'_>, caller: &WorkspaceCaller, entity: &str) -> ApiResult {
    let feed = FeedKind::Rows(parse_entity(entity)?);
    answer(call, caller, feed).await
}

describe!(ids, |mut operation| {
    let page = written::<IdRow>(&mut operation, "IdsPage");
    pull(operation)
        .summary("Lists the ids of the rows that exist")
        .describe(
            "For clients that keep a copy: removals are not reported, and removed rows are not listed here. Pages, bounds \
             and cursors work as in the export, but each refuses the other's cursors. A row that changes during the pull \
             moves past its end. Export the changes once more afterwards, and treat only rows that neither pull named as \
             removed.",
        )
        .answers_lines(200, feed::ANSWERED, &page)
        .refuses(&[400, 404])
});
pub async fn ids(call: &Call<'_>, caller: &WorkspaceCaller, entity: &str) -> ApiResult {
    let feed = FeedKind::Ids(parse_entity(entity)?);
    answer(call, caller, feed).await
}

fn parse_entity(text: &str) -> ApiResult<Entity> {
    Entity::exported(text).ok_or_else(|| {
        let known = Entity::EXPORTED.map(Entity::as_str).join(", ");
        ApiError::NotFound(format!(
            "There is no such entity to export; use one of {known}."
        ))
    })
}

async fn answer(call: &Call<'_>, caller: &WorkspaceCaller, feed: FeedKind) -> ApiResult {
    let query = call.query();
    let limit = query.limit(limits::EXPORT_PAGE_DEFAULT, limits::EXPORT_PAGE_MAX)?;
    let store = &call.http.core.store;
    let pull = match Pull::from_cursor(&query, caller, store, feed)? {
        Some(pull) => pull,
        None => Pull::new(feed, lower_bound(&query)?, None, String::new()),
    };
    let scope = caller.scope();
    let (after, upper) = (pull.after, pull.upper);
    let page = match feed {
        FeedKind::Rows(entity) => store.export(scope, entity, after, upper, limit).await?,
        FeedKind::Ids(entity) => store.export_ids(scope, entity, after, upper, limit).await?,
    };
    pull.answer(call, caller, page)
}

fn lower_bound(query: &Query<'_>) -> ApiResult<i64> {
    let since = feed::time(query, "updated_since", "leave it out for a full export")?;
    Ok(since.map_or(i64::MIN, feed::from))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lower_bound_is_inclusive_and_never_falls_back_to_everything() {
        let check = |text: &str, expect: Option<i64>| {
            let query = Query::parse(text);
            assert_eq!(lower_bound(&query).ok(), expect, "{text}");
        };
        check("", Some(i64::MIN));
        check("updated_since=1970-01-01T00:00:01Z", Some(999_999));
        check("updated_since=1970-01-01T01:00:01%2B01:00", Some(999_999));
        check("updated_since=1970-01-01T01:00:01+01:00", Some(999_999));
        check("updated_since=", None);
        check("updated_since=yesterday", None);
    }
}
