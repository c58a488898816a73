//! How many leads a second are ingested durably, over HTTP, from 64 keep-alive
//! connections: the service, compared with a careful Node program that writes the same
//! rows and answers the same body.
//!
//! If a baseline is given, that build of the service takes turns with this one. Every
//! round starts a side on an empty data folder, warms it up, loads it, and counts: the
//! delivery of each answer must exist, and there must be exactly one item, dedupe key,
//! contact and deal, and two contact keys, for each.

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use serde_json::json;

use crate::host::{self, Host};
use crate::load::{CONNECTIONS, Load, LoadBody};
use crate::peer::{self, Peer};
use crate::report::{Report, Table, count, time};
use crate::round::{self, BaselineRatio, NOISE, Round};
use crate::rows::StoredRows;
use crate::sample::median;
use crate::{Arguments, Failure, lead};

const TIMES_NODE: f64 = 1.5;
/// The aim, as a share of the baseline's processor time for one lead.
const MOST_PROCESSOR: f64 = 0.5;

/// One request per commit, to show the gain of group commit.
const ALONE: &str = "writes_per_commit = 1\n";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SqliteSide {
    Leadhost,
    Baseline,
    Node,
    LeadhostRaw,
    BaselineRaw,
    NodeRaw,
    LeadhostAlone,
    LeadhostOne,
    BaselineOne,
}

impl SqliteSide {
    const ALL: [Self; 9] = [
        Self::Leadhost,
        Self::Baseline,
        Self::Node,
        Self::LeadhostRaw,
        Self::BaselineRaw,
        Self::NodeRaw,
        Self::LeadhostAlone,
        Self::LeadhostOne,
        Self::BaselineOne,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Leadhost => "Leadhost, through the component",
            Self::Baseline => "baseline, through the component",
            Self::Node => "fastify + better-sqlite3, the same rows",
            Self::LeadhostRaw => "Leadhost, delivery only",
            Self::BaselineRaw => "baseline, delivery only",
            Self::NodeRaw => "fastify + better-sqlite3, delivery only",
            Self::LeadhostAlone => "Leadhost, a commit for each request",
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

/// Measures each side in each round.
pub fn measure(arguments: &Arguments) -> Result<Report, Failure> {
    let component = arguments.component()?;
    let mut sides: Vec<(SqliteSide, Vec<Round>)> = SqliteSide::ALL
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
            let round = match side {
                SqliteSide::Node | SqliteSide::NodeRaw => {
                    measure_node(arguments, side, folder.path())
                }
                _ => measure_leadhost(arguments, side, folder.path(), &component),
            };
            let round =
                round.map_err(|error| format!("{}, round {number}: {error}", side.name()))?;
            eprintln!(
                "  round {number}: {}: {} leads/s, processor a lead {}",
                side.name(),
                count(round.outcome.per_second()),
                time(round.processor)
            );
            rounds.push(round);
        }
    }
    report(arguments, &sides, Duration::from_secs_f64(median(&sync)))
}

fn measure_leadhost(
    arguments: &Arguments,
    side: SqliteSide,
    folder: &Path,
    component: &[u8],
) -> Result<Round, Failure> {
    let store = if side == SqliteSide::LeadhostAlone {
        ALONE
    } else {
        ""
    };
    let host = Host::start(side.program(arguments), folder, store)?;
    host.activate(component)?;
    let workspace = host.apply()?;
    let round = round::run(
        arguments,
        side.load(host.gateway, workspace.path),
        || host.process.processor(),
        || Ok(()),
    )?;
    host.stop()?;
    let database = StoredRows::Sqlite(host::database(folder));
    round::check(&database, side.body(), &round)?;
    Ok(round)
}

fn measure_node(arguments: &Arguments, side: SqliteSide, folder: &Path) -> Result<Round, Failure> {
    let peer = Peer::start(&arguments.folder, folder)?;
    let round = round::run(
        arguments,
        side.load(peer.address, Peer::path()),
        || peer.process.processor(),
        || Ok(()),
    )?;
    peer.stop()?;
    let database = StoredRows::Sqlite(peer::database(folder));
    round::check(&database, side.body(), &round)?;
    Ok(round)
}

