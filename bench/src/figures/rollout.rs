//! Versions that are compared and rolled out while a source sends leads: what a verification, a shadow
//! and a canary cost the senders, and how long a component takes from its file until it serves.
//!
//! The source sends at a fixed rate far below what the service ingests. The sides of the
//! comparison take turns there and back, so that what changes slowly affects all of them.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::Command;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::host::{self, Host};
use crate::http::Client;
use crate::paced::{self, Paced, PacedBody, PacedOutcome};
use crate::report::{Cell, Report, Table, count, none, seconds, time};
use crate::sample::{Sample, median};
use crate::{Arguments, Failure, lead, memory_note, variant};

const RATE: f64 = 500.0;
/// Requests in flight, above which due leads are not sent: more than ever are.
const MANY: usize = 4_096;
const SOURCE: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 2));
/// Lead numbers of one load, which sends fewer.
const NUMBERS: u64 = 200_000;
/// A load that is not stopped ends by itself.
const LONGEST: Duration = Duration::from_secs(300);

/// Deliveries of a verification, also of one before an activation: the default.
const DELIVERIES: u64 = 1_000;
/// Leads before a measurement, from which [`DELIVERIES`] are chosen.
const WARM_UP: Duration = Duration::from_secs(3);
/// The pause after a spell, in which the last deliveries of a shadow are compared.
const SETTLE: Duration = Duration::from_millis(100);
/// A spell of one side is this part of `--seconds`: a round has eight.
const PART: u32 = 5;
/// The converter of the comparison; the patches after its version of the same code as a candidate, and of the
/// same code as versions that no host has compiled.
const PLUGIN: &str = "grupo-olx";
const CANDIDATE: u32 = 1;
const NEW: [u32; 5] = [2, 3, 4, 5, 6];

pub fn measure(arguments: &Arguments) -> Result<Report, Failure> {
    Ok(report(arguments, &comparison(arguments)?))
}

/// A side of the comparison: what goes on beside the senders.
struct Side {
    name: &'static str,
    does: Beside,
    /// The greatest ratio of the p99 to that without, if there is an aim.
    aim: Option<f64>,
}

enum Beside {
    Nothing,
    Verifications,
    /// An open rollout in this mode, of all deliveries.
    Rollout(&'static str),
}

#[rustfmt::skip]
const SIDES: [Side; 4] = [
    Side { name: "no rollout", does: Beside::Nothing, aim: None },
    Side { name: "verifications, one after the other", does: Beside::Verifications, aim: Some(1.2) },
    Side { name: "a shadow of 100 %", does: Beside::Rollout("shadow"), aim: Some(1.1) },
    Side { name: "a canary of 100 %", does: Beside::Rollout("canary"), aim: None },
];

/// The places in [`SIDES`] of the side without a rollout, and of that with verifications.
const NOTHING: usize = 0;
const VERIFYING: usize = 1;

#[derive(Default)]
struct Spells {
    /// How long the sender of each lead waited, in each spell.
    took: Vec<Vec<Duration>>,
    /// Deliveries that both versions converted.
    compared: u64,
    /// Deliveries of a rollout that were not compared.
    dropped: u64,
    verifying: Duration,
}

impl Spells {
    fn all(&self) -> Sample {
        Sample::from_durations(self.took.iter().flatten().copied())
    }

    /// The ratio of the p99 to another side's, in all spells together.
    fn times(&self, other: &Self) -> f64 {
        self.all().times(&other.all())
    }

    fn each(&self, other: &Self) -> Vec<f64> {
        let of = |took: &Vec<Duration>| Sample::from_durations(took.iter().copied());
        let pairs = self.took.iter().zip(&other.took);
        pairs
            .map(|(own, other)| of(own).times(&of(other)))
            .collect()
    }

