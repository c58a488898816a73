//! How many leads a second are ingested durably, over HTTP, from 64 keep-alive connections, on SQLite or on
//! PostgreSQL: the service, compared with a careful Node program that writes the same rows and answers the same
//! body; on PostgreSQL on the same server, and with the service on SQLite.

use std::path::Path;

use crate::host::{self, Host};
use crate::load::{CONNECTIONS, Load, LoadBody};
use crate::peer::{self, Peer};
use crate::postgres::{Server, Work};
use crate::report::{Cell, Report, Table, none, seconds};
use crate::round::{self, BaselineRatio, NOISE, Round, middle};
use crate::rows::StoredRows;
use crate::sample::median;
use crate::{Arguments, Failure, lead};

const TIMES_NODE: f64 = 1.5;
const TIMES_NODE_ON_POSTGRES: f64 = 2.0;
/// The aim, as a share of the baseline's processor time for one lead.
const MOST_PROCESSOR: f64 = 0.5;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Program {
    Service,
    Baseline,
    Node,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Lead,
    Raw,
    One,
    /// One request per commit, to show the gain of group commit.
    Alone,
    /// All rows of a request by one statement.
    AtOnce,
    /// The service on SQLite, beside those on PostgreSQL.
    OnSqlite,
}

#[rustfmt::skip]
const ON_SQLITE: &[(Program, Kind, &str)] = &[
    (Program::Service, Kind::Lead, "Leadhost, through the component"),
    (Program::Baseline, Kind::Lead, "baseline, through the component"),
    (Program::Node, Kind::Lead, "fastify + better-sqlite3, the same rows"),
    (Program::Service, Kind::Raw, "Leadhost, delivery only"),
    (Program::Baseline, Kind::Raw, "baseline, delivery only"),
    (Program::Node, Kind::Raw, "fastify + better-sqlite3, delivery only"),
    (Program::Service, Kind::Alone, "Leadhost, a commit for each request"),
    (Program::Service, Kind::One, "Leadhost, over one connection"),
    (Program::Baseline, Kind::One, "baseline, over one connection"),
];

#[rustfmt::skip]
const ON_POSTGRES: &[(Program, Kind, &str)] = &[
    (Program::Service, Kind::Lead, "Leadhost, through the component"),
    (Program::Baseline, Kind::Lead, "baseline, through the component"),
    (Program::Node, Kind::Lead, "fastify + pg, a transaction a request"),
    (Program::Node, Kind::AtOnce, "fastify + pg, one statement a request"),
    (Program::Service, Kind::Raw, "Leadhost, delivery only"),
    (Program::Baseline, Kind::Raw, "baseline, delivery only"),
    (Program::Node, Kind::Raw, "fastify + pg, delivery only"),
    (Program::Service, Kind::OnSqlite, "Leadhost on SQLite"),
    (Program::Service, Kind::One, "Leadhost, over one connection"),
    (Program::Baseline, Kind::One, "baseline, over one connection"),
];

struct Side {
    program: Program,
    kind: Kind,
    name: &'static str,
    rounds: Vec<Round>,
}

impl Side {
    fn body(&self) -> LoadBody {
        match self.kind {
            Kind::Raw => LoadBody::Nothing,
            _ => LoadBody::Lead,
        }
    }

    fn connections(&self) -> u64 {
        match self.kind {
            Kind::One => 1,
            _ => CONNECTIONS,
        }
    }

    /// What a lead costs outside of the side's own process: on PostgreSQL the server's
    /// processor time and log; and for a side with group commit its share of a commit.
    fn costs(&self) -> [Cell; 3] {
        let cell = |cost: &dyn Fn(&Round) -> Option<f64>, shown: fn(f64) -> Cell| {
            let costs: Vec<f64> = self.rounds.iter().filter_map(cost).collect();
            if costs.is_empty() {
                none()
            } else {
                shown(median(costs))
            }
        };
        let of_server = |work: fn(Work) -> f64| {
            move |round: &Round| Some(work(round.server?) / round.answers() as f64)
        };
        let bytes = |bytes: f64| format!("{bytes:.0} bytes").into();
        let leads = |leads: f64| format!("{leads:.1}").into();
        [
            cell(&of_server(|work| work.processor.as_secs_f64()), seconds),
            cell(&of_server(|work| work.log_bytes as f64), bytes),
            cell(&|round: &Round| round.leads_per_commit, leads),
        ]
    }
}

