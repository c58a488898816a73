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
use crate::load::{self, Body, CONNECTIONS, Load, Outcome};
use crate::peer::{self, Peer};
use crate::report::{Report, Table, count, time};
use crate::rows::{self, Counted};
use crate::sample::median;
use crate::{Arguments, Failure, lead};

const TIMES_NODE: f64 = 1.5;
const WARM_UP: Duration = Duration::from_secs(1);
/// Numbers of leads that no warm-up reaches.
const FIRST: u64 = 50_000_000;

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

struct Round {
    outcome: Outcome,
    /// Processor time of the side for one answer.
    processor: Duration,
}

pub fn measure(arguments: &Arguments) -> Result<Report, Failure> {
    let component = arguments.component()?;
    let mut rounds: [Vec<Round>; 5] = Default::default();
    let mut sync = Vec::new();
    for number in 1..=arguments.rounds {
        for (side, rounds) in Side::ALL.into_iter().zip(&mut rounds) {
            let folder = arguments.scratch()?;
            sync.push(sync_time(folder.path())?.as_secs_f64());
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
    let load = Load {
        to: host.gateway,
        path: workspace.path,
        body: side.body(),
        during: arguments.round(),
        first: FIRST,
    };
    let (warm, round) = warm_and_run(&load, || host.process.processor())?;
    host.stop()?;
    check(&host::database(folder), side, &warm, &round.outcome)?;
    Ok(round)
}

fn of_node(arguments: &Arguments, side: Side, folder: &Path) -> Result<Round, Failure> {
    let peer = Peer::start(&arguments.folder, folder)?;
    let load = Load {
        to: peer.address,
        path: Peer::path(),
        body: side.body(),
        during: arguments.round(),
        first: FIRST,
    };
    let (warm, round) = warm_and_run(&load, || peer.process.processor())?;
    peer.stop()?;
    check(&peer::database(folder), side, &warm, &round.outcome)?;
    Ok(round)
}

fn warm_and_run(
    load: &Load,
    processor: impl Fn() -> Result<Duration, Failure>,
) -> Result<(Outcome, Round), Failure> {
    let warm = load::finish(Load {
        during: WARM_UP,
        first: 0,
        ..load.clone()
    })?;
    let before = processor()?;
    let outcome = load::finish(load.clone())?;
    let used = processor()?.saturating_sub(before);
    for outcome in [&warm, &outcome] {
        if outcome.failed() > 0 {
            return Err(format!("requests failed: {:?}", outcome.failures).into());
        }
    }
    let answers = u32::try_from(outcome.answers.len())?.max(1);
    let processor = used / answers;
    Ok((warm, Round { outcome, processor }))
}

/// Every answer is there, and nothing that was not answered.
fn check(database: &Path, side: Side, warm: &Outcome, outcome: &Outcome) -> Result<(), Failure> {
    let answers = || warm.answers.iter().chain(&outcome.answers);
    let leads = u64::try_from(answers().count())?;
    let made = if side.body() == Body::Lead { leads } else { 0 };
    let expected = Counted {
        deliveries: leads,
        items: made,
        dedupe: made,
        contacts: made,
        contact_keys: 2 * made,
        deals: made,
    };
    rows::block_on(async {
        let mut connection = rows::open(database).await?;
        let counted = rows::count(&mut connection).await?;
        if counted != expected {
            return Err(format!("{counted:?} were stored, {expected:?} were answered").into());
        }
        match rows::missing(&mut connection, answers()).await? {
            0 => Ok(()),
            missing => Err(format!("{missing} answered deliveries are not stored").into()),
        }
    })
}

/// What one write of a page with its sync takes on this disk, in the middle.
fn sync_time(folder: &Path) -> Result<Duration, Failure> {
    use std::io::Write as _;
    let mut file = std::fs::File::create(folder.join("sync"))?;
    let mut times = Vec::new();
    for _ in 0..50 {
        let begin = std::time::Instant::now();
        file.write_all(&[7; 4096])?;
        file.sync_data()?;
        times.push(begin.elapsed().as_secs_f64());
    }
    Ok(Duration::from_secs_f64(median(&times)))
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
            arguments.seconds
        ),
        &[
            "side",
            "leads/s",
            "lowest and highest round",
            "p50",
            "p99",
            "processor time a lead",
        ],
    );
    let mut data = Vec::new();
    let mut rates = Vec::new();
    for (side, rounds) in Side::ALL.into_iter().zip(rounds) {
        let each: Vec<f64> = rounds
            .iter()
            .map(|round| round.outcome.per_second())
            .collect();
        let of = |figure: fn(&Round) -> f64| median(&rounds.iter().map(figure).collect::<Vec<_>>());
        let p50 = of(|round| round.outcome.latency().p50().as_secs_f64());
        let p99 = of(|round| round.outcome.latency().p99().as_secs_f64());
        let processor = of(|round| round.processor.as_secs_f64());
        let rate = median(&each);
        rates.push(rate);
        let lowest = each.iter().copied().fold(f64::INFINITY, f64::min);
        let highest = each.iter().copied().fold(0.0, f64::max);
        table.row([
            side.name().to_owned(),
            count(rate),
            format!("{} to {}", count(lowest), count(highest)),
            time(Duration::from_secs_f64(p50)),
            time(Duration::from_secs_f64(p99)),
            time(Duration::from_secs_f64(processor)),
        ]);
        data.push(json!({
            "side": side.name(),
            "leadsPerSecond": each,
            "p50Seconds": p50,
            "p99Seconds": p99,
            "processorSecondsPerLead": processor,
            "answers": rounds.iter().map(|round| round.outcome.answers.len()).collect::<Vec<_>>(),
        }));
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
    let generator = median(
        &rounds
            .iter()
            .flatten()
            .map(|round| {
                round.outcome.processor.as_secs_f64() / round.outcome.elapsed.as_secs_f64()
            })
            .collect::<Vec<_>>(),
    );
    report.note(format!(
        "The generator runs on the same machine in one thread and takes {:.0} % of a core (median).",
        generator * 100.0
    ));
    report.note(format!(
        "Both: SQLite, WAL, synchronous=FULL; one write of 4 KiB with fdatasync takes {} here. No access log on either side.",
        time(sync)
    ));
    report.data("sides", json!(data));
    peer::versions(&arguments.folder, &mut report)?;
    Ok(report)
}