    fn verified_per_second(&self) -> f64 {
        self.compared as f64 / self.verifying.as_secs_f64().max(f64::MIN_POSITIVE)
    }
}

struct Comparison {
    /// In the order of [`SIDES`].
    spells: [Spells; SIDES.len()],
    /// From a component's file until it serves.
    served: Vec<Duration>,
}

fn comparison(arguments: &Arguments) -> Result<Comparison, Failure> {
    let component = arguments.component()?;
    let candidate = variant::of(&component, CANDIDATE)?;
    let folder = arguments.scratch_in_memory()?;
    let (host, workspace) =
        Host::with_workspace(arguments, &arguments.leadhost, folder.path(), "")?;
    let mut source = Source {
        to: host.gateway,
        path: workspace.path,
        next: 0,
    };
    let candidate = host.store(&candidate)?;
    source.send(WARM_UP)?;

    let during = arguments.round() / PART;
    let mut spells: [Spells; SIDES.len()] = Default::default();
    for number in 1..=arguments.rounds.max(1) {
        for at in (0..SIDES.len()).chain((0..SIDES.len()).rev()) {
            let side = &SIDES[at];
            let measured = &mut spells[at];
            spell(&host, &mut source, side, &candidate, during, measured)
                .map_err(|error| format!("{}: {error}", side.name))?;
        }
        let each = spells.iter().map(|side| side.times(&spells[NOTHING]));
        let each = each.map(|times| format!("{times:.2}"));
        let each = each.collect::<Vec<_>>().join(", ");
        eprintln!("  round {number}: p99, times that without: {each}");
    }
    let mut served = Vec::new();
    for patches in NEW.into_iter().take(arguments.rounds.max(1)) {
        let (folder, source) = (folder.path(), &mut source);
        served.push(serve(
            arguments, &host, folder, source, &component, patches,
        )?);
    }
    host.stop()?;
    Ok(Comparison { spells, served })
}

fn spell(
    host: &Host,
    source: &mut Source,
    side: &Side,
    candidate: &str,
    during: Duration,
    measured: &mut Spells,
) -> Result<(), Failure> {
    if let Beside::Rollout(mode) = side.does {
        let order = json!({"digest": candidate, "mode": mode, "steps": [100], "everySeconds": 600});
        host::nobody_is_behind(&host.admin()?.post_json(&rollout_path(), &order)?)?;
    }
    let verifications = match side.does {
        Beside::Verifications => Some(verify(host, candidate, Instant::now() + during)?),
        _ => None,
    };
    let outcome = source.send(during)?;
    measured.took.push(outcome.took);
    if let Some(thread) = verifications {
        let (compared, took) = thread.join().map_err(|_| "a verification panicked")??;
        measured.compared += compared;
        measured.verifying += took;
    }
    std::thread::sleep(SETTLE);
    if let Beside::Rollout(_) = side.does {
        let abort = json!({"change": "abort"});
        let ended = host.admin()?.send_json("PATCH", &rollout_path(), &abort)?;
        let compared = number(&ended, "compared");
        if compared == 0 || compared != number(&ended, "same") {
            return Err(format!("the same code makes something else: {ended}").into());
        }
        measured.compared += compared;
        measured.dropped += number(&ended, "dropped");
    }
    Ok(())
}

type Verified = Result<(u64, Duration), Failure>;

/// Verifies a version again and again until a time. Returns the compared deliveries, and the
/// time that this took.
fn verify(host: &Host, digest: &str, until: Instant) -> Result<JoinHandle<Verified>, Failure> {
    let mut admin = host.admin()?;
    let path = format!("/admin/v1/plugins/{PLUGIN}/verify?last={DELIVERIES}&seconds=100");
    let body = json!({"digest": digest});
    Ok(std::thread::spawn(move || -> Verified {
        let (mut compared, mut took) = (0, Duration::ZERO);
        while Instant::now() < until {
            let began = Instant::now();
            let answer = admin.post_json(&path, &body)?;
            let lasted = began.elapsed();
            let both = number(&answer, "compared");
            if both == 0 || both != number(&answer, "same") {
                return Err(format!("the same code makes something else: {answer}").into());
            }
            // The last one ends when the source no longer sends, so it would be too fast.
            if compared == 0 || Instant::now() <= until {
                compared += both;
                took += lasted;
            }
        }
        Ok((compared, took))
    }))
}

/// Activates a new version from its file with the command line while the source sends. Returns
/// the time from the finished file until the version has converted a lead.
fn serve(
    arguments: &Arguments,
    host: &Host,
    folder: &Path,
    source: &mut Source,
    component: &[u8],
    patches: u32,
) -> Result<Duration, Failure> {
    let version = variant::later(patches);
    let file = folder.join(format!("{PLUGIN}-{version}.wasm"));
    std::fs::write(&file, variant::of(component, patches)?)?;
    let flow = paced::start(source.load(LONGEST));
    // The connections are open by then.
    std::thread::sleep(SETTLE);
    let began = Instant::now();
    let output = Command::new(&arguments.leadhost)
        .env_remove("LEADHOST_CONFIG")
        .env_remove("LEADHOST_ADMIN")
        .env_remove("LEADHOST_ADMIN_KEY")
        .args(["plugin", "publish"])
        .arg(&file)
        .arg("--data-dir")
        .arg(folder)
        .arg("--json")
        .output()?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("`leadhost plugin publish` failed: {said}").into());
    }
    let delivery = source.one()?;
    let took = began.elapsed();
    accepted(flow.end()?)?;
    let activated: Value = serde_json::from_slice(&output.stdout)?;
    let compared = number(&activated["verification"], "compared");
    if compared != DELIVERIES {
        return Err(format!("{compared} deliveries were compared, not {DELIVERIES}").into());
    }
    let path = format!("/admin/v1/deliveries/{delivery}");
    let ran = host.admin()?.get_json(&path)?["ran"]["digest"].clone();
    if ran != activated["digest"] {
        return Err(format!("{ran} converted a lead after the activation of {version}").into());
    }
    Ok(took)
}

/// Sends leads to a connection at the fixed rate. No two of its loads have a lead in common.
struct Source {
    to: SocketAddr,
    path: String,
    next: u64,
}

