//! A round of an ingest figure: warms up a side, loads it, and counts its rows.

use std::path::Path;
use std::time::Duration;

use crate::load::{self, Load, LoadBody, LoadOutcome};
use crate::postgres::{Server, Work};
use crate::process::Process;
use crate::report::{Cell, count, none, seconds, time, times};
use crate::rows::StoredRows;
use crate::sample::median;
use crate::{Arguments, Failure};

const WARM_UP: Duration = Duration::from_secs(1);
/// First number of a round's leads; no warm-up reaches it.
const FIRST: u64 = 50_000_000;

pub struct Round {
    pub outcome: LoadOutcome,
    pub warm: LoadOutcome,
    /// Processor time of the side's own process per answer.
    pub processor: Duration,
    /// The work of PostgreSQL's server meanwhile.
    pub server: Option<Work>,
    pub leads_per_commit: Option<f64>,
}

impl Round {
    pub fn answers(&self) -> usize {
        self.outcome.answers.len().max(1)
    }
}

/// Returns the sides in the order of this round. Every other round is reversed, because
/// the traces that a side leaves on the machine, or in the server's log, affect the next one.
pub fn in_turn<T>(sides: &mut [T], number: usize) -> Vec<&mut T> {
    let mut turns: Vec<&mut T> = sides.iter_mut().collect();
    if number.is_multiple_of(2) {
        turns.reverse();
    }
    turns
}

/// Warms up the side of this process and loads it.
pub fn run(
    arguments: &Arguments,
    load: Load,
    process: &Process,
    server: Option<&Server>,
) -> Result<Round, Failure> {
    let load = Load {
        during: arguments.round(),
        first: FIRST,
        ..load
    };
    let warm = load::start(Load {
        during: WARM_UP,
        first: 0,
        ..load.clone()
    })
    .join()?;
    let of_server = || server.map(Server::work).transpose();
    let before = (of_server()?, process.processor()?);
    let outcome = load::start(load).join()?;
    let used = process.processor()?.saturating_sub(before.1);
    let server = of_server()?.zip(before.0);
    for outcome in [&warm, &outcome] {
        if outcome.failed() > 0 {
            return Err(format!("requests failed: {:?}", outcome.failures).into());
        }
    }
    let answers = u32::try_from(outcome.answers.len())?.max(1);
    Ok(Round {
        processor: used / answers,
        outcome,
        warm,
        server: server.map(|(after, before)| after.since(before)),
        leads_per_commit: None,
    })
}

/// Prints a round's result, or names the round in its error.
pub fn told(number: usize, side: &str, round: Result<Round, Failure>) -> Result<Round, Failure> {
    let round = round.map_err(|error| format!("{side}, round {number}: {error}"))?;
    eprintln!(
        "  round {number}: {side}: {} leads/s, processor a lead {}",
        count(round.outcome.per_second()),
        time(round.processor)
    );
    Ok(round)
}

/// Checks that every answered delivery is stored, and no other.
pub fn check(database: &StoredRows, body: LoadBody, round: &Round) -> Result<(), Failure> {
    let answers = round.warm.answers.iter().chain(&round.outcome.answers);
    database.check(body, &answers.collect::<Vec<_>>())
}

/// Returns the median seconds of writing one page with its sync on this disk.
pub fn sync_time(folder: &Path) -> Result<f64, Failure> {
    use std::io::Write as _;
    let mut file = std::fs::File::create(folder.join("sync"))?;
    let mut times = Vec::new();
    for _ in 0..50 {
        let begin = std::time::Instant::now();
        file.write_all(&[7; 4096])?;
        file.sync_data()?;
        times.push(begin.elapsed().as_secs_f64());
    }
    Ok(median(times))
}

pub fn middle(rounds: &[Round], figure: impl Fn(&Round) -> f64) -> f64 {
    median(rounds.iter().map(figure))
}

pub const COLUMNS: &str =
    "side | leads/s | lowest and highest round | p50 | p99 | processor time a lead";

pub fn rate(rounds: &[Round]) -> f64 {
    middle(rounds, |round| round.outcome.per_second())
}

fn p50(rounds: &[Round]) -> f64 {
    middle(rounds, |round| round.outcome.latency().p50().as_secs_f64())
}

fn processor(rounds: &[Round]) -> f64 {
    middle(rounds, |round| round.processor.as_secs_f64())
}

/// Note of a result with a baseline.
pub const BASELINE: &str = "The baseline is another build of the service, given to this run, on a store of its own; it takes turns with this build.";

/// Relative difference that two runs of one build may have. Less is not a difference.
pub const NOISE: f64 = 1.05;

/// A side's results as multiples of the baseline's in the same rounds.
#[derive(Clone, Copy, Debug)]
pub struct BaselineRatio {
    pub rate: f64,
    pub p50: f64,
    pub processor: f64,
}

impl BaselineRatio {
    pub const COLUMNS: &str =
        "leads/s, times the baseline's | p50, times its | processor time, times its";

    pub fn from_rounds(rounds: &[Round], baseline: &[Round]) -> Self {
        Self {
            rate: rate(rounds) / rate(baseline),
            p50: p50(rounds) / p50(baseline),
            processor: processor(rounds) / processor(baseline),
        }
    }

    pub fn cells(ratio: Option<Self>) -> [Cell; 3] {
        match ratio {
            None => std::array::from_fn(|_| none()),
            Some(ratio) => [ratio.rate, ratio.p50, ratio.processor].map(times),
        }
    }
}

pub fn cells(name: &str, rounds: &[Round]) -> [Cell; 6] {
    let each = rounds.iter().map(|round| round.outcome.per_second());
    let lowest = each.clone().fold(f64::INFINITY, f64::min);
    let highest = each.fold(0.0, f64::max);
    let p99 = middle(rounds, |round| round.outcome.latency().p99().as_secs_f64());
    [
        name.into(),
        count(rate(rounds)),
        format!("{} to {}", count(lowest), count(highest)).into(),
        seconds(p50(rounds)),
        seconds(p99),
        seconds(processor(rounds)),
    ]
}

/// Returns a note with the share of a core that the load generator uses (median).
pub fn generator<'a>(rounds: impl Iterator<Item = &'a Round>) -> String {
    let share =
        |outcome: &LoadOutcome| outcome.processor.as_secs_f64() / outcome.elapsed.as_secs_f64();
    format!(
        "The generator runs on the same machine in one thread and takes {:.0} % of a core (median).",
        median(rounds.map(|round| share(&round.outcome))) * 100.0
    )
}