pub fn measure(arguments: &Arguments) -> Result<Report, Failure> {
    let sides = Sides::measure(arguments, ON_SQLITE, None)?;
    let mut report = Report::new("ingest", "Leads ingested durably");
    let node = sides.times(Kind::Lead, (Program::Node, Kind::Lead));
    report.aim(
        "at least 1.5 times the leads of fastify + better-sqlite3 with group commit",
        format!("{node:.2} times"),
        node >= TIMES_NODE,
    );
    if let Some(ratio) = sides.ratio(Kind::Lead) {
        report.aim(
            "processor time a lead at most half of the baseline's",
            format!("{:.2} times", ratio.processor),
            ratio.processor <= MOST_PROCESSOR,
        );
    }
    sides.table(&mut report, "the sync of their commit", false);
    report.note(format!(
        "Delivery only: {:.2} times Node. Sharing a commit: {:.1} times a commit for each request.",
        sides.times(Kind::Raw, (Program::Node, Kind::Raw)),
        sides.times(Kind::Lead, (Program::Service, Kind::Alone)),
    ));
    report.note("Delivery only means a body of the same size in which the converter finds no lead: it is converted and stored as a delivery row without anything else.");
    report.note(format!(
        "All: SQLite, WAL, synchronous=FULL; one write of 4 KiB with fdatasync takes {} here. No access log on any side.",
        seconds(sides.sync)
    ));
    sides.notes(&mut report)?;
    Ok(report)
}

pub fn measure_on_postgres(arguments: &Arguments) -> Result<Report, Failure> {
    let server = Server::start(arguments)?;
    let sides = Sides::measure(arguments, ON_POSTGRES, Some(&server))?;
    let mut report = Report::new("ingest-postgres", "Leads ingested durably on PostgreSQL");
    let node = sides.times(Kind::Lead, (Program::Node, Kind::Lead));
    report.aim(
        "at least 2 times the leads of fastify + pg with a pool of 16",
        format!("{node:.2} times"),
        node >= TIMES_NODE_ON_POSTGRES,
    );
    if let Some(ratio) = sides.ratio(Kind::Lead) {
        report.aim(
            "leads a second not below the baseline's, but for a twentieth of noise",
            format!("{:.2} times", ratio.rate),
            ratio.rate >= 1.0 / NOISE,
        );
    }
    sides.table(&mut report, "their commit", true);
    report.note(format!(
        "{:.2} times Node when that writes all of a request's rows by one statement, {:.2} times with deliveries only. PostgreSQL gives {:.2} times the leads of SQLite.",
        sides.times(Kind::Lead, (Program::Node, Kind::AtOnce)),
        sides.times(Kind::Raw, (Program::Node, Kind::Raw)),
        sides.times(Kind::Lead, (Program::Service, Kind::OnSqlite)),
    ));
    report.note("All on one server of its own with default settings but for 256 MiB of shared buffers and no checkpoint within a round: fsync and synchronous_commit on.");
    report.note("Node's stamps come from a sequence; the service's from the feed clock, whose row a transaction locks to its end.");
    let own = sides
        .rounds((Program::Service, Kind::Lead))
        .unwrap_or_default();
    let p99 = middle(own, |round| round.outcome.latency().p99().as_secs_f64());
    report.note(format!(
        "One write of 4 KiB with fdatasync takes {} here; p99 of the service is {}.",
        seconds(sides.sync),
        seconds(p99)
    ));
    sides.notes(&mut report)?;
    server.version(&mut report)?;
    Ok(report)
}

fn one_round(
    arguments: &Arguments,
    server: Option<&Server>,
    side: &Side,
    folder: &Path,
) -> Result<Round, Failure> {
    let database = server.map(Server::database).transpose()?;
    let load = |to, path| Load {
        body: side.body(),
        connections: side.connections(),
        ..Load::new(to, path)
    };
    let (mut round, file);
    if side.program == Program::Node {
        let write = match side.kind {
            Kind::AtOnce => "statement",
            _ => "transaction",
        };
        let peer = match &database {
            None => Peer::start(&arguments.folder, folder)?,
            Some(database) => Peer::start_postgres(&arguments.folder, &database.url(), write)?,
        };
        let load = load(peer.address, Peer::path());
        round = round::run(arguments, load, &peer.process, server)?;
        peer.stop()?;
        file = peer::database(folder);
    } else {
        let program = match (&arguments.baseline, side.program) {
            (Some(baseline), Program::Baseline) => baseline,
            _ => &arguments.leadhost,
        };
        let store = match &database {
            Some(database) => database.store(),
            None if side.kind == Kind::Alone => "writes_per_commit = 1\n".to_owned(),
            None => String::new(),
        };
        let (host, workspace) = Host::with_workspace(arguments, program, folder, &store)?;
        let load = load(host.gateway, workspace.path);
        round = round::run(arguments, load, &host.process, server)?;
        host.stop()?;
        file = host::database(folder);
    }
    let Some(database) = database else {
        round::check(&StoredRows::Sqlite(file), side.body(), &round)?;
        return Ok(round);
    };
    let rows = StoredRows::Postgres(database.url());
    round::check(&rows, side.body(), &round)?;
    if side.program != Program::Node {
        let leads = round.warm.answers.len() + round.outcome.answers.len();
        let commits = rows.rows("commit_markers")?.max(1);
        round.leads_per_commit = Some(leads as f64 / commits as f64);
    }
    database.drop()?;
    Ok(round)
}

