//! `GET /v1/export/{entity}`: the rows of a workspace that changed, in pages.
//!
//! Rows come in the order of their stamps. `updated_since` is inclusive, so a
//! client that passes on the greatest stamp it has seen misses nothing. A pull
//! ends where the feed stood at its first page, also while rows keep changing:
//! what changes meanwhile is above that bound and comes with the next pull. A
//! page is short only when it is the last, whose `next_cursor` is null.

use hyper::header::{ACCEPT, HeaderValue, VARY};
use hyper::{HeaderMap, StatusCode};

use crate::domain::cursor::Cursor;
use crate::domain::row::Entity;
use crate::domain::time;
use crate::http::accept::weight;
use crate::http::auth::WorkspaceCaller;
use crate::http::error::ApiError;
use crate::http::query::Query;
use crate::http::reply::{self, Reply};
use crate::http::router::Call;
use crate::limits;
use crate::store::ExportPage;

const NDJSON: &str = "application/x-ndjson";

pub async fn page(
    call: &Call<'_>,
    caller: &WorkspaceCaller,
    entity: &str,
) -> Result<Reply, ApiError> {
    let entity = Entity::of(entity).ok_or_else(|| {
        let known = Entity::ALL.map(Entity::as_str).join(", ");
        ApiError::NotFound(format!(
            "There is no such entity to export; there are {known}."
        ))
    })?;
    let query = call.query();
    let limit = limit(&query)?;
    let store = &call.app.store;
    let scope = caller.scope();
    let (after, upper) = match query.get("cursor") {
        Some(text) => {
            let cursor = cursor(text, caller, entity)?;
            if cursor.store != store.id() {
                return Err(ApiError::BadRequest(
                    "The cursor is from before the data was restored; rebuild with a full export."
                        .to_owned(),
                ));
            }
            (cursor.after, Some(cursor.upper))
        }
        None => (lower_bound(&query)?, None),
    };
    let page = store.export(scope, entity, after, upper, limit).await?;
    if upper.is_some_and(|upper| page.clock < upper) {
        // The store has not seen, or has no longer, what the cursor's first page saw.
        if !store.may_lag() {
            return Err(ApiError::BadRequest(
                "The data was restored to a state before this cursor; rebuild with a full export."
                    .to_owned(),
            ));
        }
        return Err(ApiError::Overloaded {
            what: "The store is behind what this pull has seen already; come again.",
            retry_after: 2,
        });
    }
    let next = match page.rows.last() {
        Some(last) if page.more => Some(
            Cursor {
                workspace: scope.workspace(),
                feed: entity.code(),
                store: store.id(),
                after: last.stamp,
                upper: page.upper,
            }
            .encode(),
        ),
        _ => None,
    };
    let mut reply = if wants_lines(&call.head.headers) {
        reply::bytes_of(StatusCode::OK, NDJSON, lines(&page, next.as_deref()))
    } else {
        reply::bytes_of(
            StatusCode::OK,
            reply::JSON,
            envelope(&page, next.as_deref()),
        )
    };
    reply
        .headers_mut()
        .insert(VARY, HeaderValue::from_static("accept"));
    Ok(reply)
}

/// Out of range is adjusted, however far; what is no whole number is refused.
fn limit(query: &Query<'_>) -> Result<u32, ApiError> {
    let Some(text) = query.get("limit") else {
        return Ok(limits::EXPORT_PAGE_DEFAULT);
    };
    let text = text.trim();
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if digits.is_empty() || !digits.bytes().all(|digit| digit.is_ascii_digit()) {
        return Err(ApiError::BadRequest(format!(
            "`limit` is a whole number from 1 to {}.",
            limits::EXPORT_PAGE_MAX
        )));
    }
    if negative {
        return Ok(1);
    }
    let limit = digits.parse().unwrap_or(u32::MAX);
    Ok(limit.clamp(1, limits::EXPORT_PAGE_MAX))
}

