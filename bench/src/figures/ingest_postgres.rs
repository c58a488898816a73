//! How many leads a second are ingested durably on PostgreSQL, over HTTP, from
//! 64 keep-alive connections: the service, compared with a careful Node program that
//! writes the same rows and answers the same body on the same server, and with
//! the service on SQLite.
//!
//! If a baseline is given, that build of the service takes turns with this one. Every
//! round starts a side on an empty database and counts its rows, see `round`.

use std::cell::Cell;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use serde_json::json;

use crate::host::{self, Host};
use crate::load::{CONNECTIONS, Load, LoadBody};
use crate::peer::{self, Peer};
use crate::postgres::{Server, Work};
use crate::report::{Report, Table, time};
use crate::round::{self, BaselineRatio, NOISE, Round, middle};
use crate::rows::StoredRows;
use crate::sample::median;
use crate::{Arguments, Failure, lead};

const TIMES_NODE: f64 = 2.0;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PostgresSide {
    Leadhost,
    Baseline,
    Node,
    NodeAtOnce,
    LeadhostRaw,
    BaselineRaw,
    NodeRaw,
    LeadhostSqlite,
    LeadhostOne,
    BaselineOne,
}

impl PostgresSide {
    const ALL: [Self; 10] = [
        Self::Leadhost,
        Self::Baseline,
        Self::Node,
        Self::NodeAtOnce,
        Self::LeadhostRaw,
        Self::BaselineRaw,
        Self::NodeRaw,
        Self::LeadhostSqlite,
        Self::LeadhostOne,
        Self::BaselineOne,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Leadhost => "Leadhost, through the component",
            Self::Baseline => "baseline, through the component",
            Self::Node => "fastify + pg, a transaction a request",
            Self::NodeAtOnce => "fastify + pg, one statement a request",
            Self::LeadhostRaw => "Leadhost, delivery only",
            Self::BaselineRaw => "baseline, delivery only",
            Self::NodeRaw => "fastify + pg, delivery only",
            Self::LeadhostSqlite => "Leadhost on SQLite",
            Self::LeadhostOne => "Leadhost, over one connection",
            Self::BaselineOne => "baseline, over one connection",
        }
    }

    fn body(self) -> LoadBody {
        match self {
            Self::LeadhostRaw | Self::BaselineRaw | Self::NodeRaw => LoadBody::Nothing,
            _ => LoadBody::Lead,
        }
    }

    fn connections(self) -> u64 {
        match self {
            Self::LeadhostOne | Self::BaselineOne => 1,
            _ => CONNECTIONS,
        }
    }

    fn is_baseline(self) -> bool {
        matches!(self, Self::Baseline | Self::BaselineRaw | Self::BaselineOne)
    }

    /// Returns the same side of the baseline.
    fn baseline(self) -> Option<Self> {
        match self {
            Self::Leadhost => Some(Self::Baseline),
            Self::LeadhostRaw => Some(Self::BaselineRaw),
            Self::LeadhostOne => Some(Self::BaselineOne),
            _ => None,
        }
    }

    /// Returns the build of the service that this side runs.
    fn program(self, arguments: &Arguments) -> &Path {
        match &arguments.baseline {
            Some(baseline) if self.is_baseline() => baseline,
            _ => &arguments.leadhost,
        }
    }

    fn load(self, to: SocketAddr, path: String) -> Load {
        Load {
            body: self.body(),
            connections: self.connections(),
            ..Load::new(to, path)
        }
    }
}

/// A round with its cost for the database's server.
struct MeasuredRound {
    round: Round,
    /// Per answer; `None` for SQLite, which runs in the side's process.
    server: Option<(Duration, f64)>,
    /// Leads per commit, for a side with group commit.
    together: Option<f64>,
}

