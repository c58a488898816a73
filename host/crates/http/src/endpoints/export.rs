//! `GET /v1/export/{entity}`: the changed rows of a workspace, in pages. `GET
//! /v1/export/{entity}/ids`: the ids of the existing rows, by which a client finds the removed
//! rows in its copy. It is read from an index, without the rows.
//!
//! Rows are ordered by their stamps. `updated_since` is inclusive, so a client that passes on
//! the greatest stamp it has seen misses nothing. A row that changes during a pull lies above
//! the pull's bound, and the next pull returns it.

use crate::auth::WorkspaceCaller;
use crate::call::Call;
use crate::error::ApiError;
use crate::feed::{self, FeedKind, Pull};
use crate::query::Query;
use crate::reply::ApiResponse;
use leadhost_domain::limits;
use leadhost_domain::row::Entity;

/// The parameters of the query.
pub const PARAMETERS: [&str; 3] = ["updated_since", "cursor", "limit"];

/// Returns a page of the changed rows of an entity.
pub async fn page(
    call: &Call<'_>,
    caller: &WorkspaceCaller,
    entity: &str,
) -> Result<ApiResponse, ApiError> {
    let feed = FeedKind::Rows(parse_entity(entity)?);
    answer(call, caller, feed).await
}

/// Returns a page of the ids of the existing rows of an entity.
pub async fn ids(
    call: &Call<'_>,
    caller: &WorkspaceCaller,
    entity: &str,
) -> Result<ApiResponse, ApiError> {
    let feed = FeedKind::Ids(parse_entity(entity)?);
    answer(call, caller, feed).await
}

fn parse_entity(text: &str) -> Result<Entity, ApiError> {
    Entity::from_text(text).ok_or_else(|| {
        let known = Entity::EXPORTED.map(Entity::as_str).join(", ");
        ApiError::NotFound(format!(
            "There is no such entity to export; use one of {known}."
        ))
    })
}

async fn answer(
    call: &Call<'_>,
    caller: &WorkspaceCaller,
    feed: FeedKind,
) -> Result<ApiResponse, ApiError> {
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

fn lower_bound(query: &Query<'_>) -> Result<i64, ApiError> {
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
