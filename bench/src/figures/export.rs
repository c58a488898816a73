//! A full pull of a million messages over HTTP, page by page, and whether a
//! page deep in the feed costs more than the first.
//!
//! The messages are written directly into the store's tables, since only the export is
//! measured. Every pull must return each of them once.
//!
//! For comparison a bare loop reads the same columns of the same rows and writes nothing,
//! which is the most that an export could reach; and a baseline, if there is one.

use std::hint::black_box;
use std::io::Read as _;
use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::params;
use serde_json::json;

use crate::host::{self, Host, Workspace};
use crate::http::Client;
use crate::report::{Report, Table, count, time};
use crate::rows::{self, Ids};
use crate::sample::{Sample, median};
use crate::{Arguments, Build, Failure, round};

pub(super) const MESSAGES: u64 = 1_000_000;
pub(super) const PAGE: u64 = 1_000;
/// The stamp before the first message's.
pub(super) const FIRST: i64 = 1_700_000_000_000_000;
/// Pages fetched at each depth.
pub(super) const TIMES: usize = 200;
pub(super) const MOST_TIMES_FIRST: f64 = 1.2;
/// The aim, as a share of the rate of a bare loop.
const LEAST_OF_BARE: f64 = 0.5;
/// Timeout of a page.
pub(super) const PATIENCE: Duration = Duration::from_secs(120);

/// A format of pages.
pub(super) struct Form {
    pub(super) name: &'static str,
    pub(super) headers: &'static str,
    gzip: bool,
}

pub(super) const FORMS: [Form; 3] = [
    Form {
        name: "JSON",
        headers: "accept-encoding: identity\r\n",
        gzip: false,
    },
    Form {
        name: "JSON, gzip",
        headers: "accept-encoding: gzip\r\n",
        gzip: true,
    },
    Form {
        name: "NDJSON",
        headers: "accept: application/x-ndjson\r\naccept-encoding: identity\r\n",
        gzip: false,
    },
];

pub(super) struct Pull {
    /// Time of the requests only, without the client's parsing of the pages.
    pub(super) took: Duration,
    bytes: u64,
    /// The cursor of each page; the first has none.
    pub(super) cursors: Vec<Option<String>>,
}

/// A pull with the service's processor time.
struct Pulled {
    pull: Pull,
    processor: Duration,
}

/// A build of the service that serves seeded messages.
struct SeededBuild {
    name: &'static str,
    host: Host,
    client: Client,
    workspace: Workspace,
    pulls: [Vec<Pulled>; 3],
    /// The last field, so that it is dropped after the service has ended.
    folder: tempfile::TempDir,
}

impl SeededBuild {
    fn begin(arguments: &Arguments, build: Build<'_>) -> Result<Self, Failure> {
        let folder = arguments.scratch()?;
        let host = Host::start(build.program, folder.path(), "")?;
        host.activate(&arguments.component()?)?;
        let workspace = host.apply()?;
        host.stop()?;
        eprintln!("  seeding {MESSAGES} messages for {}", build.name);
        seed(&host::database(folder.path()), &workspace.id)?;
        let host = Host::start(build.program, folder.path(), "")?;
        Ok(Self {
            name: build.name,
            client: Client::connect(host.data, Some(&workspace.key))?,
            host,
            workspace,
            pulls: Default::default(),
            folder,
        })
    }
}