/// The stamp after which rows come: inclusive outside, exclusive inside.
fn lower_bound(query: &Query<'_>) -> Result<i64, ApiError> {
    let Some(text) = query.get("updated_since") else {
        return Ok(i64::MIN);
    };
    let since = time::parse(text).ok_or_else(|| {
        ApiError::BadRequest(
            "`updated_since` is an ISO 8601 time such as 2030-01-31T12:00:00Z; \
             leave it out for a full export."
                .to_owned(),
        )
    })?;
    Ok(since.0.saturating_sub(1))
}

fn cursor(text: &str, caller: &WorkspaceCaller, entity: Entity) -> Result<Cursor, ApiError> {
    let cursor = Cursor::decode(text).map_err(|error| ApiError::BadRequest(format!("{error}.")))?;
    if cursor.workspace != caller.scope().workspace() || cursor.feed != entity.code() {
        return Err(ApiError::BadRequest(
            "The cursor belongs to another export; start this one without it.".to_owned(),
        ));
    }
    Ok(cursor)
}

/// Lines only where they are named and at least as welcome as JSON.
fn wants_lines(headers: &HeaderMap) -> bool {
    let lines = weight(headers, &ACCEPT, NDJSON).unwrap_or(0);
    let json = weight(headers, &ACCEPT, "application/json").unwrap_or(0);
    lines > 0 && lines >= json
}

/// The rows are JSON already: they are put together as they are.
fn envelope(page: &ExportPage, next: Option<&str>) -> Vec<u8> {
    let mut body = Vec::with_capacity(room(page));
    body.extend_from_slice(b"{\"data\":[");
    for (place, row) in page.rows.iter().enumerate() {
        if place > 0 {
            body.push(b',');
        }
        body.extend_from_slice(row.json.as_bytes());
    }
    body.extend_from_slice(b"],");
    tail(&mut body, page, next);
    body.push(b'}');
    body
}

fn lines(page: &ExportPage, next: Option<&str>) -> Vec<u8> {
    let mut body = Vec::with_capacity(room(page));
    for row in &page.rows {
        body.extend_from_slice(row.json.as_bytes());
        body.push(b'\n');
    }
    body.push(b'{');
    tail(&mut body, page, next);
    body.extend_from_slice(b"}\n");
    body
}

fn tail(body: &mut Vec<u8>, page: &ExportPage, next: Option<&str>) {
    body.extend_from_slice(b"\"next_cursor\":");
    match next {
        // Base64 for addresses has nothing that JSON would escape.
        Some(next) => {
            body.push(b'"');
            body.extend_from_slice(next.as_bytes());
            body.push(b'"');
        }
        None => body.extend_from_slice(b"null"),
    }
    body.extend_from_slice(format!(",\"count\":{}", page.rows.len()).as_bytes());
}

fn room(page: &ExportPage) -> usize {
    page.rows
        .iter()
        .map(|row| row.json.len() + 1)
        .sum::<usize>()
        + 160
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_adjusted_or_refused() {
        let check = |text: &str, expect: Option<u32>| {
            let text = format!("limit={text}");
            let query = Query::parse(&text);
            assert_eq!(limit(&query).ok(), expect, "{text}");
        };
        check("1", Some(1));
        check("1000", Some(1000));
        check("1001", Some(1000));
        check("0", Some(1));
        check("-5", Some(1));
        check("%2B7", Some(7));
        check("+7", Some(7));
        check("99999999999999999999999999999999", Some(1000));
        check("", None);
        check("ten", None);
        check("1.5", None);
        check("-", None);
    }

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

    #[test]
    fn lines_are_for_who_names_them() {
        let check = |accept: &'static str, expect: bool| {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT, HeaderValue::from_static(accept));
            assert_eq!(wants_lines(&headers), expect, "{accept}");
        };
        check("application/x-ndjson", true);
        check("application/x-ndjson, */*;q=0.5", true);
        check("application/json, application/x-ndjson;q=0.5", false);
        check("application/x-ndjson;q=0", false);
        check("*/*", false);
    }
}