/// Measures each side in each round.
pub fn measure(arguments: &Arguments) -> Result<Report, Failure> {
    let component = arguments.component()?;
    let server = Server::start(arguments)?;
    let mut sides: Vec<(PostgresSide, Vec<MeasuredRound>)> = PostgresSide::ALL
        .into_iter()
        .filter(|side| arguments.baseline.is_some() || !side.is_baseline())
        .map(|side| (side, Vec::new()))
        .collect();
    let mut sync = Vec::new();
    for number in 1..=arguments.rounds {
        for (side, rounds) in round::in_turn(&mut sides, number) {
            let side = *side;
            let folder = arguments.scratch()?;
            sync.push(round::sync_time(folder.path())?.as_secs_f64());
            let measured = match side {
                PostgresSide::Node | PostgresSide::NodeAtOnce | PostgresSide::NodeRaw => {
                    measure_node(arguments, &server, side)
                }
                PostgresSide::LeadhostSqlite => on_sqlite(arguments, folder.path(), &component),
                _ => on_postgres(arguments, &server, side, folder.path(), &component),
            };
            let measured =
                measured.map_err(|error| format!("{}, round {number}: {error}", side.name()))?;
            eprintln!("  round {number}: {}: {}", side.name(), in_words(&measured));
            rounds.push(measured);
        }
    }
    let sync = Duration::from_secs_f64(median(&sync));
    report(arguments, &server, sides, sync)
}

fn in_words(measured: &MeasuredRound) -> String {
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
    side: PostgresSide,
    folder: &Path,
    component: &[u8],
) -> Result<MeasuredRound, Failure> {
    let database = server.database()?;
    let host = Host::start(side.program(arguments), folder, &database.store())?;
    host.activate(component)?;
    let workspace = host.apply()?;
    let (round, used) = with_work(server, |between| {
        round::run(
            arguments,
            side.load(host.gateway, workspace.path),
            || host.process.processor(),
            between,
        )
    })?;
    host.stop()?;
    let rows = StoredRows::Postgres(database.url());
    round::check(&rows, side.body(), &round)?;
    let commits = rows.rows("commit_markers")?;
    let all = round.warm.answers.len() + round.outcome.answers.len();
    database.drop()?;
    Ok(MeasuredRound {
        server: Some(used),
        together: Some(all as f64 / commits.max(1) as f64),
        round,
    })
}

fn measure_node(
    arguments: &Arguments,
    server: &Server,
    side: PostgresSide,
) -> Result<MeasuredRound, Failure> {
    let write = match side {
        PostgresSide::NodeAtOnce => "statement",
        _ => "transaction",
    };
    let database = server.database()?;
    let peer = Peer::start_postgres(&arguments.folder, &database.url(), write)?;
    let (round, used) = with_work(server, |between| {
        round::run(
            arguments,
            side.load(peer.address, Peer::path()),
            || peer.process.processor(),
            between,
        )
    })?;
    peer.stop()?;
    round::check(&StoredRows::Postgres(database.url()), side.body(), &round)?;
    database.drop()?;
    Ok(MeasuredRound {
        server: Some(used),
        together: None,
        round,
    })
}

fn on_sqlite(
    arguments: &Arguments,
    folder: &Path,
    component: &[u8],
) -> Result<MeasuredRound, Failure> {
    let host = Host::start(&arguments.leadhost, folder, "")?;
    host.activate(component)?;
    let workspace = host.apply()?;
    let round = round::run(
        arguments,
        Load::new(host.gateway, workspace.path),
        || host.process.processor(),
        || Ok(()),
    )?;
    host.stop()?;
    let rows = StoredRows::Sqlite(host::database(folder));
    round::check(&rows, LoadBody::Lead, &round)?;
    Ok(MeasuredRound {
        server: None,
        together: None,
        round,
    })
}

