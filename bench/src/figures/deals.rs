//! Partners' requests about deals: one of a million by its contact's phone, and
//! a change of one, on both stores. One client sends one request after the other, so
//! this is a partner's latency without other load.
//!
//! The deals are written directly into the store's tables.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::host::{self, Host, Workspace};
use crate::http::Client;
use crate::postgres::Server;
use crate::report::{Report, Table, count, time};
use crate::rows::{self, Seeds};
use crate::sample::Sample;
use crate::{Arguments, Failure};

const DEALS: u64 = 1_000_000;
const TIMES: u64 = 2_000;
const WARM_UP: u64 = 200;
/// The stamp before the first deal's.
const FIRST: i64 = 1_700_000_000_000_000;

/// Limits for a lookup and for a change, on each store.
const MOST_P99: [[Duration; 2]; 2] = [
    [Duration::from_millis(3), Duration::from_millis(10)],
    [Duration::from_millis(5), Duration::from_millis(15)],
];
const STORES: [&str; 2] = ["SQLite", "PostgreSQL"];
const OPERATIONS: [&str; 2] = ["GET /deal by phone", "PATCH /deal"];

pub fn measure(arguments: &Arguments) -> Result<Report, Failure> {
    let server = Server::start(arguments)?;
    let database = server.database()?;
    let stores = [String::new(), database.store()];
    let mut samples = Vec::new();
    for (at, store) in STORES.into_iter().enumerate() {
        let folder = arguments.scratch()?;
        let workspace = Host::prepare(arguments, &arguments.leadhost, folder.path(), &stores[at])?;
        eprintln!("  seeding {DEALS} deals on {store}");
        let seeds = match at {
            0 => Seeds::file(&host::database(folder.path()))?,
            _ => Seeds::Server(&database),
        };
        seed(seeds, &workspace)?;
        let host = Host::start(&arguments.leadhost, folder.path(), &stores[at])?;
        let mut client = Client::connect(host.gateway, None)?;
        let key = format!("x-service-api-key: {}\r\n", workspace.partner_key);
        eprintln!("  asking {store}");
        samples.push([lookups(&mut client, &key)?, changes(&mut client, &key)?]);
        host.stop()?;
    }
    database.drop()?;
    let mut report = report(&samples);
    server.version(&mut report)?;
    Ok(report)
}

/// A landline: its match key is the number itself.
fn phone(number: u64) -> String {
    format!("+55113{number:07}")
}

/// The deal's id, as the statements below make it.
fn deal(number: u64) -> String {
    format!("018bcfe5-0000-7000-8000-{number:012x}")
}

fn seed(seeds: Seeds<'_>, workspace: &Workspace) -> Result<(), Failure> {
    let (numbers, connection) = (seeds.numbers(DEALS), &workspace.connection);
    let workspace = seeds.given_id(&workspace.id);
    let contact = seeds.numbered_id("018bcfe5-0000-7000-9000", "n");
    let deal = seeds.numbered_id("018bcfe5-0000-7000-8000", "n");
    let (phone, key) = (
        seeds.numbered("+55113", "n"),
        seeds.numbered("phone:+55113", "n"),
    );
    let at = seeds.time(&format!("{FIRST} + n"));
    let statements = [
        format!(
            "{numbers} insert into contacts (workspace_id, cursor_us, id, name, phone_number, props, created_at, updated_at)
             select {workspace}, {FIRST} + n, {contact}, 'Contact ' || n, {phone}, '{{}}', {at}, {at} from n"
        ),
        format!(
            "{numbers} insert into contact_keys (workspace_id, key, contact_id)
             select {workspace}, {key}, {contact} from n"
        ),
        format!(
            "{numbers} insert into deals (workspace_id, cursor_us, id, person_id, status, props, created_at, updated_at, stage_code, connection_id)
             select {workspace}, {FIRST} + n, {deal}, {contact}, 'open', '{{}}', {at}, {at}, 'in_qualification', '{connection}' from n"
        ),
        // 3 and 4 are the numbers of contacts and deals in the feed clock.
        rows::stamp(&workspace, &[3, 4], FIRST + i64::try_from(DEALS)?),
    ];
    seeds.write(&["contacts", "contact_keys", "deals"], &statements)
}

/// Times requests about distinct deals from all over the table.
fn timed(request: impl FnMut(u64) -> Result<Duration, Failure>) -> Result<Sample, Failure> {
    let numbers = (1..=WARM_UP + TIMES).map(|at| at * 7_919 * 31 % DEALS + 1);
    let took = numbers.map(request).collect::<Result<Vec<_>, _>>()?;
    let counted = took.into_iter().skip(WARM_UP as usize);
    Ok(Sample::from_durations(counted))
}

fn lookups(client: &mut Client, key: &str) -> Result<Sample, Failure> {
    timed(|number| {
        let path = format!("/deal?phoneNumber=%2B{}", &phone(number)[1..]);
        let begin = Instant::now();
        let answer = client.get(&path, key)?;
        let took = begin.elapsed();
        let found = answer.json()?;
        if found[0]["deal"]["id"] != deal(number) || found.as_array().map(Vec::len) != Some(1) {
            return Err(format!("{path} found {found}").into());
        }
        Ok(took)
    })
}

fn changes(client: &mut Client, key: &str) -> Result<Sample, Failure> {
    let headers = format!("{key}content-type: application/json\r\n");
    let body = json!({"stageCode": "visit_scheduled"}).to_string();
    timed(|number| {
        let path = format!("/deal/{}", deal(number));
        let begin = Instant::now();
        let answer = client.send("PATCH", &path, &headers, body.as_bytes())?;
        let took = begin.elapsed();
        answer.must_be(202, &path)?;
        Ok(took)
    })
}

fn report(samples: &[[Sample; 2]]) -> Report {
    let mut report = Report::new("deals", "Deals looked up and changed");
    let mut table = Table::new(
        format!(
            "{} deals of as many contacts; {} requests of each kind after {WARM_UP}, one after the other over one connection:",
            count(DEALS as f64),
            count(TIMES as f64),
        ),
        "store | request | p50 | p99 | longest",
    );
    for (at, (store, samples)) in STORES.iter().zip(samples).enumerate() {
        for (of, (operation, sample)) in OPERATIONS.iter().zip(samples).enumerate() {
            let most = MOST_P99[at][of];
            report.aim(
                format!("p99 of {operation} on {store} at most {}", time(most)),
                time(sample.p99()),
                sample.p99() <= most,
            );
            let [p50, p99, longest] = sample.cells();
            table.row([(*store).into(), (*operation).into(), p50, p99, longest]);
        }
    }
    report.table(table);
    report.note(
        "Each lookup found its one deal, and each change was answered 202 when it was durable.",
    );
    report
}
