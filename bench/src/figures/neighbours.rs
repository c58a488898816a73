//! The latency of a tenant beside its neighbours: leads at a steady rate over one
//! connection, alone, and beside a harmful connection, or a component
//! that an operator tries.
//!
//! The notes of the report say how. The row without a neighbour shows the machine's own
//! variation of such a ratio.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use xtask::misbehave;

use crate::host::{self, Host};
use crate::http::Client;
use crate::paced::{self, Paced, PacedBody, PacedOutcome};
use crate::report::{Cell, Report, Table};
use crate::rows::StoredRows;
use crate::sample::Sample;
use crate::{Arguments, Failure, memory_note};

const WARM_UP: Duration = Duration::from_secs(3);
/// The client of a check disconnects after this time and starts another check: work that
/// continues for disconnected clients adds up.
const CHECK_PATIENCE: Duration = Duration::from_secs(3);
const GOOD_RATE: f64 = 100.0;
/// Connections of a sender of many leads: the maximum of usual HTTP clients.
const POOL: usize = 256;
/// Above this a load generator counts due requests as not sent.
const MANY: usize = 4_096;
/// Share of the good leads that must be answered with 200 beside a bad neighbour.
const LEAST_OK: f64 = 0.99;
/// Neighbours have different addresses.
const GOOD: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 2));
const BAD: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 3));
/// First number of the good connection's leads, so that no round repeats another's.
const NUMBERS: u64 = 10_000_000;

struct Row {
    name: &'static str,
    what: &'static str,
    bad: Bad,
    /// The aim, as a multiple of the p99 alone.
    aim: f64,
}