/// Runs a round; also returns the server's cost per answer: processor time, and
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
    measured: Vec<(PostgresSide, Vec<MeasuredRound>)>,
    sync: Duration,
) -> Result<Report, Failure> {
    let has_baseline = arguments.baseline.is_some();
    let caption = format!(
        "Distinct leads of {} bytes, {CONNECTIONS} keep-alive connections unless a side names another number, answered after their commit. Median of {} alternating rounds of {} s:",
        lead::BYTES,
        arguments.rounds,
        arguments.round().as_secs()
    );
    let columns: Vec<&str> = round::COLUMNS
        .into_iter()
        .chain(["the server's", "its log a lead", "leads a commit"])
        .chain(BaselineRatio::COLUMNS.into_iter().filter(|_| has_baseline))
        .collect();
    let mut table = Table::new(&caption, &columns);
    let costs: Vec<Costs> = measured
        .iter()
        .map(|(_, measured)| Costs::from_rounds(measured))
        .collect();
    let sides: Vec<(PostgresSide, Vec<Round>)> = measured
        .into_iter()
        .map(|(side, measured)| (side, measured.into_iter().map(|one| one.round).collect()))
        .collect();
    let rounds_of = |side: PostgresSide| {
        let found = sides.iter().find(|(other, _)| *other == side);
        found.map(|(_, rounds)| rounds.as_slice())
    };
    let ratio_of = |side: PostgresSide| {
        Some(BaselineRatio::from_rounds(
            rounds_of(side)?,
            rounds_of(side.baseline()?)?,
        ))
    };
    let mut data = Vec::new();
    for ((side, rounds), costs) in sides.iter().zip(costs) {
        let ratio = ratio_of(*side);
        let more = BaselineRatio::cells(ratio)
            .into_iter()
            .filter(|_| has_baseline);
        let more = costs.cells().into_iter().chain(more);
        let mut figures = round::line(&mut table, side.name(), rounds, more);
        figures["serverProcessorSecondsPerLead"] = json!(costs.processor);
        figures["serverLogBytesPerLead"] = json!(costs.log);
        figures["leadsPerCommit"] = json!(costs.together);
        if let Some(ratio) = ratio {
            figures["timesBaseline"] = ratio.data();
        }
        data.push(figures);
    }
    let rate = |side: PostgresSide| rounds_of(side).map_or(0.0, round::rate);
    let times = |one: PostgresSide, other: PostgresSide| rate(one) / rate(other);
    let node = times(PostgresSide::Leadhost, PostgresSide::Node);
    let mut report = Report::new("ingest-postgres", "Leads ingested durably on PostgreSQL");
    report.aim(
        "at least 2 times the leads of fastify + pg with a pool of 16",
        format!("{node:.2} times"),
        node >= TIMES_NODE,
    );
    if let Some(ratio) = ratio_of(PostgresSide::Leadhost) {
        report.aim(
            "leads a second not below the baseline's, but for a twentieth of noise",
            format!("{:.2} times", ratio.rate),
            ratio.rate >= 1.0 / NOISE,
        );
    }
    if let Some(ratio) = ratio_of(PostgresSide::LeadhostOne) {
        report.aim(
            "p50 over one connection not above the baseline's, but for a twentieth of noise",
            format!("{:.2} times", ratio.p50),
            ratio.p50 <= NOISE,
        );
    }
    report.table(table);
    report.note(format!(
        "{:.2} times Node when that writes all of a request's rows by one statement, {:.2} times with deliveries only. PostgreSQL gives {:.2} times the leads of SQLite.",
        times(PostgresSide::Leadhost, PostgresSide::NodeAtOnce),
        times(PostgresSide::LeadhostRaw, PostgresSide::NodeRaw),
        times(PostgresSide::Leadhost, PostgresSide::LeadhostSqlite)
    ));
    report.note("Nothing is missing: after each round the rows were counted on all sides and every answered delivery was found (one item, dedupe key, contact, deal and two contact keys a lead).");
    report.note("All on one server of its own with default settings but for 256 MiB of shared buffers and no checkpoint within a round: fsync and synchronous_commit on.");
    report.note("Node's stamps come from a sequence; the service's from the feed clock, whose row a transaction locks to its end.");
    if has_baseline {
        report.note(round::BASELINE);
    }
    let crowded = sides.iter().filter(|(side, _)| side.connections() > 1);
    report.note(round::generator(crowded.flat_map(|(_, rounds)| rounds)));
    let p99 = rounds_of(PostgresSide::Leadhost).map_or(0.0, |rounds| {
        middle(rounds, |round| round.outcome.latency().p99().as_secs_f64())
    });
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

/// The costs of a side's leads outside of its own process, each the median of its rounds.
struct Costs {
    processor: Option<f64>,
    log: Option<f64>,
    together: Option<f64>,
}

impl Costs {
    fn from_rounds(measured: &[MeasuredRound]) -> Self {
        let middle = |figure: fn(&MeasuredRound) -> Option<f64>| {
            let figures: Vec<f64> = measured.iter().filter_map(figure).collect();
            (!figures.is_empty()).then(|| median(&figures))
        };
        Self {
            processor: middle(|one| Some(one.server?.0.as_secs_f64())),
            log: middle(|one| Some(one.server?.1)),
            together: middle(|one| one.together),
        }
    }

    fn cells(&self) -> [String; 3] {
        let or_none =
            |figure: Option<f64>, text: fn(f64) -> String| figure.map_or("–".to_owned(), text);
        [
            or_none(self.processor, |seconds| {
                time(Duration::from_secs_f64(seconds))
            }),
            or_none(self.log, |bytes| format!("{bytes:.0} bytes")),
            or_none(self.together, |leads| format!("{leads:.1}")),
        ]
    }
}
