//! A full pull of a million messages over HTTP, page by page, and whether a
//! page deep in the feed costs more than the first; on SQLite, and on both stores side by side.
//!
//! The messages are written directly into the store's tables, since only the export is
//! measured. On SQLite a bare loop reads the same rows, which is the most that an export
//! could reach.

use std::hint::black_box;
use std::io::Read as _;
use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::params;

use crate::host::{self, Host, Workspace};
use crate::http::Client;
use crate::postgres::{Database, Server};
use crate::process::Memory;
use crate::report::{Cell, Report, Table, count, none, seconds, times};
use crate::rows::{self, Ids, Seeds};
use crate::sample::{Sample, median};
use crate::{Arguments, BASELINE, Build, Failure, SERVICE, round};

pub(super) const MESSAGES: u64 = 1_000_000;
const PAGE: u64 = 1_000;
/// The stamp before the first message's.
pub(super) const FIRST: i64 = 1_700_000_000_000_000;
const TIMES: usize = 200;
const MOST_TIMES_FIRST: f64 = 1.2;
/// The aim, as a share of the rate of a bare loop.
const LEAST_OF_BARE: f64 = 0.5;
const PATIENCE: Duration = Duration::from_secs(120);

pub(super) struct Form {
    name: &'static str,
    pub(super) headers: &'static str,
    gzip: bool,
}

#[rustfmt::skip]
pub(super) const FORMS: [Form; 3] = [
    Form { name: "JSON", headers: "accept-encoding: identity\r\n", gzip: false },
    Form { name: "JSON, gzip", headers: "accept-encoding: gzip\r\n", gzip: true },
    Form { name: "NDJSON", headers: "accept: application/x-ndjson\r\naccept-encoding: identity\r\n", gzip: false },
];

pub(super) struct Pull {
    /// Time of the requests only, without the client's parsing of the pages.
    pub(super) took: Duration,
    bytes: u64,
    /// The cursor of each page; the first has none.
    cursors: Vec<Option<String>>,
}

/// The formats on both stores: NDJSON is the same data as JSON.
const FORMS_OF_STORES: usize = 2;
const STORES: [&str; 2] = ["SQLite", "PostgreSQL"];

/// A build of the service that serves seeded messages from a store.
struct Seeded<'a> {
    build: Build<'a>,
    store: &'static str,
    host: Host,
    client: Client,
    workspace: Workspace,
    /// By format: each pull, with the service's processor time.
    pulls: [Vec<(Pull, Duration)>; 3],
    database: Option<Database<'a>>,
    /// The last field, so that it is dropped after the service has ended.
    folder: tempfile::TempDir,
}

impl<'a> Seeded<'a> {
    fn begin(
        arguments: &Arguments,
        build: Build<'a>,
        server: Option<&'a Server>,
    ) -> Result<Self, Failure> {
        let folder = arguments.scratch()?;
        let database = server.map(Server::database).transpose()?;
        let settings = database.as_ref().map(Database::store).unwrap_or_default();
        let workspace = Host::prepare(arguments, build.program, folder.path(), &settings)?;
        let store = STORES[usize::from(server.is_some())];
        let name = build.name;
        eprintln!("  seeding {MESSAGES} messages on {store} for {name}");
        let seeds = match &database {
            None => Seeds::file(&host::database(folder.path()))?,
            Some(database) => Seeds::Server(database),
        };
        seed(seeds, &workspace.id)?;
        let host = Host::start(build.program, folder.path(), &settings)?;
        Ok(Self {
            build,
            store,
            client: Client::connect(host.data, Some(&workspace.key))?,
            host,
            workspace,
            pulls: Default::default(),
            database,
            folder,
        })
    }

    fn name(&self) -> String {
        format!("{} on {}", self.build.name, self.store)
    }

    fn pull(&mut self, number: usize, at: usize) -> Result<(), Failure> {
        let form = &FORMS[at];
        // An idle connection may have been closed.
        self.client.reconnect(PATIENCE)?;
        let before = self.host.process.processor()?;
        let pull = pull_since(&mut self.client, form, None, MESSAGES)?;
        let processor = self.host.process.processor()?.saturating_sub(before);
        let (name, form, rate) = (self.name(), form.name, rate(pull.took.as_secs_f64()));
        eprintln!("  round {number}: {name}, {form}: {rate} rows/s");
        self.pulls[at].push((pull, processor));
        Ok(())
    }

    fn seconds(&self, form: usize) -> f64 {
        let pulls = self.pulls[form].iter();
        median(pulls.map(|(pull, _)| pull.took.as_secs_f64()))
    }

