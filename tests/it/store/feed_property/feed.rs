//! The feeds that clients read: a store, its export over HTTP, or a table with a stamper
//! of its own.

use std::borrow::Cow;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper::Method;
use leadhost_domain::key::PlainKey;
use leadhost_domain::row::Entity;
use leadhost_domain::time;
use leadhost_store::*;
use leadhost_tests::Ask;
use rusqlite::Connection;
use serde::Deserialize;
use serde_json::value::RawValue;
use sqlx::Row as _;
use sqlx::postgres::PgConnection;
use tokio::sync::Mutex;

/// The pause between two attempts, and the number of attempts, which take a minute.
const PAUSE: Duration = Duration::from_millis(5);
const TRIES: usize = 12_000;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    pub stamp: i64,
    pub id: String,
    /// Exactly as it is exported.
    pub text: String,
}

pub struct Page {
    pub rows: Vec<Row>,
    pub more: bool,
    upper: i64,
    cursor: Option<String>,
}

/// The position of a pull, and the form of its requests.
#[derive(Clone, Debug)]
pub struct Place {
    /// `None`: everything.
    since: Option<i64>,
    digits: usize,
    after: i64,
    upper: Option<i64>,
    cursor: Option<String>,
    limit: Limit,
    lines: bool,
}

/// The limit as a client writes it, and its effective value.
#[derive(Clone, Debug)]
pub struct Limit {
    pub text: String,
    pub rows: usize,
}

impl Limit {
    pub fn new(rows: usize) -> Self {
        Self {
            text: rows.to_string(),
            rows,
        }
    }
}

impl Place {
    pub fn start(limit: Limit, lines: bool) -> Self {
        Self {
            since: None,
            digits: 6,
            after: i64::MIN,
            upper: None,
            cursor: None,
            limit,
            lines,
        }
    }

    /// From this stamp, inclusive, of which the client keeps this many digits of a
    /// second.
    pub fn since(self, stamp: i64, digits: usize) -> Self {
        let unit = 10_i64.pow(6 - u32::try_from(digits).unwrap());
        let since = stamp - stamp.rem_euclid(unit);
        Self {
            since: Some(since),
            digits,
            after: since - 1,
            ..self
        }
    }

    pub fn limit(&self) -> usize {
        self.limit.rows
    }

    pub fn lower(&self) -> i64 {
        self.since.unwrap_or(i64::MIN)
    }

    pub fn went_past(&mut self, page: &Page) {
        self.after = page.rows.last().map_or(self.after, |row| row.stamp);
        self.upper = Some(page.upper);
        self.cursor.clone_from(&page.cursor);
    }

    fn query(&self) -> String {
        let mut query = format!("limit={}", self.limit.text);
        if let Some(since) = self.since {
            let text = time::Micros(since).text();
            let text = match self.digits {
                0 => &text[..19],
                digits => &text[..20 + digits],
            };
            query.push_str(&format!("&updated_since={text}Z"));
        }
        // Clients send all their parameters with every page.
        if let Some(cursor) = &self.cursor {
            query.push_str(&format!("&cursor={cursor}"));
        }
        query
    }
}

pub enum Feed {
    Store {
        store: Arc<Store>,
        scope: Scope,
        entity: Entity,
    },
    Http {
        to: SocketAddr,
        key: PlainKey,
        entity: Entity,
    },
    /// A table `feed` in a file.
    File(Mutex<Connection>),
    /// The same in a database, read with this query.
    Database(Mutex<PgConnection>, &'static str),
}

pub const TABLE_PAGE: &str = "
select cur, id, (select coalesce(max(cur), 0) from feed) as clock
from feed
where cur > $1
and cur <= coalesce($2, (select max(cur) from feed))
order by cur, id
limit $3";

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow)]
    data: Vec<&'a RawValue>,
    #[serde(flatten, borrow)]
    end: EnvelopeEnd<'a>,
}

#[derive(Deserialize)]
struct EnvelopeEnd<'a> {
    #[serde(borrow)]
    next_cursor: Option<Cow<'a, str>>,
    count: usize,
}

#[derive(Deserialize)]
struct Head<'a> {
    #[serde(borrow)]
    id: Cow<'a, str>,
    #[serde(borrow)]
    cursor_at: Cow<'a, str>,
}

impl Feed {
    /// Reads a page, as soon as a host has one.
    pub async fn page(&self, place: &Place) -> Page {
        for _ in 0..TRIES {
            if let Some(page) = self.try_page(place).await {
                return page;
            }
            tokio::time::sleep(PAUSE).await;
        }
        panic!("there is no page at {place:?}");
    }

