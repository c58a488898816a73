//! A converter is swapped across three hosts on one database while leads are
//! posted to all of them: how long until every host uses the new version, is
//! anything lost, and does anything that began after that run on the old one?
//!
//! Commands go to the hosts in turns. An activation is answered when every live
//! host uses the version; the versions that really ran are read from the rows afterwards.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use super::swap::{self, Activation, Judged, Swaps, judge};
use crate::host::{self, Host};
use crate::http::Client;
use crate::load::{self, Answer, Load, LoadOutcome, UNTIL_ENDED};
use crate::postgres::Server;
use crate::report::{Report, Table, count, time};
use crate::rows::StoredRows;
use crate::sample::Sample;
use crate::{Arguments, Failure, lead, variant};

const HOSTS: [&str; 3] = ["a", "b", "c"];
const CONNECTIONS: u64 = 21;
/// Swaps between two versions that the hosts have cached.
const SWAPS: usize = 15;
/// Swaps to versions that are new to all hosts: each compiles them.
const NEW: [u32; 3] = [2, 3, 4];
const PAUSE: Duration = Duration::from_millis(100);
const QUIET: Duration = Duration::from_secs(4);
const WARM_UP: Duration = Duration::from_secs(1);
/// Lead numbers of one host's load; a run uses far fewer.
const NUMBERS: u64 = 30_000_000;

/// The spells while leads come in.
const NOTHING: &str = "without swaps";
const AT_HAND: &str = "swaps between two versions at hand";
const OF_NEW: &str = "swaps to new versions";

pub fn measure(arguments: &Arguments) -> Result<Report, Failure> {
    let component = arguments.component()?;
    let other = variant::of(&component, 1)?;
    let server = Server::start(arguments)?;
    let database = server.database()?;
    let (mut folders, mut hosts) = (Vec::new(), Vec::new());
    for name in HOSTS {
        let folder = arguments.scratch()?;
        let (program, store) = (&arguments.leadhost, database.store());
        hosts.push(Host::start_as(name, program, folder.path(), &store)?);
        folders.push(folder);
    }
    let first = hosts[0].activate(&component)?;
    let workspace = hosts[0].apply()?;
    let second = hosts[0].activate(&other)?;
    for (number, host) in hosts.iter_mut().enumerate() {
        wait_for_connection(host, &workspace.path, 3 * NUMBERS + number as u64)?;
    }

    let load = |(host, number): (&Host, u64)| {
        load::start(Load {
            connections: CONNECTIONS,
            first: number * NUMBERS,
            during: UNTIL_ENDED,
            ..Load::new(host.gateway, workspace.path.clone())
        })
    };
    let loads: Vec<_> = hosts.iter().zip(0..).map(load).collect();
    std::thread::sleep(WARM_UP);
    let swaps = swap_all(&hosts, &component, [&first, &second]);
    let mut outcome = LoadOutcome::default();
    for load in loads {
        outcome.add(load.end()?);
    }
    let swaps = swaps?;
    for host in hosts {
        host.stop()?;
    }
    let ran = StoredRows::Postgres(database.url()).ran_with()?;
    let activations = &swaps.activations;
    let judged = judge(&outcome.answers, activations, &ran);
    let lingered =
        (0..activations.len()).filter_map(|at| lingered(activations, at, &outcome.answers, &ran));
    let lingered = Sample::from_durations(lingered);
    database.drop()?;
    let mut report = report(&outcome, &swaps, &judged, &lingered);
    server.version(&mut report)?;
    Ok(report)
}

/// A separate lead shows that a host knows the connection.
fn wait_for_connection(host: &mut Host, path: &str, number: u64) -> Result<(), Failure> {
    let mut body = Vec::new();
    lead::write(number, &mut body);
    let gateway = host.gateway;
    host.process.wait_for("it knew the connection", || {
        let mut client = Client::connect(gateway, None).ok()?;
        let answer = client.post(path, "application/json", &body).ok()?;
        (answer.status == 200).then_some(())
    })
}

fn swap_all(hosts: &[Host], component: &[u8], digests: [&str; 2]) -> Result<Swaps, Failure> {
    // A connection of its own for each command: a host closes those that are idle between them.
    let admin = |number: usize| hosts[number % hosts.len()].admin_with_key_of(&hosts[0]);
    let mut swaps = Swaps::default();
    let quiet = |swaps: &mut Swaps| {
        let from = Instant::now();
        std::thread::sleep(QUIET);
        swaps.spell(NOTHING, from);
    };
    quiet(&mut swaps);
    let from = Instant::now();
    for number in 0..SWAPS {
        let (digest, mut admin) = (digests[number % 2], admin(number)?);
        let began = Instant::now();
        let answer = Host::activate_stored(&mut admin, digest)?;
        swaps.activated(began, &answer)?;
        std::thread::sleep(PAUSE);
    }
    swaps.spell(AT_HAND, from);
    quiet(&mut swaps);
    let from = Instant::now();
    for (number, patches) in NEW.into_iter().enumerate() {
        let (variant, mut admin) = (variant::of(component, patches)?, admin(number)?);
        let began = Instant::now();
        let answer = host::upload(&mut admin, &variant, true)?;
        swaps.activated(began, &answer)?;
        std::thread::sleep(PAUSE);
    }
    swaps.spell(OF_NEW, from);
    quiet(&mut swaps);
    Ok(swaps)
}

/// Returns how long after the command the last request was sent that a version other
/// than the activated one answered, before the next command.
fn lingered(
    activations: &[Activation],
    at: usize,
    answers: &[Answer],
    ran: &HashMap<[u8; 36], (String, String)>,
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

fn report(outcome: &LoadOutcome, swaps: &Swaps, judged: &Judged, lingered: &Sample) -> Report {
    let mut report = Report::new("swap-fleet", "Swaps across three hosts under load");
    swap::aims(&mut report, outcome, judged);
    let mut table = Table::new(
        format!(
            "From the command to its answer, which comes when all of the {} hosts on one database serve the version; {CONNECTIONS} connections post leads to each of them:",
            HOSTS.len()
        ),
        "activation of | times | p50 | slowest",
    );
    let (at_hand, new) = swaps.activations.split_at(SWAPS);
    for (what, activations) in [
        ("a version that the hosts have at hand", at_hand),
        ("a new version, uploaded and compiled by each", new),
    ] {
        let sample = swap::took(activations);
        let [p50, _, slowest] = sample.cells();
        table.row([what.into(), count(sample.len() as f64), p50, slowest]);
    }
    report.table(table);
    let caption = "All hosts together meanwhile:";
    let names = [NOTHING, AT_HAND, OF_NEW];
    swap::spells_table(&mut report, caption, &names, outcome, swaps);
    swap::note_answers(&mut report, outcome, judged);
    report.note(format!(
        "The last request that the version before still converted was sent {} after the command (p50 of {} activations), {} at most: always before the answer.",
        time(lingered.p50()),
        lingered.len(),
        time(lingered.max()),
    ));
    report.note("Hosts, database, load and compilers share the same cores.");
    report
}
