//! How many leads a second are taken in durably, over HTTP, from 64 keep-alive
//! connections: the service, beside a careful Node program that writes the same
//! rows and answers the same body.
//!
//! Every round starts a side on an empty data folder, warms it up, loads it, and
//! counts: each answer's delivery must be there, and there must be exactly one
//! item, dedupe key, contact and deal, and two contact keys, for each.

use std::path::Path;
use std::time::Duration;

use serde_json::json;

use crate::host::{self, Host};
use crate::load::{Body, CONNECTIONS};
use crate::peer::{self, Peer};
use crate::report::{Report, Table, count, time};
use crate::round::{self, Round};
use crate::rows::Database;
use crate::sample::median;
use crate::{Arguments, Failure, lead};

const TIMES_NODE: f64 = 1.5;

/// Commits one request at a time, to show what sharing a commit gives.
const ALONE: &str = "writes_per_commit = 1\n";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Leadhost,
    Node,
    LeadhostRaw,
    NodeRaw,
    LeadhostAlone,
}

impl Side {
    const ALL: [Self; 5] = [
        Self::Leadhost,
        Self::Node,
        Self::LeadhostRaw,
        Self::NodeRaw,
        Self::LeadhostAlone,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Leadhost => "Leadhost, through the component",
            Self::Node => "fastify + better-sqlite3, the same rows",
            Self::LeadhostRaw => "Leadhost, delivery only",
            Self::NodeRaw => "fastify + better-sqlite3, delivery only",
            Self::LeadhostAlone => "Leadhost, a commit for each request",
        }
    }

    fn body(self) -> Body {
        match self {
            Self::LeadhostRaw | Self::NodeRaw => Body::Nothing,
            _ => Body::Lead,
        }
    }
}

pub fn measure(arguments: &Arguments) -> Result<Report, Failure> {
    let component = arguments.component()?;
    let mut rounds: [Vec<Round>; 5] = Default::default();
    let mut sync = Vec::new();
    for number in 1..=arguments.rounds {
        for (side, rounds) in Side::ALL.into_iter().zip(&mut rounds) {
            let folder = arguments.scratch()?;
            sync.push(round::sync_time(folder.path())?.as_secs_f64());
            let round = match side {
                Side::Node | Side::NodeRaw => of_node(arguments, side, folder.path()),
                _ => of_leadhost(arguments, side, folder.path(), &component),
            };
            let round =
                round.map_err(|error| format!("{}, round {number}: {error}", side.name()))?;
            eprintln!(
                "  round {number}: {}: {} leads/s",
                side.name(),
                count(round.outcome.per_second())
            );
            rounds.push(round);
        }
    }
    report(arguments, &rounds, Duration::from_secs_f64(median(&sync)))
}

fn of_leadhost(
    arguments: &Arguments,
    side: Side,
    folder: &Path,
    component: &[u8],
) -> Result<Round, Failure> {
    let store = if side == Side::LeadhostAlone {
        ALONE
    } else {
        ""
    };
    let host = Host::start(&arguments.leadhost, folder, store)?;
    host.activate(component)?;
    let workspace = host.apply()?;
    let round = round::run(
        arguments,
        host.gateway,
        workspace.path,
        side.body(),
        || host.process.processor(),
        || Ok(()),
    )?;
    host.stop()?;
    let database = Database::Sqlite(host::database(folder));
    round::check(&database, side.body(), &round)?;
    Ok(round)
}

fn of_node(arguments: &Arguments, side: Side, folder: &Path) -> Result<Round, Failure> {
    let peer = Peer::start(&arguments.folder, folder)?;
    let round = round::run(
        arguments,
        peer.address,
        Peer::path(),
        side.body(),
        || peer.process.processor(),
        || Ok(()),
    )?;
    peer.stop()?;
    let database = Database::Sqlite(peer::database(folder));
    round::check(&database, side.body(), &round)?;
    Ok(round)
}

fn report(
    arguments: &Arguments,
    rounds: &[Vec<Round>; 5],
    sync: Duration,
) -> Result<Report, Failure> {
    let mut table = Table::new(
        &format!(
            "Leads of {} bytes, each another one, {CONNECTIONS} keep-alive connections, answered after the sync of their commit. Median of {} alternating rounds of {} s:",
            lead::BYTES,
            arguments.rounds,
            arguments.round().as_secs()
        ),
        &round::COLUMNS,
    );
    let mut data = Vec::new();
    let mut rates = Vec::new();
    for (side, rounds) in Side::ALL.into_iter().zip(rounds) {
        let (rate, figures) = round::line(&mut table, side.name(), rounds, []);
        rates.push(rate);
        data.push(figures);
    }
    let times = |a: usize, b: usize| rates[a] / rates[b];
    let mut report = Report::new("ingest", "Leads taken in durably");
    report.aim(
        "at least 1.5 times the leads of fastify + better-sqlite3 with group commit",
        format!("{:.2} times", times(0, 1)),
        times(0, 1) >= TIMES_NODE,
    );
    report.table(table);
    report.note(format!(
        "Delivery only: {:.2} times Node. Sharing a commit: {:.1} times a commit for each request.",
        times(2, 3),
        times(0, 4)
    ));
    report.note("Nothing is missing: after each round the rows were counted on both sides and every answered delivery was found (one item, dedupe key, contact, deal and two contact keys a lead).");
    report.note("Delivery only means a body of the same size in which the converter finds no lead: it is converted and stored as a delivery row without anything else.");
    report.note(round::generator(rounds.iter().flatten()));
    report.note(format!(
        "Both: SQLite, WAL, synchronous=FULL; one write of 4 KiB with fdatasync takes {} here. No access log on either side.",
        time(sync)
    ));
    report.data("sides", json!(data));
    peer::versions(&arguments.folder, &mut report)?;
    Ok(report)
}