enum Bad {
    /// Deliveries a second to a connection of this component and configuration.
    Deliveries(Component, &'static str, f64),
    /// Checks of a component without a pause: the misbehaving converter
    /// with this harm in its description, or with looping golden cases.
    Checks(Check),
    /// Leads per second of a tenant that only does harm by their number. The second field
    /// is its maximum of requests in flight.
    Leads(f64, usize),
    Nothing,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Component {
    Plain,
    Wasi,
    Python,
}

enum Check {
    Schema,
    Golden,
}

impl Row {
    fn has_aim(&self) -> bool {
        self.aim.is_finite()
    }
}

const fn row(name: &'static str, what: &'static str, bad: Bad, aim: f64) -> Row {
    Row {
        name,
        what,
        bad,
        aim,
    }
}

const fn plain(config: &'static str, rate: f64) -> Bad {
    Bad::Deliveries(Component::Plain, config, rate)
}

const fn wasi(config: &'static str, rate: f64) -> Bad {
    Bad::Deliveries(Component::Wasi, config, rate)
}

#[rustfmt::skip]
const ROWS: &[Row] = &[
    row("nobody", "no neighbour", Bad::Nothing, f64::INFINITY),
    row("loop", "loops for ever, 1/s", plain(r#"{"do":"loop"}"#, 1.0), 1.2),
    row("loop-20", "loops for ever, 20/s", plain(r#"{"do":"loop"}"#, 20.0), 2.0),
    row("clock", "asks the clock in a loop, 5/s", wasi(r#"{"do":"clock"}"#, 5.0), 1.2),
    row("random", "asks for 1 MiB of random bytes in a loop, 5/s", wasi(r#"{"do":"random","size":1048576}"#, 5.0), 1.2),
    row("sleep", "sleeps in a loop, 5/s", wasi(r#"{"do":"sleep"}"#, 5.0), 1.2),
    row("stdout", "floods its standard streams, 5/s", wasi(r#"{"do":"flood","size":65536}"#, 5.0), 1.2),
    row("memory", "fills its memory slowly, 5/s", plain(r#"{"do":"touch"}"#, 5.0), 1.2),
    row("fill", "fills 96 MiB by one instruction in a loop, 5/s", plain(r#"{"do":"fill"}"#, 5.0), 1.2),
    row("phones", "a lead with 10 000 phones, 5/s", plain(r#"{"do":"phones","size":10000}"#, 5.0), 1.2),
    row("items", "10 000 leads a delivery, 2/s", plain(r#"{"do":"leads","size":10000}"#, 2.0), 1.2),
    row("grow", "grows its memory until refused, 20/s", plain(r#"{"do":"grow"}"#, 20.0), 2.0),
    row("name", "a lead's name of 8 MB, 5/s", plain(r#"{"do":"name","size":8000000}"#, 5.0), 1.2),
    row("golden", "`POST …/check` of 25 000 looping golden cases, one after the other", Bad::Checks(Check::Golden), 1.2),
    row("schema", "`POST …/check` of a schema of 2^45 steps, one after the other", Bad::Checks(Check::Schema), 1.2),
    row("flood", "a tenant's good leads, 7 000/s", Bad::Leads(7_000.0, POOL), 1.2),
    row("sockets", "the same over as many new connections as it takes, 4 096 at most", Bad::Leads(7_000.0, MANY), f64::INFINITY),
    row("python", "loops for ever in Python, 1/s", Bad::Deliveries(Component::Python, r#"{"do":"loop"}"#, 1.0), 1.2),
];

pub fn rows() -> impl Iterator<Item = &'static str> {
    ROWS.iter().map(|row| row.name)
}

/// Measures each chosen row. Rows whose component is not built are left out.
pub fn measure(arguments: &Arguments) -> Result<Report, Failure> {
    let is_chosen = |row: &&Row| {
        arguments.rows.is_empty() || arguments.rows.iter().any(|name| name == row.name)
    };
    let during = arguments.round();
    let mut report = Report::new("neighbours", "Latency of a tenant beside its neighbours");
    let mut table = Table::new(
        "Leads at 100/s over one connection, alone and beside a bad neighbour, each measured from its due time:",
        "neighbour | ok/s | p50 | p99 | alone p50 | alone p99 | times alone (p99) | aim | what came of the neighbour",
    );
    let (mut met, mut missed) = (0, Vec::new());
    for row in ROWS.iter().filter(is_chosen) {
        let bad = match component(arguments, &row.bad) {
            Ok(bad) => bad,
            Err(missing) => {
                eprintln!("  LEFT OUT: {}: {missing}", row.name);
                report.note(format!("Left out: {}: {missing}.", row.name));
                continue;
            }
        };
        let measured = measure_row(arguments, row, &bad, during)
            .map_err(|error| format!("{}: {error}", row.name))?;
        let line = measured.line(row);
        eprintln!("  {}", line.each_ref().map(Cell::to_string).join(" | "));
        table.row(line);
        if !row.has_aim() {
        } else if measured.meets(row) {
            met += 1;
        } else {
            missed.push(row.name);
        }
    }
    let came = match missed.as_slice() {
        [] => format!("met in all {met} rows"),
        missed => format!("met in {met} rows, missed in {}", missed.join(", ")),
    };
    report.aim(
        "beside a bad neighbour the p99 is at most 1.2 times that alone (2 times if it sends 20 requests a second), and no lead is refused",
        came,
        missed.is_empty(),
    );
    report.table(table);
    report.note(format!(
        "{} rounds a row, each with a host of its own: {} s of warm-up, {} s alone and {} s beside the neighbour, which is new to the host; all rounds count together, and each alone is in brackets. The good connection and the neighbour come from different addresses.",
        arguments.rounds,
        WARM_UP.as_secs(),
        during.as_secs(),
        during.as_secs()
    ));
    report.note(memory_note());
    report.note("A lead that is not answered within 15 s counts with 15 s, and as not ok.");
    Ok(report)
}

/// Returns the component of a row; the error says what is missing.
fn component(arguments: &Arguments, bad: &Bad) -> Result<Vec<u8>, String> {
    let guest = |file: &str, how: &str| {
        let path = arguments.plugins.join("../guests").join(file);
        std::fs::read(&path).map_err(|_| format!("{file} is not built: {how}"))
    };
    let plain = || guest("guest-misbehave.wasm", "`cargo xtask bench` builds it");
    let harmful = |describe: &str, always: &str| {
        let fetch = "https://leads.example.com/v1/leads";
        let fields = ["1.0.0", "key", fetch, "", "", describe, always];
        Ok(misbehave::variant(plain()?, misbehave::CONVERTER, &fields))
    };
    match bad {
        Bad::Leads(..) | Bad::Nothing => Ok(Vec::new()),
        Bad::Deliveries(Component::Plain, ..) => plain(),
        Bad::Deliveries(Component::Wasi, ..) => guest(
            "guest-misbehave-wasi.wasm",
            "`rustup target add wasm32-wasip2` lets it be built",
        ),
        Bad::Deliveries(Component::Python, ..) => guest(
            "misbehave-py.wasm",
            "`cargo xtask guests misbehave-py.wasm` builds it, with Python",
        ),
        Bad::Checks(Check::Schema) => harmful("schema-steps", ""),
        Bad::Checks(Check::Golden) => Ok(misbehave::with_most_cases(&harmful("", "loop")?)),
    }
}

struct MeasuredRow {
    rounds: Vec<NeighbourRound>,
    /// The outcomes of the neighbour's deliveries or checks.
    came: String,
}

struct NeighbourRound {
    alone: PacedOutcome,
    beside: PacedOutcome,
}

fn measure_row(
    arguments: &Arguments,
    row: &Row,
    component: &[u8],
    during: Duration,
) -> Result<MeasuredRow, Failure> {
    let mut rounds = Vec::new();
    let (mut ended, mut stored) = (BTreeMap::new(), BTreeMap::new());
    for _ in 0..arguments.rounds.max(1) {
        let folder = arguments.scratch_in_memory()?;
        let (host, good) = Host::with_workspace(arguments, &arguments.leadhost, folder.path(), "")?;
        let load = |during, number: u64| {
            paced::start(Paced {
                to: host.gateway,
                from: GOOD,
                path: good.path.clone(),
                per_second: GOOD_RATE,
                during,
                under_way: MANY,
                body: PacedBody::Leads(number * NUMBERS),
            })
        };
        let neighbour = neighbour(&host, row, component)?;
        load(WARM_UP, 0).join()?;
        let alone = load(during, 1).join()?;
        let neighbour = neighbour(during);
        let beside = load(during, 2).join()?;
        let neighbour = neighbour.join().map_err(|_| "the neighbour panicked")?;
        add(&mut ended, neighbour?);
        rounds.push(NeighbourRound { alone, beside });
        // It may be too busy to process a request to end, which is not measured here, so
        // it is killed.
        drop(host);
        add(&mut stored, not_converted(folder.path())?);
    }
    let answered = listed(&ended);
    let came = match row.bad {
        Bad::Deliveries(..) => format!("{answered}; stored: {}", listed(&stored)),
        _ => answered,
    };
    Ok(MeasuredRow { rounds, came })
}

fn add(all: &mut Ended, more: Ended) {
    for (what, times) in more {
        *all.entry(what).or_default() += times;
    }
}

/// Counts deliveries that were not converted, by their current status.
fn not_converted(folder: &std::path::Path) -> Result<Ended, Failure> {
    let mut by_status = Ended::new();
    let rows = StoredRows::Sqlite(host::database(folder));
    for (status, _) in rows.ran_with()?.into_values() {
        *by_status.entry(status).or_default() += 1;
    }
    by_status.remove("converted");
    Ok(by_status)
}

fn listed(times: &Ended) -> String {
    if times.is_empty() {
        return "nothing else".to_owned();
    }
    let each: Vec<_> = times.iter().map(|(how, n)| format!("{n} {how}")).collect();
    each.join(", ")
}

type Ended = BTreeMap<String, u64>;

/// Starts the load beside the good connection for this time.
type Neighbour = Box<dyn FnOnce(Duration) -> JoinHandle<Result<Ended, Failure>>>;

fn neighbour(host: &Host, row: &Row, component: &[u8]) -> Result<Neighbour, Failure> {
    let (name, to) = ("neighbour", host.gateway);
    let sending = |path, body, per_second, under_way| -> Neighbour {
        Box::new(move |during| {
            let load = Paced {
                to,
                from: BAD,
                path,
                per_second,
                during,
                under_way,
                body,
            };
            std::thread::spawn(|| Ok(paced::start(load).join()?.ended))
        })
    };
    Ok(match row.bad {
        Bad::Deliveries(kind, config, rate) => {
            host.activate(component)?;
            let plugin = match kind {
                Component::Plain | Component::Wasi => "misbehave",
                Component::Python => "misbehave-python",
            };
            let config: Value = serde_json::from_str(config)?;
            let path = host.apply_as(name, plugin, &config)?.path;
            sending(path, PacedBody::Same, rate, MANY)
        }
        Bad::Leads(rate, under_way) => {
            let path = host.apply_as(name, "grupo-olx", &json!({}))?.path;
            sending(path, PacedBody::Leads(3 * NUMBERS), rate, under_way)
        }
        Bad::Checks(_) => {
            let (mut admin, component) = (host.admin()?, component.to_vec());
            Box::new(move |during| {
                let until = Instant::now() + during;
                std::thread::spawn(move || {
                    let mut ended = Ended::new();
                    while Instant::now() < until {
                        let how = match check(&mut admin, &component) {
                            Ok(status) => format!("answers {status}"),
                            Err(_) => "left without an answer".to_owned(),
                        };
                        *ended.entry(how).or_default() += 1;
                    }
                    Ok(ended)
                })
            })
        }
        Bad::Nothing => Box::new(|_| std::thread::spawn(|| Ok(Ended::new()))),
    })
}

fn check(admin: &mut Client, component: &[u8]) -> Result<u16, Failure> {
    admin.reconnect(CHECK_PATIENCE)?;
    let answer = admin.post("/admin/v1/plugins/check", "application/wasm", component)?;
    Ok(answer.status)
}

impl NeighbourRound {
    fn times(&self) -> f64 {
        self.beside.latency().times(&self.alone.latency())
    }
}

impl MeasuredRow {
    /// Latency of the good connection in all rounds together.
    fn waited(&self, of: impl Fn(&NeighbourRound) -> &PacedOutcome) -> Sample {
        let outcomes = self.rounds.iter().map(of);
        Sample::from_durations(outcomes.flat_map(|outcome| outcome.took.iter().copied()))
    }

    fn alone(&self) -> Sample {
        self.waited(|round| &round.alone)
    }

    fn beside(&self) -> Sample {
        self.waited(|round| &round.beside)
    }

    fn times(&self) -> f64 {
        self.beside().times(&self.alone())
    }

    /// Over all rounds, so that a median does not hide a refusal.
    fn ok_per_second(&self) -> f64 {
        let each = self.rounds.iter().map(|round| round.beside.ok_per_second());
        each.sum::<f64>() / self.rounds.len() as f64
    }

    fn meets(&self, row: &Row) -> bool {
        self.times() <= row.aim && self.ok_per_second() >= GOOD_RATE * LEAST_OK
    }

    fn line(&self, row: &Row) -> [Cell; 9] {
        let verdict = match (row.has_aim(), self.meets(row)) {
            (false, _) => "none".to_owned(),
            (true, true) => format!("{}: met", row.aim),
            (true, false) => format!("{}: **missed**", row.aim),
        };
        let each = self.rounds.iter().map(NeighbourRound::times);
        let each: Vec<_> = each.map(|times| format!("{times:.2}")).collect();
        let ([p50, p99, _], [alone_p50, alone_p99, _]) =
            (self.beside().cells(), self.alone().cells());
        [
            format!("{}: {}", row.name, row.what).into(),
            format!("{:.1}", self.ok_per_second()).into(),
            p50,
            p99,
            alone_p50,
            alone_p99,
            format!("{:.2} ({})", self.times(), each.join(", ")).into(),
            verdict.into(),
            self.came.as_str().into(),
        ]
    }
}
