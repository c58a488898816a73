//! What the export and the reports have in common: rows of a feed in the order
//! of their stamps, in pages, whose cursor holds all that the next page needs.
//!
//! A pull ends where its first page said, also while rows keep changing. The last
//! page is the one whose `next_cursor` is null; another is short where its rows are
//! long. A cursor belongs to its workspace, feed, filter and store.

use std::iter;

use hyper::StatusCode;
use hyper::body::Bytes;
use hyper::header::{HeaderValue, VARY};

use super::auth::WorkspaceCaller;
use super::call::Call;
use super::error::ApiError;
use super::lines::{self, NDJSON};
use super::payload::Payload;
use super::query::Query;
use super::reply::{self, Reply};
use crate::domain::cursor::Cursor;
use crate::domain::row::Entity;
use crate::domain::time::{self, Micros};
use crate::limits;
use crate::store::{ExportPage, Store};

/// What a pull is of; a cursor of the one is none of the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feed {
    Rows(Entity),
    /// That they are there, and no more.
    Ids(Entity),
}

impl Feed {
    /// As cursors hold it.
    fn code(self) -> u8 {
        const IDS: u8 = 0x80;
        match self {
            Self::Rows(entity) => entity.code(),
            Self::Ids(entity) => IDS | entity.code(),
        }
    }
}

/// The rows that a page begins after, and where its pull ends.
#[derive(Clone, Debug)]
pub struct Pull {
    pub feed: Feed,
    pub after: i64,
    /// None: where the feed stands when its first page is read.
    pub upper: Option<i64>,
    /// What the rows are narrowed to, as cursors hold it.
    pub filter: String,
    /// It goes on where a page ended.
    goes_on: bool,
}

impl Pull {
    /// A new one.
    pub fn new(feed: Feed, after: i64, upper: Option<i64>, filter: String) -> Self {
        Self {
            feed,
            after,
            upper,
            filter,
            goes_on: false,
        }
    }

    /// The one that the query's cursor is of, if it has one.
    pub fn of_cursor(
        query: &Query<'_>,
        caller: &WorkspaceCaller,
        store: &dyn Store,
        feed: Feed,
    ) -> Result<Option<Self>, ApiError> {
        let Some(text) = query.get("cursor") else {
            return Ok(None);
        };
        let cursor =
            Cursor::decode(text).map_err(|error| ApiError::BadRequest(format!("{error}.")))?;
        if cursor.workspace != caller.scope().workspace() || cursor.feed != feed.code() {
            return Err(ApiError::BadRequest(
                "The cursor belongs to another export; start this one without it.".to_owned(),
            ));
        }
        if cursor.store != store.id() {
            return Err(ApiError::BadRequest(
                "The cursor is from before the data was restored; rebuild with a full export."
                    .to_owned(),
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

    /// The answer with a page of it.
    pub fn answer(
        self,
        call: &Call<'_>,
        caller: &WorkspaceCaller,
        page: ExportPage,
    ) -> Result<Reply, ApiError> {
        let store = &call.http.core.store;
        if self.goes_on && self.upper.is_some_and(|upper| page.clock < upper) {
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
                    workspace: caller.scope().workspace(),
                    feed: self.feed.code(),
                    store: store.id(),
                    after: last.stamp,
                    // An end that lies ahead is where the feed stands now.
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
        let mut reply = reply::of(StatusCode::OK, form.content_type, payload);
        reply
            .headers_mut()
            .insert(VARY, HeaderValue::from_static("accept, accept-encoding"));
        Ok(reply)
    }
}

/// A time of the query; `otherwise` ends the sentence for who wrote it wrongly.
pub fn time(query: &Query<'_>, name: &str, otherwise: &str) -> Result<Option<Micros>, ApiError> {
    let Some(text) = query.get(name) else {
        return Ok(None);
    };
    let time = time::parse(text).ok_or_else(|| {
        ApiError::BadRequest(format!(
            "`{name}` is an ISO 8601 time such as 2030-01-31T12:00:00Z; {otherwise}."
        ))
    })?;
    Ok(Some(time))
}

/// The stamp after which rows come: inclusive outside, exclusive inside.
pub fn from(since: Micros) -> i64 {
    since.0.saturating_sub(1)
}

/// What stands around the rows.
struct Form {
    content_type: &'static str,
    begin: &'static str,
    between: u8,
    /// Before what is not a row, where there are rows and where there are none.
    after_rows: [&'static str; 2],
    end: &'static str,
}

const ENVELOPE: Form = Form {
    content_type: reply::JSON,
    begin: "{\"data\":[",
    between: b',',
    after_rows: ["],", "],"],
    end: "}",
};

const LINES: Form = Form {
    content_type: NDJSON,
    begin: "",
    between: b'\n',
    after_rows: ["\n{", "{"],
    end: "}\n",
};

/// The rows are JSON already: what the store has put together goes out as it is, a piece
/// after the other. Only an answer that is short is copied, so that it is one.
fn payload(page: ExportPage, form: &Form, next: Option<&str>) -> Payload {
    let begin = Bytes::from_static(form.begin.as_bytes());
    let mut end = form.after_rows[usize::from(page.rows.is_empty())].into();
    tail(&mut end, page.rows.len(), next);
    end.extend_from_slice(form.end.as_bytes());
    let rows = page.joined(form.between);
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
        // Base64 for addresses has nothing that JSON would escape.
        Some(next) => {
            body.push(b'"');
            body.extend_from_slice(next.as_bytes());
            body.push(b'"');
        }
        None => body.extend_from_slice(b"null"),
    }
    body.extend_from_slice(format!(",\"count\":{count}").as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::row::ExportRow;

    /// Each row is a piece.
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
    fn pieces_put_together_are_the_answer_and_as_long_as_said() {
        let long = format!("\"{}\"", "a".repeat(limits::PIECE_BYTES));
        let check = |page: ExportPage, form: &Form, next, expect: &str| {
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
    fn every_feed_has_a_number_of_its_own_in_cursors() {
        let all = Entity::ALL.into_iter();
        let codes = all.flat_map(|entity| [Feed::Rows(entity).code(), Feed::Ids(entity).code()]);
        let different: std::collections::BTreeSet<u8> = codes.collect();
        assert_eq!(different.len(), 2 * Entity::ALL.len());
    }
}
