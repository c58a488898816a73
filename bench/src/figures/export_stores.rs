//! The export on both stores side by side: full pulls of a million messages in
//! turns, and a page by its depth in the feed.

use std::time::Duration;

use serde_json::json;

use super::export::{self, FORMS, MESSAGES, PAGE, Pull, TIMES};
use crate::host::{self, Host, Workspace};
use crate::http::Client;
use crate::postgres::{Database, Server};
use crate::report::{Report, Table, count, time};
use crate::sample::{Sample, median};
use crate::{Arguments, Failure};

/// JSON and compressed JSON: NDJSON is the former in other words.
const FORMS_HERE: usize = 2;
const STORES: [&str; 2] = ["SQLite", "PostgreSQL"];

pub fn measure(arguments: &Arguments) -> Result<Report, Failure> {
    let folders = [arguments.scratch()?, arguments.scratch()?];
    let server = Server::start(arguments)?;
    let database = server.database()?;
    let stores = [String::new(), database.store()];
    let begun = |at: usize| Host::start(&arguments.leadhost, folders[at].path(), &stores[at]);
    let mut clients = Vec::new();
    let mut hosts = Vec::new();
    for (at, store) in STORES.into_iter().enumerate() {
        let host = begun(at)?;
        host.activate(&arguments.component()?)?;
        let workspace = host.apply()?;
        host.stop()?;
        eprintln!("  seeding {MESSAGES} messages on {store}");
        match at {
            0 => export::seed(&host::database(folders[at].path()), &workspace.id)?,
            _ => seed(&database, &workspace)?,
        }
        let host = begun(at)?;
        clients.push(Client::connect(host.data, Some(&workspace.key))?);
        hosts.push(host);
    }
    let mut pulls: [[Vec<Pull>; FORMS_HERE]; 2] = Default::default();
    for number in 1..=arguments.rounds {
        for (form, kind) in FORMS.iter().take(FORMS_HERE).enumerate() {
            for (at, client) in clients.iter_mut().enumerate() {
                let pull = export::pull(client, kind)?;
                eprintln!(
                    "  round {number}: {}, {}: {} rows/s",
                    STORES[at],
                    kind.name,
                    count(MESSAGES as f64 / pull.took.as_secs_f64())
                );
                pulls[at][form].push(pull);
            }
        }
    }
    let mut depths = Vec::new();
    for (at, client) in clients.iter_mut().enumerate() {
        depths.push(export::at_depths(client, &pulls[at][0][0].cursors)?);
    }
    let mut memory = Vec::new();
    for host in hosts {
        memory.push(host.process.memory()?.1);
        host.stop()?;
    }
    database.drop()?;
    report(arguments, &server, &pulls, &depths, &memory)
}

/// The rows that `export::seed` writes, as this store has them.
fn seed(database: &Database<'_>, workspace: &Workspace) -> Result<(), Failure> {
    let first = export::FIRST;
    let last = first + i64::try_from(MESSAGES)? * 1_000_000;
    let id = &workspace.id;
    database.say(&[
        &format!(
            "insert into leadhost.messages (workspace_id, cursor_us, id, conversation_id, created_at, actor, kind, content, metadata, delivered_at, read_at)
             select '{id}', {first} + n * 1000000,
               ('018bcfe5-' || lpad(to_hex(n / 65536), 4, '0') || '-7' || lpad(to_hex(n % 4096), 3, '0') || '-8' || lpad(to_hex(n % 4095), 3, '0') || '-' || lpad(to_hex(n), 12, '0'))::uuid,
               ('018bcfe5-0000-7000-8000-' || lpad(to_hex(n % 5000), 12, '0'))::uuid,
               to_timestamp({first} / 1000000 + n),
               case n % 2 when 0 then 'agent' else 'contact' end,
               'text',
               'Message ' || n || ': the flat on the third floor is still free, and a visit on Thursday suits us well.',
               ('{{\"externalId\":\"m.' || n || '\",\"template\":null}}')::json,
               to_timestamp({first} / 1000000 + n) + interval '400 ms',
               case n % 3 when 0 then null else to_timestamp({first} / 1000000 + n) + interval '900 ms' end
             from generate_series(1::bigint, {MESSAGES}) as n"
        ),
        // 2 is the number of messages in the feed clock.
        &format!(
            "insert into leadhost.feed_clock (workspace_id, entity, last_us) values ('{id}', 2, {last})
             on conflict (workspace_id, entity) do update set last_us = excluded.last_us"
        ),
        "vacuum analyze leadhost.messages",
        "checkpoint",
    ])
}

fn report(
    arguments: &Arguments,
    server: &Server,
    pulls: &[[Vec<Pull>; FORMS_HERE]; 2],
    depths: &[Vec<(&'static str, Sample)>],
    memory: &[f64],
) -> Result<Report, Failure> {
    let mut report = Report::new("export-stores", "The export on both stores");
    let mut table = Table::new(
        &format!(
            "Full pulls of {} messages in pages of {PAGE} over one connection. Median of {} alternating rounds:",
            count(MESSAGES as f64),
            arguments.rounds
        ),
        &[
            "form",
            "store",
            "rows/s",
            "the whole pull",
            "of SQLite's time",
        ],
    );
    let mut data = Vec::new();
    for (at, form) in FORMS.iter().take(FORMS_HERE).enumerate() {
        let mut first = None;
        for (store, pulls) in STORES.iter().zip(pulls) {
            let seconds: Vec<f64> = pulls[at]
                .iter()
                .map(|pull| pull.took.as_secs_f64())
                .collect();
            let took = median(&seconds);
            let times = took / *first.get_or_insert(took);
            table.row([
                form.name.to_owned(),
                (*store).to_owned(),
                count(MESSAGES as f64 / took),
                time(Duration::from_secs_f64(took)),
                format!("{times:.2}"),
            ]);
            data.push(json!({"form": form.name, "store": store, "seconds": seconds}));
        }
    }
    report.table(table);
    report.data("pulls", json!(data));
    let mut table = Table::new(
        &format!("A page by its depth in the feed, {TIMES} of each in turns:"),
        &["store", "depth", "p50", "p99", "times the first (p50)"],
    );
    let mut data = Vec::new();
    let mut worst: f64 = 0.0;
    for (store, depths) in STORES.iter().zip(depths) {
        let first = depths[0].1.p50().as_secs_f64();
        for (depth, sample) in depths {
            let times = sample.p50().as_secs_f64() / first;
            worst = worst.max(times);
            table.row([
                (*store).to_owned(),
                (*depth).to_owned(),
                time(sample.p50()),
                time(sample.p99()),
                format!("{times:.2}"),
            ]);
            data.push(json!({
                "store": store,
                "depth": depth,
                "p50Micros": sample.p50().as_micros() as u64,
                "p99Micros": sample.p99().as_micros() as u64,
            }));
        }
    }
    report.aim(
        "a page at any depth takes at most 1.2 times the first, on both stores",
        format!("{worst:.2} times"),
        worst <= export::MOST_TIMES_FIRST,
    );
    report.table(table);
    report.data("depths", json!(data));
    report.note(format!(
        "Every pull gave all {} rows. The time is that of the requests, without the client's unpacking.",
        count(MESSAGES as f64)
    ));
    report.note(format!(
        "Resident memory of the service at most: {:.0} MiB on SQLite, {:.0} MiB on PostgreSQL, whose server comes on top.",
        memory[0], memory[1]
    ));
    server.version(&mut report)?;
    Ok(report)
}