/// Measures full pulls, a bare loop over the same rows, and pages by depth.
pub fn measure(arguments: &Arguments) -> Result<Report, Failure> {
    let mut sides = arguments
        .builds()
        .into_iter()
        .map(|build| SeededBuild::begin(arguments, build))
        .collect::<Result<Vec<_>, _>>()?;
    let mut bare = Vec::new();
    for number in 1..=arguments.rounds {
        for (at, form) in FORMS.iter().enumerate() {
            for side in round::in_turn(&mut sides, number) {
                // An idle connection may have been closed.
                side.client.reconnect(PATIENCE)?;
                let before = side.host.process.processor()?;
                let pull = pull(&mut side.client, form)?;
                let processor = side.host.process.processor()?.saturating_sub(before);
                eprintln!(
                    "  round {number}: {}, {}: {} rows/s",
                    side.name,
                    form.name,
                    count(MESSAGES as f64 / pull.took.as_secs_f64())
                );
                side.pulls[at].push(Pulled { pull, processor });
            }
        }
        let took = bare_loop(
            &host::database(sides[0].folder.path()),
            &sides[0].workspace.id,
        )?;
        eprintln!(
            "  round {number}: a bare loop: {} rows/s",
            count(MESSAGES as f64 / took.as_secs_f64())
        );
        bare.push(took.as_secs_f64());
    }
    let service = &mut sides[0];
    service.client.reconnect(PATIENCE)?;
    let depths = at_depths(&mut service.client, &service.pulls[0][0].pull.cursors)?;
    let report = report(arguments, &sides, &bare, &depths)?;
    for side in sides {
        side.host.stop()?;
    }
    Ok(report)
}

/// Messages of a few thousand conversations, a second apart.
pub(super) fn seed(database: &Path, workspace: &str) -> Result<(), Failure> {
    let connection = rows::open(database)?;
    let ids = Ids::read(&connection)?;
    let workspace = ids.sql(&format!("'{workspace}'"));
    let id = ids.sql("printf('018bcfe5-%04x-7%03x-8%03x-%012x', n / 65536, n % 4096, n % 4095, n)");
    let conversation = ids.sql("printf('018bcfe5-0000-7000-8000-%012x', n % 5000)");
    let contact = ids.sql("printf('018bcfe5-0000-7000-9000-%012x', n % 5000)");
    let last = FIRST + i64::try_from(MESSAGES)? * 1_000_000;
    connection.execute_batch(&format!(
        "with recursive n (n) as (select 1 union all select n + 1 from n where n < {MESSAGES})
         insert into messages (workspace_id, cursor_us, id, conversation_id, contact_id, created_at, actor, kind, content, metadata, delivered_at, read_at)
         select {workspace}, {FIRST} + n * 1000000, {id}, {conversation}, {contact},
           {FIRST} + n * 1000000,
           case n % 2 when 0 then 'agent' else 'contact' end,
           'text',
           'Message ' || n || ': the flat on the third floor is still free, and a visit on Thursday suits us well.',
           '{{\"externalId\":\"m.' || n || '\",\"template\":null}}',
           {FIRST} + n * 1000000 + 400000,
           case n % 3 when 0 then null else {FIRST} + n * 1000000 + 900000 end
         from n;"
    ))?;
    // 2 is the number of messages in the feed clock.
    connection.execute_batch(&format!(
        "insert into feed_clock (workspace_id, entity, last_us) values ({workspace}, 2, {last})
         on conflict do update set last_us = excluded.last_us"
    ))?;
    rows::checkpoint(&connection)
}

/// Reads the columns of all messages in the order of the feed without writing them: the
/// cost of reading.
fn bare_loop(database: &Path, workspace: &str) -> Result<Duration, Failure> {
    let connection = rows::open_to_read(database)?;
    let sql = format!(
        "select id, workspace_id, cursor_us, conversation_id, created_at, actor, kind, content, metadata, delivered_at, read_at
         from messages
         where workspace_id = {} and cursor_us > ?2 and cursor_us <= ?3
         order by cursor_us",
        Ids::read(&connection)?.sql("?1")
    );
    let begin = Instant::now();
    let mut statement = connection.prepare(&sql)?;
    let columns = statement.column_count();
    let mut found = statement.query(params![workspace, 0_i64, i64::MAX])?;
    let mut counted = 0_u64;
    while let Some(row) = found.next()? {
        for column in 0..columns {
            black_box(row.get_ref(column)?);
        }
        counted += 1;
    }
    let took = begin.elapsed();
    match counted {
        MESSAGES => Ok(took),
        other => Err(format!("a bare loop found {other} rows of {MESSAGES}").into()),
    }
}

/// Pulls all messages in a format; checks their number.
pub(super) fn pull(client: &mut Client, form: &Form) -> Result<Pull, Failure> {
    pull_since(client, form, None, MESSAGES)
}

