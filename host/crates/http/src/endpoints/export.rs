//! `GET /v1/export/{entity}`: the changed rows of a workspace, in pages. `GET
//! /v1/export/{entity}/ids`: the ids of the existing rows, by which a client finds the removed
//! rows in its copy. It is read from an index, without the rows.
//!
//! Rows are ordered by their stamps. `updated_since` is inclusive, so a client that passes on
//! the greatest stamp it has seen misses nothing. A row that changes during a pull lies above
//! the pull's bound, and the next pull returns it.

use crate::endpoints::prelude::*;
use crate::feed::{self, FeedKind};
use crate::openapi::schemas;
use leadhost_domain::row::{ContactRow, ConversationRow, DealRow, Entity, IdRow, MessageRow};

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
            feed::pull(operation)
                .id($id)
                .summary(summary)
                .describe("As `/v1/export/{entity}`.")
                .answers_lines(200, feed::ANSWERED, &page)
                .refuses(&[400])
        });
        pub async fn $name(call: &Call<'_>, caller: &WorkspaceCaller) -> ApiResult {
            feed::answer(call, caller, FeedKind::Rows(Entity::$entity)).await
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
    feed::pull(operation)
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
    feed::answer(call, caller, feed).await
}

describe!(ids, |mut operation| {
    let page = written::<IdRow>(&mut operation, "IdsPage");
    feed::pull(operation)
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
    feed::answer(call, caller, feed).await
}

fn parse_entity(text: &str) -> ApiResult<Entity> {
    Entity::exported(text).ok_or_else(|| {
        let known = Entity::EXPORTED.map(Entity::as_str).join(", ");
        ApiError::NotFound(format!(
            "There is no such entity to export; use one of {known}."
        ))
    })
}
