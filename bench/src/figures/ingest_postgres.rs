//! How many leads a second are taken in durably on PostgreSQL, over HTTP, from
//! 64 keep-alive connections: the service, beside a careful Node program that
//! writes the same rows and answers the same body on the same server, and beside
//! the service on SQLite.
//!
//! Every round starts a side on an empty database and counts its rows, see
//! `round`.

use std::cell::Cell;
use std::path::Path;
use std::time::Duration;

use serde_json::json;

use crate::host::{self, Host};
use crate::load::{Body, CONNECTIONS};
use crate::peer::{self, Peer};
use crate::postgres::{Server, Work};
use crate::report::{Report, Table, time};
use crate::round::{self, Round, middle};
use crate::rows::Database;
use crate::sample::median;
use crate::{Arguments, Failure, lead};

const TIMES_NODE: f64 = 2.0;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Leadhost,
    Node,
    NodeAtOnce,
    LeadhostRaw,
    NodeRaw,
    LeadhostSqlite,
}

impl Side {
    const ALL: [Self; 6] = [
        Self::Leadhost,
        Self::Node,
        Self::NodeAtOnce,
        Self::LeadhostRaw,
        Self::NodeRaw,
        Self::LeadhostSqlite,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Leadhost => "Leadhost, through the component",
            Self::Node => "fastify + pg, a transaction a request",
            Self::NodeAtOnce => "fastify + pg, one statement a request",
            Self::LeadhostRaw => "Leadhost, delivery only",
            Self::NodeRaw => "fastify + pg, delivery only",
            Self::LeadhostSqlite => "Leadhost on SQLite",
        }
    }

    fn body(self) -> Body {
        match self {
            Self::LeadhostRaw | Self::NodeRaw => Body::Nothing,
            _ => Body::Lead,
        }
    }
}

/// A round with what it cost the database's server.
struct Measured {
    round: Round,
    /// For one answer; nothing of SQLite, which works in the side's process.
    server: Option<(Duration, f64)>,
    /// Leads that shared a commit, of a side that shares them.
    together: Option<f64>,
}

pub fn measure(arguments: &Arguments) -> Result<Report, Failure> {
    let component = arguments.component()?;
    let server = Server::start(arguments)?;
    let mut rounds: [Vec<Measured>; 6] = Default::default();
    let mut sync = Vec::new();
    for number in 1..=arguments.rounds {
        for (side, rounds) in Side::ALL.into_iter().zip(&mut rounds) {
            let folder = arguments.scratch()?;
            sync.push(round::sync_time(folder.path())?.as_secs_f64());
            let measured = match side {
                Side::Node | Side::NodeAtOnce | Side::NodeRaw => of_node(arguments, &server, side),
                Side::Leadhost | Side::LeadhostRaw => {
                    on_postgres(arguments, &server, side, folder.path(), &component)
                }
                Side::LeadhostSqlite => on_sqlite(arguments, folder.path(), &component),
            };
            let measured =
                measured.map_err(|error| format!("{}, round {number}: {error}", side.name()))?;
            eprintln!("  round {number}: {}: {}", side.name(), in_words(&measured));
            rounds.push(measured);
        }
    }
    let sync = Duration::from_secs_f64(median(&sync));
    report(arguments, &server, rounds, sync)
}

fn in_words(measured: &Measured) -> String {
    let mut words = format!("{:.0} leads/s", measured.round.outcome.per_second());
    if let Some((processor, log)) = measured.server {
        words += &format!(
            ", processor a lead {} + {} of the server, {log:.0} bytes of its log",
            time(measured.round.processor),
            time(processor)
        );
    }
    if let Some(together) = measured.together {
        words += &format!(", {together:.1} a commit");
    }
    words
}

fn on_postgres(
    arguments: &Arguments,
    server: &Server,
    side: Side,
    folder: &Path,
    component: &[u8],
) -> Result<Measured, Failure> {
    let database = server.database()?;
    let host = Host::start(&arguments.leadhost, folder, &database.store())?;
    host.activate(component)?;
    let workspace = host.apply()?;
    let (round, used) = with_work(server, |between| {
        round::run(
            arguments,
            host.gateway,
            workspace.path,
            side.body(),
            || host.process.processor(),
            between,
        )
    })?;
    host.stop()?;
    let rows = Database::Postgres(database.url());
    round::check(&rows, side.body(), &round)?;
    let commits = rows.rows("commit_markers")?;
    let all = round.warm.answers.len() + round.outcome.answers.len();
    database.drop()?;
    Ok(Measured {
        server: Some(used),
        together: Some(all as f64 / commits.max(1) as f64),
        round,
    })
}

fn of_node(arguments: &Arguments, server: &Server, side: Side) -> Result<Measured, Failure> {
    let write = match side {
        Side::NodeAtOnce => "statement",
        _ => "transaction",
    };
    let database = server.database()?;
    let peer = Peer::start_postgres(&arguments.folder, &database.url(), write)?;
    let (round, used) = with_work(server, |between| {
        round::run(
            arguments,
            peer.address,
            Peer::path(),
            side.body(),
            || peer.process.processor(),
            between,
        )
    })?;
    peer.stop()?;
    round::check(&Database::Postgres(database.url()), side.body(), &round)?;
    database.drop()?;
    Ok(Measured {
        server: Some(used),
        together: None,
        round,
    })
}