/// Pulls the changes since a time, or everything; checks the number of rows.
pub(super) fn pull_since(
    client: &mut Client,
    form: &Form,
    since: Option<&str>,
    expected: u64,
) -> Result<Pull, Failure> {
    let mut pull = Pull {
        took: Duration::ZERO,
        bytes: 0,
        cursors: vec![],
    };
    let mut rows = 0;
    let mut cursor: Option<String> = None;
    loop {
        let mut path = path(cursor.as_deref());
        if let Some(since) = since {
            path.push_str("&updated_since=");
            path.push_str(since);
        }
        let begin = Instant::now();
        let answer = client.get(&path, form.headers)?;
        pull.took += begin.elapsed();
        if answer.status != 200 {
            return Err(format!("{}: status {}", form.name, answer.status).into());
        }
        pull.bytes += answer.body.len() as u64;
        let body = if form.gzip {
            let mut text = Vec::new();
            flate2::read::GzDecoder::new(answer.body.as_slice()).read_to_end(&mut text)?;
            text
        } else {
            answer.body
        };
        let (counted, next) = tail(&body)?;
        rows += counted;
        pull.cursors.push(cursor);
        match next {
            Some(next) => cursor = Some(next),
            None => break,
        }
    }
    if rows == expected {
        return Ok(pull);
    }
    Err(format!("{}: a pull gave {rows} rows of {expected}", form.name).into())
}

/// Returns the path of the page at a cursor; without one, of the first page.
pub(super) fn path(cursor: Option<&str>) -> String {
    match cursor {
        Some(cursor) => format!("/v1/export/messages?limit={PAGE}&cursor={cursor}"),
        None => format!("/v1/export/messages?limit={PAGE}"),
    }
}

/// Reads count and cursor, which end a page in both formats.
fn tail(body: &[u8]) -> Result<(u64, Option<String>), Failure> {
    let end = &body[body.len().saturating_sub(400)..];
    let end = String::from_utf8_lossy(end);
    let odd = || format!("a page that ends with {end}");
    let (_, after) = end.rsplit_once("\"next_cursor\":").ok_or_else(odd)?;
    let (cursor, after) = after.split_once(",\"count\":").ok_or_else(odd)?;
    let counted = after
        .trim_end()
        .trim_end_matches('}')
        .parse()
        .map_err(|_| odd())?;
    let cursor = cursor.trim_matches('"');
    Ok((counted, (cursor != "null").then(|| cursor.to_owned())))
}

/// Fetches pages at the beginning, in the middle and near the end, in turns.
pub(super) fn at_depths(
    client: &mut Client,
    cursors: &[Option<String>],
) -> Result<Vec<(&'static str, Sample)>, Failure> {
    let depths = [
        ("0", 0),
        ("50 %", cursors.len() / 2),
        ("99 %", cursors.len() * 99 / 100),
    ];
    let mut times = vec![vec![]; depths.len()];
    for _ in 0..TIMES {
        for ((_, page), times) in depths.iter().zip(&mut times) {
            let path = path(cursors[*page].as_deref());
            let begin = Instant::now();
            let answer = client.get(&path, FORMS[0].headers)?;
            times.push(begin.elapsed());
            if answer.status != 200 {
                return Err(format!("a page at depth {page}: status {}", answer.status).into());
            }
        }
    }
    Ok(depths
        .iter()
        .zip(times)
        .map(|((name, _), times)| (*name, Sample::from_durations(times)))
        .collect())
}