struct Sides<'a> {
    arguments: &'a Arguments,
    sides: Vec<Side>,
    /// The median of a sync, in seconds.
    sync: f64,
}

impl<'a> Sides<'a> {
    /// Measures these sides in each round, except a baseline that is not there.
    fn measure(
        arguments: &'a Arguments,
        all: &[(Program, Kind, &'static str)],
        server: Option<&Server>,
    ) -> Result<Self, Failure> {
        let mut sides: Vec<Side> = (all.iter())
            .filter(|(program, ..)| arguments.baseline.is_some() || *program != Program::Baseline)
            .map(|&(program, kind, name)| Side {
                program,
                kind,
                name,
                rounds: Vec::new(),
            })
            .collect();
        let mut sync = Vec::new();
        for number in 1..=arguments.rounds {
            for side in round::in_turn(&mut sides, number) {
                let folder = arguments.scratch()?;
                sync.push(round::sync_time(folder.path())?);
                let server = server.filter(|_| side.kind != Kind::OnSqlite);
                let round = one_round(arguments, server, side, folder.path());
                side.rounds.push(round::told(number, side.name, round)?);
            }
        }
        Ok(Self {
            arguments,
            sides,
            sync: median(sync),
        })
    }

    fn rounds(&self, (program, kind): (Program, Kind)) -> Option<&[Round]> {
        let is_it = |side: &&Side| side.program == program && side.kind == kind;
        Some(&self.sides.iter().find(is_it)?.rounds)
    }

    /// The service's rate of a kind, as a multiple of another side's.
    fn times(&self, kind: Kind, other: (Program, Kind)) -> f64 {
        let rate = |of| self.rounds(of).map_or(0.0, round::rate);
        rate((Program::Service, kind)) / rate(other)
    }

    /// The service's results of a kind beside the baseline's.
    fn ratio(&self, kind: Kind) -> Option<BaselineRatio> {
        let (own, baseline) = ((Program::Service, kind), (Program::Baseline, kind));
        let (own, baseline) = (self.rounds(own)?, self.rounds(baseline)?);
        Some(BaselineRatio::from_rounds(own, baseline))
    }

    /// Adds the table, and the aim of a lead over one connection.
    fn table(&self, report: &mut Report, after: &str, has_server: bool) {
        let has_baseline = self.arguments.baseline.is_some();
        let mut columns = vec![round::COLUMNS];
        columns.extend(has_server.then_some("the server's | its log a lead | leads a commit"));
        columns.extend(has_baseline.then_some(BaselineRatio::COLUMNS));
        let mut table = Table::new(
            format!(
                "Distinct leads of {} bytes, {CONNECTIONS} keep-alive connections unless a side names another number, answered after {after}. Median of {} alternating rounds of {} s:",
                lead::BYTES,
                self.arguments.rounds,
                self.arguments.round().as_secs()
            ),
            &columns.join(" | "),
        );
        for side in &self.sides {
            let is_own = side.program == Program::Service;
            let ratio = self.ratio(side.kind).filter(|_| is_own);
            let beside = BaselineRatio::cells(ratio).into_iter();
            let costs = side.costs().into_iter().filter(|_| has_server);
            let more = costs.chain(beside.filter(|_| has_baseline));
            table.row(
                round::cells(side.name, &side.rounds)
                    .into_iter()
                    .chain(more),
            );
        }
        report.table(table);
        if let Some(ratio) = self.ratio(Kind::One) {
            report.aim(
                "p50 over one connection not above the baseline's, but for a twentieth of noise",
                format!("{:.2} times", ratio.p50),
                ratio.p50 <= NOISE,
            );
        }
    }

    fn notes(&self, report: &mut Report) -> Result<(), Failure> {
        report.note("Nothing is missing: after each round the rows were counted on all sides and every answered delivery was found (one item, dedupe key, contact, deal and two contact keys a lead).");
        if self.arguments.baseline.is_some() {
            report.note(round::BASELINE);
        }
        let crowded = self.sides.iter().filter(|side| side.connections() > 1);
        report.note(round::generator(crowded.flat_map(|side| &side.rounds)));
        peer::versions(&self.arguments.folder, report)
    }
}