    /// Fetches pages at the beginning, in the middle and near the end, in turns.
    fn at_depths(&mut self) -> Result<Vec<(&'static str, Sample)>, Failure> {
        self.client.reconnect(PATIENCE)?;
        let cursors = &self.pulls[0][0].0.cursors;
        let depths = [
            ("0", 0),
            ("50 %", cursors.len() / 2),
            ("99 %", cursors.len() * 99 / 100),
        ];
        let mut took = vec![vec![]; depths.len()];
        for _ in 0..TIMES {
            for ((_, page), took) in depths.iter().zip(&mut took) {
                let path = path(cursors[*page].as_deref());
                let begin = Instant::now();
                let answer = self.client.get(&path, FORMS[0].headers)?;
                took.push(begin.elapsed());
                answer.must_be(200, &path)?;
            }
        }
        let samples = took.into_iter().map(Sample::from_durations);
        Ok(depths.iter().map(|(name, _)| *name).zip(samples).collect())
    }

    fn stop(self) -> Result<(), Failure> {
        self.host.stop()?;
        self.database.map_or(Ok(()), Database::drop)
    }
}

pub(super) fn rate(seconds: f64) -> Cell {
    count(MESSAGES as f64 / seconds)
}

pub fn measure(arguments: &Arguments) -> Result<Report, Failure> {
    let begin = |build| Seeded::begin(arguments, build, None);
    let sides = arguments.builds().into_iter().map(begin);
    let mut sides = sides.collect::<Result<Vec<_>, _>>()?;
    let mut bare = Vec::new();
    for number in 1..=arguments.rounds {
        pull_all(&mut sides, number, FORMS.len())?;
        let file = host::database(sides[0].folder.path());
        let took = bare_loop(&file, &sides[0].workspace.id)?.as_secs_f64();
        eprintln!("  round {number}: a bare loop: {} rows/s", rate(took));
        bare.push(took);
    }
    let mut report = Report::new("export", "A full pull of a million messages");
    let bare = median(bare);
    let of_bare = |side: &Seeded<'_>, at| bare / side.seconds(at);
    let with = "of the bare loop's rate";
    let mut table = pulls(&mut report, arguments, &sides, &FORMS, with, of_bare);
    let limit = [
        "the limit".into(),
        "a bare loop that writes nothing".into(),
        rate(bare),
        seconds(bare),
        none(),
        none(),
        times(1.0),
    ];
    let baseline = arguments.baseline.as_ref().map(|_| none());
    table.row(limit.into_iter().chain(baseline));
    report.table(table);
    let of_bare = of_bare(&sides[0], 0);
    report.aim(
        "as JSON at least half the rate of a bare loop over the same rows that writes nothing",
        format!("{of_bare:.2} of it"),
        of_bare >= LEAST_OF_BARE,
    );
    depths(&mut report, &mut sides[..1])?;
    report.note("The bare loop is one statement on the service's file, through the same library: it steps through the rows of the feed and looks at each column.");
    notes(&mut report, &sides)?;
    sides.into_iter().try_for_each(Seeded::stop)?;
    Ok(report)
}

pub fn measure_stores(arguments: &Arguments) -> Result<Report, Failure> {
    let server = Server::start(arguments)?;
    let mut sides = Vec::new();
    for on in [None, Some(&server)] {
        for build in arguments.builds() {
            sides.push(Seeded::begin(arguments, build, on)?);
        }
    }
    for number in 1..=arguments.rounds {
        pull_all(&mut sides, number, FORMS_OF_STORES)?;
    }
    let mut report = Report::new("export-stores", "The export on both stores");
    let of_sqlite = |side: &Seeded<'_>, at| {
        let is_it = |other: &&Seeded<'_>| other.build.name == side.build.name;
        let sqlite = sides.iter().find(is_it).map(|sqlite| sqlite.seconds(at));
        side.seconds(at) / sqlite.unwrap_or_default()
    };
    let (forms, with) = (&FORMS[..FORMS_OF_STORES], "of SQLite's time");
    let table = pulls(&mut report, arguments, &sides, forms, with, of_sqlite);
    report.table(table);
    depths(&mut report, &mut sides)?;
    report.note("PostgreSQL's server takes its own memory beside the service's.");
    notes(&mut report, &sides)?;
    server.version(&mut report)?;
    sides.into_iter().try_for_each(Seeded::stop)?;
    Ok(report)
}