fn on_sqlite(arguments: &Arguments, folder: &Path, component: &[u8]) -> Result<Measured, Failure> {
    let host = Host::start(&arguments.leadhost, folder, "")?;
    host.activate(component)?;
    let workspace = host.apply()?;
    let round = round::run(
        arguments,
        host.gateway,
        workspace.path,
        Body::Lead,
        || host.process.processor(),
        || Ok(()),
    )?;
    host.stop()?;
    let rows = Database::Sqlite(host::database(folder));
    round::check(&rows, Body::Lead, &round)?;
    Ok(Measured {
        server: None,
        together: None,
        round,
    })
}

/// A round and what it cost the server for one answer: processor time, and
/// bytes of its log.
fn with_work(
    server: &Server,
    run: impl FnOnce(&dyn Fn() -> Result<(), Failure>) -> Result<Round, Failure>,
) -> Result<(Round, (Duration, f64)), Failure> {
    let before = Cell::new(Work::default());
    let round = run(&|| {
        before.set(server.work()?);
        Ok(())
    })?;
    let (before, after) = (before.get(), server.work()?);
    let answers = round.outcome.answers.len().max(1);
    let processor = after.processor.saturating_sub(before.processor) / u32::try_from(answers)?;
    let log = (after.log_bytes - before.log_bytes) as f64 / answers as f64;
    Ok((round, (processor, log)))
}

fn report(
    arguments: &Arguments,
    server: &Server,
    measured: [Vec<Measured>; 6],
    sync: Duration,
) -> Result<Report, Failure> {
    let caption = format!(
        "Leads of {} bytes, each another one, {CONNECTIONS} keep-alive connections, answered after their commit. Median of {} alternating rounds of {} s:",
        lead::BYTES,
        arguments.rounds,
        arguments.round().as_secs()
    );
    let columns: Vec<&str> = round::COLUMNS
        .into_iter()
        .chain(["the server's", "its log a lead", "leads a commit"])
        .collect();
    let mut table = Table::new(&caption, &columns);
    let mut data = Vec::new();
    let mut rates = Vec::new();
    let mut all = Vec::new();
    for (side, measured) in Side::ALL.into_iter().zip(measured) {
        let of = |figure: fn(&Measured) -> Option<f64>| {
            let figures: Vec<f64> = measured.iter().filter_map(figure).collect();
            (!figures.is_empty()).then(|| median(&figures))
        };
        let processor = of(|one| Some(one.server?.0.as_secs_f64()));
        let log = of(|one| Some(one.server?.1));
        let together = of(|one| one.together);
        let or_none =
            |figure: Option<f64>, text: fn(f64) -> String| figure.map_or("–".to_owned(), text);
        let more = [
            or_none(processor, |seconds| time(Duration::from_secs_f64(seconds))),
            or_none(log, |bytes| format!("{bytes:.0} bytes")),
            or_none(together, |leads| format!("{leads:.1}")),
        ];
        let rounds: Vec<Round> = measured.into_iter().map(|one| one.round).collect();
        let (rate, mut figures) = round::line(&mut table, side.name(), &rounds, more);
        figures["serverProcessorSecondsPerLead"] = json!(processor);
        figures["serverLogBytesPerLead"] = json!(log);
        figures["leadsPerCommit"] = json!(together);
        rates.push(rate);
        data.push(figures);
        all.push(rounds);
    }
    let times = |a: usize, b: usize| rates[a] / rates[b];
    let mut report = Report::new("ingest-postgres", "Leads taken in durably on PostgreSQL");
    report.aim(
        "at least 2 times the leads of fastify + pg with a pool of 16",
        format!("{:.2} times", times(0, 1)),
        times(0, 1) >= TIMES_NODE,
    );
    report.table(table);
    report.note(format!(
        "{:.2} times Node when that writes all of a request's rows by one statement, {:.2} times with deliveries only. PostgreSQL gives {:.2} times the leads of SQLite.",
        times(0, 2),
        times(3, 4),
        times(0, 5)
    ));
    report.note("Nothing is missing: after each round the rows were counted on both sides and every answered delivery was found (one item, dedupe key, contact, deal and two contact keys a lead).");
    report.note("All on one server of its own with default settings but for 256 MiB of shared buffers and no checkpoint within a round: fsync and synchronous_commit on.");
    report.note("Node's stamps come from a sequence; the service's from the feed clock, whose row a transaction locks to its end.");
    report.note(round::generator(all.iter().flatten()));
    let p99 = middle(&all[0], |round| round.outcome.latency().p99().as_secs_f64());
    report.note(format!(
        "One write of 4 KiB with fdatasync takes {} here; p99 of the service is {}.",
        time(sync),
        time(Duration::from_secs_f64(p99))
    ));
    report.data("sides", json!(data));
    server.version(&mut report)?;
    peer::versions(&arguments.folder, &mut report)?;
    Ok(report)
}
