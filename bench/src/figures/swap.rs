//! A converter is swapped again and again while 64 connections post leads:
//! nothing is lost, nothing fails, and nothing that began after an activation
//! was answered ran on the version that it retired.
//!
//! Swapping and quiet phases take turns under one load, so that the latency of
//! both is from the same run. The version that converted a delivery is read from
//! the store.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::host::{self, Host};
use crate::load::{self, Answer, CONNECTIONS, Load, LoadOutcome, UNTIL_ENDED};
use crate::report::{Report, Table, count, time};
use crate::rows::StoredRows;
use crate::sample::Sample;
use crate::{Arguments, Failure, variant};

const SWAPS: usize = 25;
const SPELLS: usize = 5;
/// Between two swaps.
const PAUSE: Duration = Duration::from_millis(80);
/// A quiet phase is as long as a swapping one of swaps that take no time.
const QUIET: Duration = Duration::from_millis(80 * (SWAPS / SPELLS) as u64);
/// The beginning, which is not counted.
const WARM_UP: Duration = Duration::from_secs(1);

pub(super) struct Activation {
    pub(super) began: Instant,
    pub(super) answered: Instant,
    pub(super) digest: String,
}

#[derive(Default)]
pub(super) struct Swaps {
    pub(super) activations: Vec<Activation>,
    /// What went on while leads came in, and when.
    pub(super) spells: Vec<(&'static str, Instant, Instant)>,
}

impl Swaps {
    /// Notes an activation by its answer, which comes when every host uses the version.
    pub(super) fn activated(&mut self, began: Instant, answer: &Value) -> Result<(), Failure> {
        let answered = Instant::now();
        host::nobody_is_behind(answer)?;
        self.activations.push(Activation {
            began,
            answered,
            digest: host::text(answer, "/digest")?,
        });
        Ok(())
    }