fn pull_all(sides: &mut [Seeded<'_>], number: usize, forms: usize) -> Result<(), Failure> {
    for form in 0..forms {
        for side in round::in_turn(sides, number) {
            side.pull(number, form)?;
        }
    }
    Ok(())
}

/// Messages of a few thousand conversations, a second apart.
pub(super) fn seed(seeds: Seeds<'_>, workspace: &str) -> Result<(), Failure> {
    let (numbers, workspace) = (seeds.numbers(MESSAGES), seeds.given_id(workspace));
    let id = seeds.numbered_id("018bcfe5-0000-7000-a000", "n");
    let conversation = seeds.numbered_id("018bcfe5-0000-7000-8000", "n % 5000");
    let contact = seeds.numbered_id("018bcfe5-0000-7000-9000", "n % 5000");
    let stamp = format!("{FIRST} + n * 1000000");
    let after = |micros: u32| seeds.time(&format!("{stamp} + {micros}"));
    let (created, delivered, read) = (after(0), after(400_000), after(900_000));
    let metadata = seeds.json(r#"'{"externalId":"m.' || n || '","template":null}'"#);
    let messages = format!(
        "{numbers} insert into messages (workspace_id, cursor_us, id, conversation_id, contact_id, created_at, actor, kind, content, metadata, delivered_at, read_at)
         select {workspace}, {stamp}, {id}, {conversation}, {contact}, {created},
           case n % 2 when 0 then 'agent' else 'contact' end,
           'text',
           'Message ' || n || ': the flat on the third floor is still free, and a visit on Thursday suits us well.',
           {metadata}, {delivered},
           case n % 3 when 0 then null else {read} end
         from n"
    );
    let last = FIRST + i64::try_from(MESSAGES)? * 1_000_000;
    // 2 is the number of messages in the feed clock.
    let stamped = rows::stamp(&workspace, &[2], last);
    seeds.write(&["messages"], &[messages, stamped])
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
        answer.must_be(200, form.name)?;
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

/// A table of the pulls of these sides in these formats, and the aims beside a baseline. `compared` gives the
/// number in the column `with` of a side and a format.
fn pulls(
    report: &mut Report,
    arguments: &Arguments,
    sides: &[Seeded<'_>],
    forms: &[Form],
    with: &str,
    compared: impl Fn(&Seeded<'_>, usize) -> f64,
) -> Table {
    let baseline_of = |side: &Seeded<'_>| {
        let mut sides = sides.iter();
        sides.find(|other| other.build.name == BASELINE && other.store == side.store)
    };
    let mut columns = format!(
        "form | side | rows/s | the whole pull | bytes a row | processor time a row | {with}"
    );
    if arguments.baseline.is_some() {
        columns += " | times the baseline's rate";
    }
    let mut table = Table::new(
        format!(
            "Full pulls of {} messages in pages of {PAGE} over one connection. Median of {} alternating rounds:",
            count(MESSAGES as f64),
            arguments.rounds
        ),
        &columns,
    );
    for (at, form) in forms.iter().enumerate() {
        for side in sides {
            let took = side.seconds(at);
            let processors = side.pulls[at].iter();
            let processors = processors.map(|(_, time)| time.as_secs_f64() / MESSAGES as f64);
            let bytes = side.pulls[at][0].0.bytes;
            let cells = [
                form.name.into(),
                side.name().into(),
                rate(took),
                seconds(took),
                format!("{:.0}", bytes as f64 / MESSAGES as f64).into(),
                seconds(median(processors)),
                times(compared(side, at)),
            ];
            let baseline = baseline_of(side).map(|baseline| times(baseline.seconds(at) / took));
            table.row(cells.into_iter().chain(baseline));
        }
    }
    for side in sides.iter().filter(|side| side.build.name == SERVICE) {
        if let Some(baseline) = baseline_of(side) {
            let times = baseline.seconds(0) / side.seconds(0);
            report.aim(
                format!(
                    "as JSON on {} not below the baseline's rate, but for a twentieth of noise",
                    side.store
                ),
                format!("{times:.2} times"),
                times >= 1.0 / round::NOISE,
            );
        }
    }
    table
}

fn depths(report: &mut Report, sides: &mut [Seeded<'_>]) -> Result<(), Failure> {
    let mut table = Table::new(
        format!("A page by its depth in the feed, {TIMES} of each in turns:"),
        "side | depth | p50 | p99 | times the first (p50)",
    );
    let mut worst: f64 = 0.0;
    for side in sides {
        let depths = side.at_depths()?;
        let first = depths[0].1.p50().as_secs_f64();
        for (depth, sample) in depths {
            let ratio = sample.p50().as_secs_f64() / first;
            if side.build.name != BASELINE {
                worst = worst.max(ratio);
            }
            let [p50, p99, _] = sample.cells();
            table.row([side.name().into(), depth.into(), p50, p99, times(ratio)]);
        }
    }
    report.table(table);
    report.aim(
        "a page at any depth takes at most 1.2 times the first",
        format!("{worst:.2} times"),
        worst <= MOST_TIMES_FIRST,
    );
    Ok(())
}

fn notes(report: &mut Report, sides: &[Seeded<'_>]) -> Result<(), Failure> {
    report.note(format!(
        "Every pull gave all {} rows. The time is the requests', without the client's unpacking.",
        count(MESSAGES as f64)
    ));
    for side in sides {
        let Memory { now, most } = side.host.process.memory()?;
        let name = side.name();
        report.note(format!(
            "Resident memory after it, {name}: {now:.0} MiB, {most:.0} MiB at most."
        ));
    }
    if sides.iter().any(|side| side.build.name == BASELINE) {
        report.note(round::BASELINE);
    }
    Ok(())
}
