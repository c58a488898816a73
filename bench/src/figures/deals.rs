//! Partners' requests about deals: one of a million by its contact's phone, and
//! a change of one, on both stores. One client sends one request after the other, so
//! this is a partner's latency without other load.
//!
//! The deals are written directly into the store's tables. Each lookup must find
//! its one deal, and each change must be answered as applied.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::host::{self, Host};
use crate::http::Client;
use crate::postgres::{Database, Server};
use crate::report::{Report, Table, count, time};
use crate::rows::{self, Ids};
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

struct Seeded {
    workspace: String,
    connection: String,
    partner_key: String,
}

pub fn measure(arguments: &Arguments) -> Result<Report, Failure> {
    let server = Server::start(arguments)?;
    let database = server.database()?;
    let stores = [String::new(), database.store()];
    let mut samples = Vec::new();
    for (at, store) in STORES.into_iter().enumerate() {
        let folder = arguments.scratch()?;
        let host = Host::start(&arguments.leadhost, folder.path(), &stores[at])?;
        host.activate(&arguments.component()?)?;
        let seeded = declare(&host)?;
        host.stop()?;
        eprintln!("  seeding {DEALS} deals on {store}");
        match at {
            0 => seed(&host::database(folder.path()), &seeded)?,
            _ => seed_postgres(&database, &seeded)?,
        }
        let host = Host::start(&arguments.leadhost, folder.path(), &stores[at])?;
        let mut client = Client::connect(host.gateway, None)?;
        let key = format!("x-service-api-key: {}\r\n", seeded.partner_key);
        eprintln!("  asking {store}");
        let lookups = lookups(&mut client, &key)?;
        let changes = changes(&mut client, &key)?;
        samples.push([lookups, changes]);
        host.stop()?;
    }
    database.drop()?;
    let mut report = report(&samples);
    server.version(&mut report)?;
    Ok(report)
}

fn declare(host: &Host) -> Result<Seeded, Failure> {
    let declaration = json!({
        "workspace": {"slug": "bench", "name": "Bench", "rate_limit": 1_000_000},
        "partners": [{"name": "crm"}],
        "instances": [{"name": "bot", "kind": "ai"}],
        "connections": [{
            "name": "portal", "partner": "crm", "instance": "bot", "plugin": "grupo-olx",
        }],
        "keys": [{"kind": "partner", "label": "crm", "partner": "crm"}],
    });
    let report = host.declare(&declaration)?;
    let text = |value: &serde_json::Value| -> Result<String, Failure> {
        let text = value.as_str().map(str::to_owned);
        text.ok_or_else(|| format!("an unexpected answer to a declaration: {report}").into())
    };
    Ok(Seeded {
        workspace: text(&report["workspaceId"])?,
        connection: text(&report["connections"]["portal"])?,
        partner_key: text(&report["keys"][0]["key"])?,
    })
}

/// A landline: its match key is the number itself.
fn phone(number: u64) -> String {
    format!("+55113{number:07}")
}

/// The deal's id, as the statements below make it.
fn deal(number: u64) -> String {
    format!("018bcfe5-0000-7000-8000-{number:012x}")
}

fn seed(database: &std::path::Path, seeded: &Seeded) -> Result<(), Failure> {
    let file = rows::open(database)?;
    let ids = Ids::read(&file)?;
    let workspace = ids.sql(&format!("'{}'", seeded.workspace));
    let contact = ids.sql("printf('018bcfe5-0000-7000-9000-%012x', n)");
    let deal = ids.sql("printf('018bcfe5-0000-7000-8000-%012x', n)");
    let connection = &seeded.connection;
    let last = FIRST + i64::try_from(DEALS)?;
    let numbers = format!(
        "with recursive n (n) as (select 1 union all select n + 1 from n where n < {DEALS})"
    );
    let statements = [
        format!(
            "{numbers} insert into contacts (workspace_id, cursor_us, id, name, phone_number, props, created_at, updated_at)
             select {workspace}, {FIRST} + n, {contact}, 'Contact ' || n, printf('+55113%07d', n), '{{}}', {FIRST} + n, {FIRST} + n from n"
        ),
        format!(
            "{numbers} insert into contact_keys (workspace_id, key, contact_id)
             select {workspace}, printf('phone:+55113%07d', n), {contact} from n"
        ),
        format!(
            "{numbers} insert into deals (workspace_id, cursor_us, id, person_id, status, props, created_at, updated_at, stage_code, connection_id)
             select {workspace}, {FIRST} + n, {deal}, {contact}, 'open', '{{}}', {FIRST} + n, {FIRST} + n, 'in_qualification', '{connection}' from n"
        ),
        // 3 and 4 are the numbers of contacts and deals in the feed clock.
        format!(
            "insert into feed_clock (workspace_id, entity, last_us)
             values ({workspace}, 3, {last}), ({workspace}, 4, {last})
             on conflict do update set last_us = excluded.last_us"
        ),
    ];
    for statement in statements {
        file.execute_batch(&statement)?;
    }
    rows::checkpoint(&file)
}

