//! A converter is swapped across three hosts on one database while leads are
//! posted to all of them: how long until every host uses the new version, is
//! anything lost, and does anything that began after that run on the old one?
//!
//! Commands go to the hosts in turns. An activation is answered when every live
//! host uses the version; the versions that really ran are read from the rows afterwards.

use std::time::{Duration, Instant};

use serde_json::Value;

use super::swap::{self, Activation, Judged, SpellLog, judge};
use crate::host::Host;
use crate::http::Client;
use crate::load::{self, Answer, Load, LoadOutcome};
use crate::postgres::Server;
use crate::report::{Report, Table, count, time};
use crate::rows::StoredRows;
use crate::sample::Sample;
use crate::{Arguments, Failure, lead, variant};

const HOSTS: [&str; 3] = ["a", "b", "c"];
const CONNECTIONS: u64 = 21;
/// Swaps between two versions that the hosts have cached.
const SWAPS: usize = 40;
/// Swaps to versions that are new to all hosts: each compiles them.
const NEW: [u32; 3] = [2, 3, 4];
const PAUSE: Duration = Duration::from_millis(100);
const QUIET: Duration = Duration::from_secs(4);
const WARM_UP: Duration = Duration::from_secs(1);
/// Lead numbers of one host's load; a run uses far fewer.
const NUMBERS: u64 = 30_000_000;
/// Timeout for hosts to learn of a new connection.
const PATIENCE: Duration = Duration::from_secs(10);

/// The spells while leads come in.
const NOTHING: &str = "without swaps";
const AT_HAND: &str = "swaps between two versions at hand";
const OF_NEW: &str = "swaps to new versions";

pub fn measure(arguments: &Arguments) -> Result<Report, Failure> {
    let component = arguments.component()?;
    let other = variant::of(&component, 1)?;
    let server = Server::start(arguments)?;
    let database = server.database()?;
    let folders: Vec<_> = HOSTS
        .iter()
        .map(|_| arguments.scratch())
        .collect::<Result<_, _>>()?;
    let hosts: Vec<Host> = HOSTS
        .iter()
        .zip(&folders)
        .map(|(name, folder)| {
            Host::start_as(name, &arguments.leadhost, folder.path(), &database.store())
        })
        .collect::<Result<_, _>>()?;
    let first = hosts[0].activate(&component)?;
    let workspace = hosts[0].apply()?;
    let second = hosts[0].activate(&other)?;
    for (number, host) in hosts.iter().enumerate() {
        wait_for_connection(host, &workspace.path, 3 * NUMBERS + number as u64)?;
    }

    let stop = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let loads: Vec<_> = hosts
        .iter()
        .zip(0..)
        .map(|(host, number)| {
            load::start_until(
                Load {
                    connections: CONNECTIONS,
                    first: number * NUMBERS,
                    // The flag ends it long before.
                    during: Duration::from_secs(600),
                    ..Load::new(host.gateway, workspace.path.clone())
                },
                std::sync::Arc::clone(&stop),
            )
        })
        .collect();
    std::thread::sleep(WARM_UP);
    let mut activations = Vec::new();
    let mut spells = Vec::new();
    let swapped = swap_all(
        &hosts,
        &component,
        [&first, &second],
        &mut activations,
        &mut spells,
    );
    stop.store(true, std::sync::atomic::Ordering::Relaxed);
    let mut outcome = LoadOutcome::default();
    for load in loads {
        outcome.add(load::join(load)?);
    }
    swapped?;
    for host in hosts {
        host.stop()?;
    }
    let ran = StoredRows::Postgres(database.url()).ran_with()?;
    let judged = judge(&outcome.answers, &activations, &ran);
    let lingered: Vec<Duration> = (0..activations.len())
        .filter_map(|at| lingered(&activations, at, &outcome.answers, &ran))
        .collect();
    database.drop()?;
    let mut report = report(&outcome, &activations, &spells, &judged, &lingered);
    server.version(&mut report)?;
    Ok(report)
}