impl Source {
    fn load(&mut self, during: Duration) -> Paced {
        let first = self.next;
        self.next += NUMBERS;
        Paced {
            to: self.to,
            from: SOURCE,
            path: self.path.clone(),
            per_second: RATE,
            during,
            under_way: MANY,
            body: PacedBody::Leads(first),
        }
    }

    fn send(&mut self, during: Duration) -> Result<PacedOutcome, Failure> {
        accepted(paced::start(self.load(during)).join()?)
    }

    /// Sends one lead of Grupo OLX; returns the id of its delivery.
    fn one(&mut self) -> Result<String, Failure> {
        let mut body = Vec::new();
        lead::write(self.next, &mut body);
        self.next += NUMBERS;
        let mut client = Client::connect(self.to, None)?;
        let answer = client.post(&self.path, "application/json", &body)?.json()?;
        host::text(&answer, "/deliveryId")
    }
}

fn accepted(outcome: PacedOutcome) -> Result<PacedOutcome, Failure> {
    let is_good = |how: &String| matches!(how.as_str(), "200 converted" | "200 queued");
    if outcome.ended.keys().all(is_good) {
        Ok(outcome)
    } else {
        Err(format!("not every lead was accepted: {:?}", outcome.ended).into())
    }
}

fn rollout_path() -> String {
    format!("/admin/v1/plugins/{PLUGIN}/rollout")
}

fn number(value: &Value, name: &str) -> u64 {
    value[name].as_u64().unwrap_or_default()
}

fn middle(took: &[Duration]) -> Cell {
    let sample = Sample::from_durations(took.iter().copied());
    let middle = seconds(median(took.iter().map(Duration::as_secs_f64)));
    let (least, most) = (time(sample.percentile(0.0)), time(sample.max()));
    format!("{middle} ({least} to {most})").into()
}

fn report(arguments: &Arguments, comparison: &Comparison) -> Report {
    let mut report = Report::new("rollout", "Rollouts under load");
    let mut table = Table::new(
        format!("While a source sends {RATE} leads a second:"),
        "figure | result | aim | verdict",
    );
    // A line without an aim is for information.
    let mut line = |figure: String, came: Cell, aim: Option<(String, bool)>| {
        let (aim, verdict) = match aim {
            Some((aim, met)) => {
                report.aim(format!("{figure}: {aim}"), &came, met);
                (aim, if met { "met" } else { "**missed**" })
            }
            None => ("none".to_owned(), "for information"),
        };
        table.row([figure.into(), came, aim.into(), verdict.into()]);
    };
    let spells = &comparison.spells;
    line(
        format!("deliveries a second of a verification of {DELIVERIES}, beside the senders"),
        count(spells[VERIFYING].verified_per_second()),
        None,
    );
    for (side, measured) in SIDES.iter().zip(spells) {
        let times = measured.times(&spells[NOTHING]);
        line(
            format!(
                "p99 of the senders beside {}, times that without",
                side.name
            ),
            Cell::Times(times),
            side.aim
                .map(|most| (format!("at most {most}"), times <= most)),
        );
    }
    line(
        format!("from a component's file until it serves, {DELIVERIES} deliveries compared"),
        middle(&comparison.served),
        None,
    );
    report.table(table);
    latency(&mut report, comparison);
    notes(&mut report, arguments);
    report
}

fn latency(report: &mut Report, comparison: &Comparison) {
    let mut table = Table::new(
        "Latency of the senders, measured from the time when each lead was due:",
        "beside | leads | p50 | p99 | slowest | p99, times that without (each spell) | deliveries compared",
    );
    let nothing = &comparison.spells[NOTHING];
    for (side, spells) in SIDES.iter().zip(&comparison.spells) {
        let (sample, times, each) = (spells.all(), spells.times(nothing), spells.each(nothing));
        let shown: Vec<String> = each.iter().map(|times| format!("{times:.2}")).collect();
        let compared = match (&side.does, spells.dropped) {
            (Beside::Nothing, _) => none(),
            (_, 0) => count(spells.compared as f64),
            (_, dropped) => {
                let (compared, dropped) = (count(spells.compared as f64), count(dropped as f64));
                format!("{compared}, {dropped} dropped").into()
            }
        };
        let [p50, p99, slowest] = sample.cells();
        let leads = count(sample.len() as f64);
        let times = format!("{times:.2} ({})", shown.join(", ")).into();
        table.row([side.name.into(), leads, p50, p99, slowest, times, compared]);
    }
    report.table(table);
}

fn notes(report: &mut Report, arguments: &Arguments) {
    report.note(format!(
        "The sides take turns on one host, there and back in each of {} rounds, in spells of {}. Both versions are the same code, and each comparison finds no difference. With a canary of 100 % both convert each lead before its sender is answered; a shadow converts it twice more afterwards.",
        arguments.rounds.max(1),
        time(arguments.round() / PART),
    ));
    report.note(memory_note());
    report.note(
        "From the file until it serves: `leadhost plugin publish` uploads it, the service compiles, tries and compares it, and a lead that is sent after the command is converted by it and answered.",
    );
}