    /// `None`: the host has lost its database, or asks for a retry.
    async fn try_page(&self, place: &Place) -> Option<Page> {
        match self {
            Self::Store {
                store,
                scope,
                entity,
            } => {
                let limit = u32::try_from(place.limit.rows).unwrap();
                let page = store.export(scope, *entity, place.after, place.upper, limit);
                match page.await {
                    Ok(page) => Some(page_from_store(page)),
                    Err(StoreError::Unavailable(_) | StoreError::Contended) => None,
                    Err(error) => panic!("it exports: {error}"),
                }
            }
            Self::Http { to, key, entity } => {
                let target = format!("/v1/export/{}?{}", entity.as_str(), place.query());
                let accept = match place.lines {
                    true => "application/x-ndjson",
                    false => "application/json",
                };
                let ask = Ask::new(*to, Method::GET, &target)
                    .bearer(key)
                    .header("accept", accept);
                let answer = ask.try_send().await?;
                if [429, 503].contains(&answer.status) {
                    return None;
                }
                let answer = answer.expect(200);
                Some(match place.lines {
                    true => page_from_lines(answer.text()),
                    false => page_from_envelope(answer.text()),
                })
            }
            Self::File(connection) => {
                let found = read_file_page(&*connection.lock().await, place);
                Some(found.expect("it reads"))
            }
            Self::Database(connection, sql) => {
                let found = sqlx::query(*sql)
                    .bind(place.after)
                    .bind(place.upper)
                    .bind(i64::try_from(place.limit.rows).unwrap() + 1)
                    .fetch_all(&mut *connection.lock().await)
                    .await
                    .expect("it reads");
                let row = |row: &sqlx::postgres::PgRow| (row.get("cur"), row.get("id"));
                let clock = found.first().map(|row| row.get("clock"));
                Some(page_from_table(
                    found.iter().map(row).collect(),
                    clock,
                    place,
                ))
            }
        }
    }

    /// Returns every row that exists now.
    pub async fn all(&self) -> Vec<Row> {
        let mut place = Place::start(Limit::new(1_000), false);
        let mut rows = Vec::new();
        loop {
            let page = self.page(&place).await;
            place.went_past(&page);
            rows.extend(page.rows);
            if !page.more {
                return rows;
            }
        }
    }
}

fn page_from_store(page: ExportPage) -> Page {
    assert!(page.clock >= page.upper, "the clock is past every bound");
    let rows = page.rows.iter().zip(page.texts()).map(|(row, text)| {
        let head: Head<'_> = serde_json::from_str(text).expect("a row");
        Row {
            stamp: row.stamp,
            id: head.id.into_owned(),
            text: text.to_owned(),
        }
    });
    Page {
        rows: rows.collect(),
        more: page.more,
        upper: page.upper,
        cursor: None,
    }
}

fn page_from_lines(text: &str) -> Page {
    let (rows, end) = match text.trim_end().rsplit_once('\n') {
        Some((rows, end)) => (rows, end),
        None => ("", text),
    };
    page_from_wire(
        rows.lines(),
        serde_json::from_str(end).expect("a last line"),
    )
}

fn page_from_envelope(text: &str) -> Page {
    let envelope: Envelope<'_> = serde_json::from_str(text).expect("an envelope");
    page_from_wire(envelope.data.iter().map(|row| row.get()), envelope.end)
}

fn page_from_wire<'a>(rows: impl Iterator<Item = &'a str>, end: EnvelopeEnd<'_>) -> Page {
    let rows: Vec<_> = rows
        .map(|text| {
            let head: Head<'_> = serde_json::from_str(text).expect("a row");
            assert_eq!(head.cursor_at.len(), 27, "{}", head.cursor_at);
            Row {
                stamp: time::parse(&head.cursor_at).expect("a time").0,
                id: head.id.into_owned(),
                text: text.to_owned(),
            }
        })
        .collect();
    assert_eq!(end.count, rows.len());
    Page {
        rows,
        more: end.next_cursor.is_some(),
        upper: i64::MAX,
        cursor: end.next_cursor.map(Cow::into_owned),
    }
}

fn read_file_page(connection: &Connection, place: &Place) -> rusqlite::Result<Page> {
    let limit = i64::try_from(place.limit.rows).unwrap() + 1;
    let mut page = connection.prepare(TABLE_PAGE)?;
    let mut rows = page.query((place.after, place.upper, limit))?;
    let (mut found, mut clock) = (Vec::new(), None);
    while let Some(row) = rows.next()? {
        found.push((row.get("cur")?, row.get("id")?));
        clock = Some(row.get("clock")?);
    }
    Ok(page_from_table(found, clock, place))
}

fn page_from_table(mut found: Vec<(i64, String)>, clock: Option<i64>, place: &Place) -> Page {
    let more = found.len() > place.limit.rows;
    found.truncate(place.limit.rows);
    let row = |(stamp, id)| Row {
        stamp,
        id,
        text: String::new(),
    };
    Page {
        rows: found.into_iter().map(row).collect(),
        more,
        upper: place.upper.or(clock).unwrap_or(place.after),
        cursor: None,
    }
}
