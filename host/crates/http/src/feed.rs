//! Pages of a feed, as the export and the reports have them: rows in the order of their stamps.
//! The cursor of a page holds everything that the next page needs.
//!
//! The end of a pull is fixed by its first page, also while rows keep changing. The last page is
//! the one whose `next_cursor` is null; other pages may be short if their rows are long. A cursor
//! belongs to its workspace, feed, filter and store.

use std::iter;

use hyper::header::VARY;

use super::auth::WorkspaceCaller;
use super::lines::{self, NDJSON};
use super::openapi::operation::Operation;
use super::query;
use super::terms::{page_limit, pattern, time as time_term};
use crate::prelude::*;
use leadhost_domain::cursor::Cursor;
use leadhost_domain::json;
use leadhost_domain::row::Entity;
use leadhost_domain::time;
use leadhost_store::ExportPage;

pub const ANSWERED: &str = "A page of rows.";

pub fn paged(operation: Operation<'_>) -> Operation<'_> {
    operation
        .query("cursor", pattern("^([0-9A-Za-z_-]{75,})?$", ""), "The `next_cursor` of the previous page; empty or absent for the first. It is valid for its workspace, feed and filters, and across restarts.")
        .query("limit", page_limit(limits::EXPORT_PAGE_MAX, limits::EXPORT_PAGE_DEFAULT), "Rows per page. A value out of range is adjusted, not refused.")
}

/// Describes the parameters of a pull that has no end but the feed's.
pub fn pull(operation: Operation<'_>) -> Operation<'_> {
    let since = "Only rows that changed at this time or later. Default: all rows.";
    paged(operation.query("updated_since", time_term(""), since))
}

/// The feed of a pull. A cursor of one feed is not valid for another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FeedKind {
    Rows(Entity),
    /// Only the ids of the rows that exist.
    Ids(Entity),
}

impl FeedKind {
    fn code(self) -> u8 {
        const IDS: u8 = 0x80;
        match self {
            Self::Rows(entity) => entity.code(),
            Self::Ids(entity) => IDS | entity.code(),
        }
    }
}

/// A pull: where its next page begins, and where it ends.
#[derive(Clone, Debug)]
pub struct Pull {
    pub feed: FeedKind,
    pub after: i64,
    /// None: the end of the feed when the first page is read.
    pub upper: Option<i64>,
    /// The filter of the rows, in the form that cursors hold.
    pub filter: String,
    /// Whether it continues from a cursor.
    goes_on: bool,
}

impl Pull {
    pub fn new(feed: FeedKind, after: i64, upper: Option<i64>, filter: String) -> Self {
        Self {
            feed,
            after,
            upper,
            filter,
            goes_on: false,
        }
    }

    /// Returns the pull that the query's cursor continues, or `None` without a cursor.
    pub fn from_cursor(
        query: &Query<'_>,
        caller: &WorkspaceCaller,
        store: &Store,
        feed: FeedKind,
    ) -> Result<Option<Self>, ApiError> {
        let Some(text) = query.cursor()? else {
            return Ok(None);
        };
        let cursor = Cursor::decode(text).map_err(query::broken_cursor)?;
        if cursor.workspace != caller.scope().workspace() || cursor.feed != feed.code() {
            return Err(ApiError::coded(
                ErrorCode::InvalidCursor,
                "The cursor belongs to another export; start this one without it.",
            ));
        }
        if cursor.store != store.id() {
            return Err(ApiError::coded(
                ErrorCode::DataRestored,
                "The cursor is from before the data was restored; rebuild with a full export.",
            ));
        }
        Ok(Some(Self {
            feed,
            after: cursor.after,
            upper: Some(cursor.upper),
            filter: cursor.filter,
            goes_on: true,
        }))
    }

    pub fn answer(
        self,
        call: &Call<'_>,
        caller: &WorkspaceCaller,
        page: ExportPage,
    ) -> Result<ApiResponse, ApiError> {
        let store = &call.http.core.store;
        if self.goes_on && self.upper.is_some_and(|upper| page.clock < upper) {
            // The store no longer has the state that the first page saw.
            return Err(ApiError::coded(
                ErrorCode::DataRestored,
                "The data was restored to a state before this cursor; rebuild with a full export.",
            ));
        }
        let next = match page.rows.last() {
            Some(last) if page.more => Some(
                Cursor {
                    workspace: caller.scope().workspace(),
                    feed: self.feed.code(),
                    store: store.id(),
                    after: last.stamp,
                    // An end in the future is replaced by the feed's current end.
                    upper: page.upper.min(page.clock),
                    filter: self.filter,
                }
                .encode(),
            ),
            _ => None,
        };
        let form = if lines::are_wanted(&call.head.headers) {
            &LINES
        } else {
            &ENVELOPE
        };
        let payload = payload(page, form, next.as_deref());
        let mut reply = reply::with_payload(StatusCode::OK, form.content_type, payload);
        reply
            .headers_mut()
            .insert(VARY, HeaderValue::from_static("accept, accept-encoding"));
        Ok(reply)
    }
}

/// Returns a time of the query, or `None` without one. `otherwise` ends the error's sentence.
pub fn time(query: &Query<'_>, name: &str, otherwise: &str) -> Result<Option<Micros>, ApiError> {
    let Some(text) = query.get(name) else {
        return Ok(None);
    };
    let time = time::read(text).map_err(|error| {
        let lacks = error.lacks();
        ApiError::parameter(format!(
            "`{name}`{lacks} must be an RFC 3339 time with its offset, such as 2030-01-31T12:00:00Z or \
             2030-01-31T09:00:00-03:00; {otherwise}."
        ))
    })?;
    Ok(Some(time))
}

/// Returns the stamp after which rows are read: the parameter is inclusive, the stamp exclusive.
pub fn from(since: Micros) -> i64 {
    since.0.saturating_sub(1)
}

/// The text around the rows.
struct PageForm {
    content_type: &'static str,
    begin: &'static str,
    between: u8,
    /// The text before the members that follow the rows: with rows, and without.
    after_rows: [&'static str; 2],
    end: &'static str,
}

const ENVELOPE: PageForm = PageForm {
    content_type: reply::JSON,
    begin: "{\"data\":[",
    between: b',',
    after_rows: ["],", "],"],
    end: "}",
};

const LINES: PageForm = PageForm {
    content_type: NDJSON,
    begin: "",
    between: b'\n',
    after_rows: ["\n{", "{"],
    end: "}\n",
};

/// Returns the payload of a page. The rows are JSON already, so the store's pieces are sent one after
/// the other, unchanged but for characters at which readers end a line. Only a short answer is copied
/// into one piece.
fn payload(page: ExportPage, form: &PageForm, next: Option<&str>) -> Payload {
    let begin = Bytes::from_static(form.begin.as_bytes());
    let mut end = form.after_rows[usize::from(page.rows.is_empty())].into();
    tail(&mut end, page.rows.len(), next);
    end.extend_from_slice(form.end.as_bytes());
    let rows = page.joined(form.between).into_iter();
    let rows: Vec<_> = rows.map(json::without_line_ends).collect();
    let of_rows: usize = rows.iter().map(Vec::len).sum();
    let bytes = begin.len() + of_rows + end.len();
    let pieces = iter::once(begin)
        .chain(rows.into_iter().map(Bytes::from))
        .chain(iter::once(Bytes::from(end)))
        .filter(|piece| !piece.is_empty());
    if bytes <= limits::PIECE_BYTES {
        return Payload::whole(pieces.collect::<Vec<_>>().concat());
    }
    Payload::pieces(bytes, pieces)
}

fn tail(body: &mut Vec<u8>, count: usize, next: Option<&str>) {
    body.extend_from_slice(b"\"next_cursor\":");
    match next {
        // URL-safe base64 has no character that JSON escapes.
        Some(next) => {
            body.push(b'"');
            body.extend_from_slice(next.as_bytes());
            body.push(b'"');
        }
        None => body.extend_from_slice(b"null"),
    }
    body.extend_from_slice(format!(",\"count\":{count}").as_bytes());
}

/// Answers a pull of a feed, which may begin at a time.
pub async fn answer(
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
    let since = time(query, "updated_since", "leave it out for a full export")?;
    Ok(since.map_or(i64::MIN, from))
}

#[cfg(test)]
mod tests {
    use super::*;
    use leadhost_domain::row::ExportRow;

    fn page(rows: &[&str]) -> ExportPage {
        let of = |json: &&str| ExportRow {
            stamp: 1,
            bytes: json.len(),
        };
        ExportPage {
            rows: rows.iter().map(of).collect(),
            pieces: rows
                .iter()
                .map(|json| format!("{json}\n").into_bytes())
                .collect(),
            ..ExportPage::default()
        }
    }

    #[test]
    fn the_pieces_form_the_answer_and_have_its_length() {
        let long = format!("\"{}\"", "a".repeat(limits::PIECE_BYTES));
        let check = |page: ExportPage, form: &PageForm, next, expect: &str| {
            let pieces = payload(page, form, next);
            let bytes = pieces.bytes();
            let pieces: Vec<Bytes> = pieces.collect();
            assert_eq!(pieces.concat(), expect.as_bytes());
            assert_eq!(bytes, expect.len());
            pieces.len()
        };
        let empty = r#"{"data":[],"next_cursor":null,"count":0}"#;
        assert_eq!(check(page(&[]), &ENVELOPE, None, empty), 1);
        let two = r#"{"data":[1,2],"next_cursor":"abc","count":2}"#;
        assert_eq!(check(page(&["1", "2"]), &ENVELOPE, Some("abc"), two), 1);
        let in_one = ExportPage {
            pieces: vec![b"1\n2\n".to_vec()],
            ..page(&["1", "2"])
        };
        assert_eq!(check(in_one, &ENVELOPE, Some("abc"), two), 1);
        let empty = "{\"next_cursor\":null,\"count\":0}\n";
        assert_eq!(check(page(&[]), &LINES, None, empty), 1);
        let two = format!("{long}\n{long}\n{{\"next_cursor\":null,\"count\":2}}\n");
        assert_eq!(check(page(&[&long, &long]), &LINES, None, &two), 3);
        let two = format!("{{\"data\":[{long},{long}],\"next_cursor\":null,\"count\":2}}");
        assert_eq!(check(page(&[&long, &long]), &ENVELOPE, None, &two), 4);
    }

    #[test]
    fn every_feed_has_its_own_number_in_cursors() {
        let all = Entity::ALL.into_iter();
        let codes =
            all.flat_map(|entity| [FeedKind::Rows(entity).code(), FeedKind::Ids(entity).code()]);
        let different: std::collections::BTreeSet<u8> = codes.collect();
        assert_eq!(different.len(), 2 * Entity::ALL.len());
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
}