/// A separate lead shows that a host knows the connection.
fn wait_for_connection(host: &Host, path: &str, number: u64) -> Result<(), Failure> {
    let mut body = Vec::new();
    lead::write(number, &mut body);
    let begin = Instant::now();
    loop {
        let answer = Client::connect(host.gateway, None)?.post(path, "application/json", &body)?;
        if answer.status == 200 {
            return Ok(());
        }
        if begin.elapsed() > PATIENCE {
            return Err(format!("a host does not know the connection: {}", answer.status).into());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn swap_all(
    hosts: &[Host],
    component: &[u8],
    digests: [&str; 2],
    activations: &mut Vec<Activation>,
    spells: &mut SpellLog,
) -> Result<(), Failure> {
    let mut admins = hosts
        .iter()
        .map(|host| host.admin_with_key_of(&hosts[0]))
        .collect::<Result<Vec<_>, _>>()?;
    let quiet = |spells: &mut SpellLog| {
        let from = Instant::now();
        std::thread::sleep(QUIET);
        spells.push((NOTHING, from, Instant::now()));
    };
    quiet(spells);
    let from = Instant::now();
    for number in 0..SWAPS {
        let digest = digests[number % 2];
        let began = Instant::now();
        let answer = Host::activate_stored(&mut admins[number % hosts.len()], digest)?;
        activations.push(activation(began, &answer)?);
        std::thread::sleep(PAUSE);
    }
    spells.push((AT_HAND, from, Instant::now()));
    quiet(spells);
    let from = Instant::now();
    for (number, patches) in NEW.into_iter().enumerate() {
        let variant = variant::of(component, patches)?;
        let began = Instant::now();
        let answer = admins[number % hosts.len()]
            .post(
                "/admin/v1/plugins?activate=true",
                "application/wasm",
                &variant,
            )?
            .json()?;
        activations.push(activation(began, &answer)?);
        std::thread::sleep(PAUSE);
    }
    spells.push((OF_NEW, from, Instant::now()));
    quiet(spells);
    Ok(())
}

/// It must be answered when every host uses the version.
fn activation(began: Instant, answer: &Value) -> Result<Activation, Failure> {
    let answered = Instant::now();
    if answer["behind"]
        .as_array()
        .is_none_or(|behind| !behind.is_empty())
    {
        return Err(format!("not every host serves what was activated: {answer}").into());
    }
    Ok(Activation {
        began,
        answered,
        digest: answer["digest"].as_str().unwrap_or_default().to_owned(),
    })
}

/// Returns how long after the command the last request was sent that a version other
/// than the activated one answered, before the next command.
fn lingered(
    activations: &[Activation],
    at: usize,
    answers: &[Answer],
    ran: &std::collections::HashMap<[u8; 36], (String, String)>,
) -> Option<Duration> {
    let this = &activations[at];
    let next = activations.get(at + 1).map(|next| next.began);
    answers
        .iter()
        .filter(|answer| answer.sent >= this.began && next.is_none_or(|next| answer.sent < next))
        .filter(|answer| {
            ran.get(&answer.delivery)
                .is_some_and(|(_, digest)| *digest != this.digest)
        })
        .map(|answer| answer.sent - this.began)
        .max()
}

fn report(
    outcome: &LoadOutcome,
    activations: &[Activation],
    spells: &SpellLog,
    judged: &Judged,
    lingered: &[Duration],
) -> Report {
    let mut report = Report::new("swap-fleet", "Swaps across three hosts under load");
    swap::aims(&mut report, outcome, judged);
    let mut table = Table::new(
        format!(
            "From the command to its answer, which comes when all of the {} hosts on one database serve the version; {CONNECTIONS} connections post leads to each of them:",
            HOSTS.len()
        ),
        "activation of | times | p50 | slowest",
    );
    let (at_hand, new) = activations.split_at(SWAPS.min(activations.len()));
    for (what, activations) in [
        ("a version that the hosts have at hand", at_hand),
        ("a new version, uploaded and compiled by each", new),
    ] {
        let sample = swap::took(activations);
        table.row([
            what.into(),
            count(activations.len() as f64),
            time(sample.p50()),
            time(sample.max()),
        ]);
    }
    report.table(table);
    let caption = "All hosts together meanwhile:".to_owned();
    let names = [NOTHING, AT_HAND, OF_NEW];
    swap::spells_table(&mut report, caption, &names, outcome, spells);
    swap::note_answers(&mut report, outcome, judged);
    let sample = Sample::from_durations(lingered.iter().copied());
    report.note(format!(
        "The last request that the version before still converted was sent {} after the command (p50 of {} activations), {} at most: always before the answer.",
        time(sample.p50()),
        sample.len(),
        time(sample.max()),
    ));
    report.note("Hosts, database, load and compilers share the same cores.");
    report
}