fn report(
    arguments: &Arguments,
    sides: &[SeededBuild],
    bare: &[f64],
    depths: &[(&'static str, Sample)],
) -> Result<Report, Failure> {
    let mut report = Report::new("export", "A full pull of a million messages");
    let has_baseline = sides.len() > 1;
    let columns = [
        "form",
        "side",
        "rows/s",
        "the whole pull",
        "bytes a row",
        "processor time a row",
        "of the bare loop's rate",
    ];
    let columns: Vec<&str> = columns
        .into_iter()
        .chain(has_baseline.then_some("times the baseline's rate"))
        .collect();
    let mut table = Table::new(
        &format!(
            "Pages of {PAGE} rows over one connection. Median of {} alternating rounds:",
            arguments.rounds
        ),
        &columns,
    );
    let rate = |seconds: f64| MESSAGES as f64 / seconds;
    let bare_seconds = median(bare);
    let mut data = Vec::new();
    let mut json_rates = Vec::new();
    for (at, form) in FORMS.iter().enumerate() {
        let seconds_of = |side: &SeededBuild| -> Vec<f64> {
            let pulls = side.pulls[at].iter();
            pulls.map(|one| one.pull.took.as_secs_f64()).collect()
        };
        let baseline = sides.get(1).map(|side| median(&seconds_of(side)));
        for side in sides {
            let seconds = seconds_of(side);
            let took = median(&seconds);
            let processors: Vec<f64> = side.pulls[at]
                .iter()
                .map(|one| one.processor.as_secs_f64() / MESSAGES as f64)
                .collect();
            let processor = median(&processors);
            let bytes = side.pulls[at][0].pull.bytes;
            let cells = [
                form.name.to_owned(),
                side.name.to_owned(),
                count(rate(took)),
                time(Duration::from_secs_f64(took)),
                format!("{:.0}", bytes as f64 / MESSAGES as f64),
                time(Duration::from_secs_f64(processor)),
                format!("{:.2}", bare_seconds / took),
            ];
            let beside = baseline.map(|baseline| format!("{:.2}", baseline / took));
            table.row(cells.into_iter().chain(beside));
            data.push(json!({
                "form": form.name, "side": side.name, "seconds": seconds, "bytes": bytes,
                "processorSecondsPerRow": processor,
            }));
            if at == 0 {
                json_rates.push(rate(took));
            }
        }
    }
    let none = || "–".to_owned();
    let limit = [
        "the limit".to_owned(),
        "a bare loop that writes nothing".to_owned(),
        count(rate(bare_seconds)),
        time(Duration::from_secs_f64(bare_seconds)),
        none(),
        none(),
        "1.00".to_owned(),
    ];
    table.row(limit.into_iter().chain(has_baseline.then(none)));
    report.data("pulls", json!(data));
    report.data("bareSeconds", json!(bare));
    let of_bare = json_rates[0] / rate(bare_seconds);
    report.aim(
        "as JSON at least half the rate of a bare loop over the same rows that writes nothing",
        format!("{of_bare:.2} of it"),
        of_bare >= LEAST_OF_BARE,
    );
    if let [service, baseline] = json_rates[..] {
        let times = service / baseline;
        report.aim(
            "as JSON not below the baseline's rate, but for a twentieth of noise",
            format!("{times:.2} times"),
            times >= 1.0 / round::NOISE,
        );
    }
    let first = depths[0].1.p50().as_secs_f64();
    let mut depth_table = Table::new(
        &format!("A page by its depth in the feed, {TIMES} of each in turns:"),
        &["depth", "p50", "p99", "times the first (p50)"],
    );
    let mut worst: f64 = 0.0;
    let mut data = Vec::new();
    for (name, sample) in depths {
        let times = sample.p50().as_secs_f64() / first;
        worst = worst.max(times);
        depth_table.row([
            (*name).to_owned(),
            time(sample.p50()),
            time(sample.p99()),
            format!("{times:.2}"),
        ]);
        data.push(json!({
            "depth": name,
            "p50Micros": sample.p50().as_micros() as u64,
            "p99Micros": sample.p99().as_micros() as u64,
        }));
    }
    report.data("depths", json!(data));
    report.aim(
        "a page at any depth takes at most 1.2 times the first",
        format!("{worst:.2} times"),
        worst <= MOST_TIMES_FIRST,
    );
    report.table(table);
    report.table(depth_table);
    report.note(format!(
        "Every pull gave all {} rows. The time is that of the requests, without the client's unpacking.",
        count(MESSAGES as f64)
    ));
    report.note("The bare loop is one statement on the service's file, through the same library: it steps through the rows of the feed and looks at each column.");
    for side in sides {
        let (memory, most) = side.host.process.memory()?;
        report.note(format!(
            "Resident memory after it, {}: {memory:.0} MiB, {most:.0} MiB at most.",
            side.name
        ));
    }
    if has_baseline {
        report.note(round::BASELINE);
    }
    Ok(report)
}