fn report(
    arguments: &Arguments,
    sides: &[(SqliteSide, Vec<Round>)],
    sync: Duration,
) -> Result<Report, Failure> {
    let rounds_of = |side: SqliteSide| {
        let found = sides.iter().find(|(other, _)| *other == side);
        found.map(|(_, rounds)| rounds.as_slice())
    };
    let ratio_of = |side: SqliteSide| {
        Some(BaselineRatio::from_rounds(
            rounds_of(side)?,
            rounds_of(side.baseline()?)?,
        ))
    };
    let has_baseline = arguments.baseline.is_some();
    let columns: Vec<&str> = round::COLUMNS
        .into_iter()
        .chain(BaselineRatio::COLUMNS.into_iter().filter(|_| has_baseline))
        .collect();
    let mut table = Table::new(
        &format!(
            "Distinct leads of {} bytes, {CONNECTIONS} keep-alive connections unless a side names another number, answered after the sync of their commit. Median of {} alternating rounds of {} s:",
            lead::BYTES,
            arguments.rounds,
            arguments.round().as_secs()
        ),
        &columns,
    );
    let mut data = Vec::new();
    for (side, rounds) in sides {
        let ratio = ratio_of(*side);
        let more = BaselineRatio::cells(ratio)
            .into_iter()
            .filter(|_| has_baseline);
        let mut figures = round::line(&mut table, side.name(), rounds, more);
        if let Some(ratio) = ratio {
            figures["timesBaseline"] = ratio.data();
        }
        data.push(figures);
    }
    let rate = |side: SqliteSide| rounds_of(side).map_or(0.0, round::rate);
    let times = |one: SqliteSide, other: SqliteSide| rate(one) / rate(other);
    let node = times(SqliteSide::Leadhost, SqliteSide::Node);
    let mut report = Report::new("ingest", "Leads ingested durably");
    report.aim(
        "at least 1.5 times the leads of fastify + better-sqlite3 with group commit",
        format!("{node:.2} times"),
        node >= TIMES_NODE,
    );
    if let Some(ratio) = ratio_of(SqliteSide::Leadhost) {
        report.aim(
            "processor time a lead at most half of the baseline's",
            format!("{:.2} times", ratio.processor),
            ratio.processor <= MOST_PROCESSOR,
        );
    }
    if let Some(ratio) = ratio_of(SqliteSide::LeadhostOne) {
        report.aim(
            "p50 over one connection not above the baseline's, but for a twentieth of noise",
            format!("{:.2} times", ratio.p50),
            ratio.p50 <= NOISE,
        );
    }
    report.table(table);
    report.note(format!(
        "Delivery only: {:.2} times Node. Sharing a commit: {:.1} times a commit for each request.",
        times(SqliteSide::LeadhostRaw, SqliteSide::NodeRaw),
        times(SqliteSide::Leadhost, SqliteSide::LeadhostAlone)
    ));
    report.note("Nothing is missing: after each round the rows were counted on all sides and every answered delivery was found (one item, dedupe key, contact, deal and two contact keys a lead).");
    report.note("Delivery only means a body of the same size in which the converter finds no lead: it is converted and stored as a delivery row without anything else.");
    if has_baseline {
        report.note(round::BASELINE);
    }
    let crowded = sides.iter().filter(|(side, _)| side.connections() > 1);
    report.note(round::generator(crowded.flat_map(|(_, rounds)| rounds)));
    report.note(format!(
        "All: SQLite, WAL, synchronous=FULL; one write of 4 KiB with fdatasync takes {} here. No access log on any side.",
        time(sync)
    ));
    report.data("sides", json!(data));
    peer::versions(&arguments.folder, &mut report)?;
    Ok(report)
}