/// The same rows in this store's format.
fn seed_postgres(database: &Database<'_>, seeded: &Seeded) -> Result<(), Failure> {
    let Seeded {
        workspace,
        connection,
        ..
    } = seeded;
    const CONTACT: &str = "('018bcfe5-0000-7000-9000-' || lpad(to_hex(n), 12, '0'))::uuid";
    const AT: &str = "to_timestamp(1700000000) + n * interval '1 microsecond'";
    let last = FIRST + i64::try_from(DEALS)?;
    database.say(&[
        &format!(
            "insert into leadhost.contacts (workspace_id, cursor_us, id, name, phone_number, props, created_at, updated_at)
             select '{workspace}', {FIRST} + n, {CONTACT}, 'Contact ' || n, '+55113' || lpad(n::text, 7, '0'), '{{}}', {AT}, {AT}
             from generate_series(1::bigint, {DEALS}) as n"
        ),
        &format!(
            "insert into leadhost.contact_keys (workspace_id, key, contact_id)
             select '{workspace}', 'phone:+55113' || lpad(n::text, 7, '0'), {CONTACT}
             from generate_series(1::bigint, {DEALS}) as n"
        ),
        &format!(
            "insert into leadhost.deals (workspace_id, cursor_us, id, person_id, status, props, created_at, updated_at, stage_code, connection_id)
             select '{workspace}', {FIRST} + n, ('018bcfe5-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, {CONTACT}, 'open', '{{}}', {AT}, {AT}, 'in_qualification', '{connection}'
             from generate_series(1::bigint, {DEALS}) as n"
        ),
        &format!(
            "insert into leadhost.feed_clock (workspace_id, entity, last_us) values ('{workspace}', 3, {last}), ('{workspace}', 4, {last})
             on conflict (workspace_id, entity) do update set last_us = excluded.last_us"
        ),
        "vacuum analyze leadhost.contacts",
        "vacuum analyze leadhost.contact_keys",
        "vacuum analyze leadhost.deals",
        "checkpoint",
    ])
}

/// Distinct numbers from all over the table.
fn numbers() -> impl Iterator<Item = u64> {
    (1..=WARM_UP + TIMES).map(|at| at * 7_919 * 31 % DEALS + 1)
}

fn lookups(client: &mut Client, key: &str) -> Result<Sample, Failure> {
    let mut took = Vec::new();
    for number in numbers() {
        let path = format!("/deal?phoneNumber=%2B{}", &phone(number)[1..]);
        let begin = Instant::now();
        let answer = client.get(&path, key)?;
        took.push(begin.elapsed());
        let found = answer.json()?;
        if found[0]["deal"]["id"] != deal(number) || found.as_array().map(Vec::len) != Some(1) {
            return Err(format!("{path} found {found}").into());
        }
    }
    Ok(Sample::from_durations(
        took.into_iter().skip(WARM_UP as usize),
    ))
}

fn changes(client: &mut Client, key: &str) -> Result<Sample, Failure> {
    let headers = format!("{key}content-type: application/json\r\n");
    let body = json!({"stageCode": "visit_scheduled"}).to_string();
    let mut took = Vec::new();
    for number in numbers() {
        let path = format!("/deal/{}", deal(number));
        let begin = Instant::now();
        let answer = client.send("PATCH", &path, &headers, body.as_bytes())?;
        took.push(begin.elapsed());
        if answer.status != 202 {
            return Err(format!("{path}: {:?}", answer.json()).into());
        }
    }
    Ok(Sample::from_durations(
        took.into_iter().skip(WARM_UP as usize),
    ))
}

fn report(samples: &[[Sample; 2]]) -> Report {
    let mut report = Report::new("deals", "Deals looked up and changed");
    let mut table = Table::new(
        format!(
            "{} deals of as many contacts; {} requests of each kind after {}, one after the other over one connection:",
            count(DEALS as f64),
            count(TIMES as f64),
            count(WARM_UP as f64)
        ),
        &["store", "request", "p50", "p99", "longest"],
    );
    for (at, (store, samples)) in STORES.iter().zip(samples).enumerate() {
        for (of, (operation, sample)) in OPERATIONS.iter().zip(samples).enumerate() {
            let most = MOST_P99[at][of];
            report.aim(
                format!("p99 of {operation} on {store} at most {}", time(most)),
                time(sample.p99()),
                sample.p99() <= most,
            );
            table.row([
                (*store).into(),
                (*operation).into(),
                time(sample.p50()),
                time(sample.p99()),
                time(sample.max()),
            ]);
        }
    }
    report.table(table);
    report.note(
        "Each lookup found its one deal, and each change was answered 202 when it was durable.",
    );
    report
}