    /// Notes a spell from this time until now.
    pub(super) fn spell(&mut self, name: &'static str, from: Instant) {
        self.spells.push((name, from, Instant::now()));
    }
}

const SPELLS_OF: [&str; 2] = ["without swaps", "with swaps"];

pub fn measure(arguments: &Arguments) -> Result<Report, Failure> {
    let folder = arguments.scratch()?;
    let component = arguments.component()?;
    let other = variant::of(&component, 1)?;
    let host = Host::start(&arguments.leadhost, folder.path(), "")?;
    let first = host.activate(&component)?;
    let workspace = host.apply()?;
    let second = host.activate(&other)?;

    let load = load::start(Load {
        during: UNTIL_ENDED,
        ..Load::new(host.gateway, workspace.path)
    });
    std::thread::sleep(WARM_UP);
    let swaps = swap(&host, [&first, &second]);
    let outcome = load.end()?;
    let swaps = swaps?;
    host.stop()?;

    let ran = StoredRows::Sqlite(host::database(folder.path())).ran_with()?;
    let judged = judge(&outcome.answers, &swaps.activations, &ran);
    Ok(report(&outcome, &swaps, &judged))
}

/// Quiet and swapping phases in turn. The second version is active at first.
fn swap(host: &Host, digests: [&str; 2]) -> Result<Swaps, Failure> {
    let mut admin = host.admin()?;
    let mut swaps = Swaps::default();
    for _ in 0..SPELLS {
        let from = Instant::now();
        std::thread::sleep(QUIET);
        swaps.spell(SPELLS_OF[0], from);
        let from = Instant::now();
        for _ in 0..SWAPS / SPELLS {
            let began = Instant::now();
            let digest = digests[swaps.activations.len() % 2];
            swaps.activated(began, &Host::activate_stored(&mut admin, digest)?)?;
            std::thread::sleep(PAUSE.saturating_sub(began.elapsed()));
        }
        swaps.spell(SPELLS_OF[1], from);
    }
    Ok(swaps)
}

#[derive(Debug, Default)]
pub(super) struct Judged {
    pub(super) lost: u64,
    /// Stored with another status than `converted`.
    pub(super) failed: u64,
    /// Sent after an activation was answered, answered before the next began,
    /// and converted by a version other than the activated one.
    pub(super) retired: u64,
    /// The number of answers that could be judged in this way.
    pub(super) between: u64,
}

/// Compares each answer with the stored status and version of its delivery (`ran`).
pub(super) fn judge(
    answers: &[Answer],
    activations: &[Activation],
    ran: &HashMap<[u8; 36], (String, String)>,
) -> Judged {
    let mut judged = Judged::default();
    for answer in answers {
        let Some((status, digest)) = ran.get(&answer.delivery) else {
            judged.lost += 1;
            continue;
        };
        if status != "converted" {
            judged.failed += 1;
        }
        let served = activations
            .iter()
            .rposition(|activation| activation.answered < answer.sent);
        if let Some(served) = served {
            let next = activations.get(served + 1).map(|next| next.began);
            if next.is_none_or(|next| answer.sent + answer.took < next) {
                judged.between += 1;
                if *digest != activations[served].digest {
                    judged.retired += 1;
                }
            }
        }
    }
    judged
}

pub(super) fn aims(report: &mut Report, outcome: &LoadOutcome, judged: &Judged) {
    let failed = outcome.failed() + judged.failed;
    let retired = "no call on a retired version that began after the activation was answered";
    for (aim, figure) in [
        ("no lead lost", judged.lost),
        ("no request failed", failed),
        (retired, judged.retired),
    ] {
        report.aim(aim, figure, figure == 0);
    }
    if failed > 0 {
        report.note(format!("What failed: {:?}.", outcome.failures));
    }
}

pub(super) fn note_answers(report: &mut Report, outcome: &LoadOutcome, judged: &Judged) {
    report.note(format!(
        "{} leads were answered, each is stored. {} of them were sent after one activation was answered and answered before the next began: the version recorded with each is the one that was active then.",
        count(outcome.answers.len() as f64),
        count(judged.between as f64),
    ));
}

/// Adds a line for the spells of each name. Returns the p99 of each.
pub(super) fn spells_table(
    report: &mut Report,
    caption: impl Into<String>,
    names: &[&'static str],
    outcome: &LoadOutcome,
    swaps: &Swaps,
) -> Vec<Duration> {
    let mut table = Table::new(caption, "spell | leads/s | p50 | p99 | slowest");
    let mut all = Vec::new();
    for name in names {
        let spells: Vec<_> = swaps.spells.iter().filter(|(of, ..)| of == name).collect();
        let lasted: Duration = spells.iter().map(|(_, from, to)| *to - *from).sum();
        let within = |answer: &&Answer| {
            let mut spells = spells.iter();
            spells.any(|(_, from, to)| *from <= answer.sent && answer.sent < *to)
        };
        let took = outcome.answers.iter().filter(within);
        let sample = Sample::from_durations(took.map(|answer| answer.took));
        let [p50, p99, slowest] = sample.cells();
        let rate = count(sample.len() as f64 / lasted.as_secs_f64());
        table.row([(*name).into(), rate, p50, p99, slowest]);
        all.push(sample.p99());
    }
    report.table(table);
    all
}

pub(super) fn took(activations: &[Activation]) -> Sample {
    Sample::from_durations(activations.iter().map(|one| one.answered - one.began))
}

fn report(outcome: &LoadOutcome, swaps: &Swaps, judged: &Judged) -> Report {
    let mut report = Report::new("swap", "Swaps under load");
    aims(&mut report, outcome, judged);
    let caption = format!(
        "{} swaps between two versions, at most one each {} ms, while {CONNECTIONS} connections post leads:",
        swaps.activations.len(),
        PAUSE.as_millis()
    );
    let p99 = spells_table(&mut report, caption, &SPELLS_OF, outcome, swaps);
    note_answers(&mut report, outcome, judged);
    let activation = took(&swaps.activations);
    report.note(format!(
        "An activation of a stored version was answered after {} (p50), {} at most.",
        time(activation.p50()),
        time(activation.max())
    ));
    let times = p99[1].as_secs_f64() / p99[0].as_secs_f64();
    report.note(format!("p99 with swaps is {times:.2} times that without."));
    report
}
