//! A round of an ingest figure: warms up a side, loads it, and counts its rows. The
//! delivery of each answer must exist, and there must be exactly one item, dedupe key,
//! contact and deal, and two contact keys, for each.

use std::path::Path;
use std::time::Duration;

use crate::load::{self, Load, LoadBody, LoadOutcome};
use crate::report::{Cell, count, none, seconds, times};
use crate::rows::{Counted, StoredRows};
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

/// Warms the side up and loads it. `processor` returns the processor time that its process
/// has used so far.
pub fn run(
    arguments: &Arguments,
    load: Load,
    processor: impl Fn() -> Result<Duration, Failure>,
    between: impl Fn() -> Result<(), Failure>,
) -> Result<Round, Failure> {
    let load = Load {
        during: arguments.round(),
        first: FIRST,
        ..load
    };
    let warm = load::finish(Load {
        during: WARM_UP,
        first: 0,
        ..load.clone()
    })?;
    between()?;
    let before = processor()?;
    let outcome = load::finish(load)?;
    let used = processor()?.saturating_sub(before);
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
    })
}

/// Checks that every answered delivery is stored, and no other.
pub fn check(database: &StoredRows, body: LoadBody, round: &Round) -> Result<(), Failure> {
    let answers = || round.warm.answers.iter().chain(&round.outcome.answers);
    let leads = u64::try_from(answers().count())?;
    let made = if body == LoadBody::Lead { leads } else { 0 };
    let expected = Counted {
        deliveries: leads,
        items: made,
        dedupe: made,
        contacts: made,
        contact_keys: 2 * made,
        deals: made,
    };
    database.check(&expected, answers())
}

/// Returns the median time of writing one page with its sync on this disk.
pub fn sync_time(folder: &Path) -> Result<Duration, Failure> {
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

pub fn middle(rounds: &[Round], figure: impl Fn(&Round) -> f64) -> f64 {
    median(&rounds.iter().map(figure).collect::<Vec<_>>())
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

/// A side's results as multiples of those of the same side of the baseline in the same rounds.
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
    let shares: Vec<f64> = rounds
        .map(|round| round.outcome.processor.as_secs_f64() / round.outcome.elapsed.as_secs_f64())
        .collect();
    format!(
        "The generator runs on the same machine in one thread and takes {:.0} % of a core (median).",
        median(&shares) * 100.0
    )
}
