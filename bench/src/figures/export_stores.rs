//! The export on both stores side by side: full pulls of a million messages in
//! turns, and a page by its depth in the feed. Also a baseline on both, if there is
//! one.

use std::time::Duration;

use serde_json::json;

use super::export::{self, FORMS, MESSAGES, PAGE, PATIENCE, Pull, TIMES};
use crate::host::{self, Host, Workspace};
use crate::http::Client;
use crate::postgres::{Database, Server};
use crate::report::{Report, Table, count, time};
use crate::sample::{Sample, median};
use crate::{Arguments, BASELINE, Build, Failure, SERVICE, round};

/// JSON and compressed JSON. NDJSON is the same data as JSON.
const FORMS_HERE: usize = 2;
const STORES: [&str; 2] = ["SQLite", "PostgreSQL"];

/// A build of the service on a store with seeded messages.
struct SeededStore<'a> {
    build: Build<'a>,
    store: &'static str,
    host: Host,
    client: Client,
    pulls: [Vec<Pull>; FORMS_HERE],
    depths: Vec<(&'static str, Sample)>,
    database: Option<Database<'a>>,
    /// The last field, so that it is dropped after the service has ended.
    _folder: tempfile::TempDir,
}

impl<'a> SeededStore<'a> {
    fn begin(
        arguments: &Arguments,
        server: &'a Server,
        build: Build<'a>,
        store: &'static str,
    ) -> Result<Self, Failure> {
        let folder = arguments.scratch()?;
        let database = if store == STORES[0] {
            None
        } else {
            Some(server.database()?)
        };
        let settings = database.as_ref().map(Database::store).unwrap_or_default();
        let begun = || Host::start(build.program, folder.path(), &settings);
        let host = begun()?;
        host.activate(&arguments.component()?)?;
        let workspace = host.apply()?;
        host.stop()?;
        eprintln!(
            "  seeding {MESSAGES} messages on {store} for {}",
            build.name
        );
        match &database {
            None => export::seed(&host::database(folder.path()), &workspace.id)?,
            Some(database) => seed(database, &workspace)?,
        }
        let host = begun()?;
        Ok(Self {
            build,
            store,
            client: Client::connect(host.data, Some(&workspace.key))?,
            host,
            pulls: Default::default(),
            depths: Vec::new(),
            database,
            _folder: folder,
        })
    }

    fn name(&self) -> String {
        format!("{} on {}", self.build.name, self.store)
    }

    /// Returns the median of the seconds of pulls in a format.
    fn seconds(&self, form: usize) -> f64 {
        median(&self.all_seconds(form))
    }

    fn all_seconds(&self, form: usize) -> Vec<f64> {
        let pulls = self.pulls[form].iter();
        pulls.map(|pull| pull.took.as_secs_f64()).collect()
    }
}

/// Measures the pulls and the pages on both stores.
pub fn measure(arguments: &Arguments) -> Result<Report, Failure> {
    let server = Server::start(arguments)?;
    let mut sides = Vec::new();
    for store in STORES {
        for build in arguments.builds() {
            sides.push(SeededStore::begin(arguments, &server, build, store)?);
        }
    }
    for number in 1..=arguments.rounds {
        for (form, kind) in FORMS.iter().take(FORMS_HERE).enumerate() {
            for side in round::in_turn(&mut sides, number) {
                // An idle connection may have been closed.
                side.client.reconnect(PATIENCE)?;
                let pull = export::pull(&mut side.client, kind)?;
                eprintln!(
                    "  round {number}: {}, {}: {} rows/s",
                    side.name(),
                    kind.name,
                    count(MESSAGES as f64 / pull.took.as_secs_f64())
                );
                side.pulls[form].push(pull);
            }
        }
    }
    for side in &mut sides {
        side.client.reconnect(PATIENCE)?;
        side.depths = export::at_depths(&mut side.client, &side.pulls[0][0].cursors)?;
    }
    let report = report(arguments, &server, &sides)?;
    for side in sides {
        side.host.stop()?;
        if let Some(database) = side.database {
            database.drop()?;
        }
    }
    Ok(report)
}

/// Writes the rows of `export::seed` in this store's format.
fn seed(database: &Database<'_>, workspace: &Workspace) -> Result<(), Failure> {
    let first = export::FIRST;
    let last = first + i64::try_from(MESSAGES)? * 1_000_000;
    let id = &workspace.id;
    database.say(&[
        &format!(
            "insert into leadhost.messages (workspace_id, cursor_us, id, conversation_id, contact_id, created_at, actor, kind, content, metadata, delivered_at, read_at)
             select '{id}', {first} + n * 1000000,
               ('018bcfe5-' || lpad(to_hex(n / 65536), 4, '0') || '-7' || lpad(to_hex(n % 4096), 3, '0') || '-8' || lpad(to_hex(n % 4095), 3, '0') || '-' || lpad(to_hex(n), 12, '0'))::uuid,
               ('018bcfe5-0000-7000-8000-' || lpad(to_hex(n % 5000), 12, '0'))::uuid,
               ('018bcfe5-0000-7000-9000-' || lpad(to_hex(n % 5000), 12, '0'))::uuid,
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
    sides: &[SeededStore<'_>],
) -> Result<Report, Failure> {
    let has_baseline = arguments.baseline.is_some();
    let of = |build: &str, store: &str| {
        let mut sides = sides.iter();
        sides.find(|side| side.build.name == build && side.store == store)
    };
    let mut report = Report::new("export-stores", "The export on both stores");
    let columns = [
        "form",
        "side",
        "rows/s",
        "the whole pull",
        "of SQLite's time",
    ];
    let columns: Vec<&str> = columns
        .into_iter()
        .chain(has_baseline.then_some("times the baseline's rate"))
        .collect();
    let mut table = Table::new(
        &format!(
            "Full pulls of {} messages in pages of {PAGE} over one connection. Median of {} alternating rounds:",
            count(MESSAGES as f64),
            arguments.rounds
        ),
        &columns,
    );
    let mut data = Vec::new();
    for (at, form) in FORMS.iter().take(FORMS_HERE).enumerate() {
        for side in sides {
            let took = side.seconds(at);
            let times =
                |other: Option<&SeededStore<'_>>| other.map_or(0.0, |other| other.seconds(at));
            let sqlite = times(of(side.build.name, STORES[0]));
            let baseline = times(of(BASELINE, side.store));
            let cells = [
                form.name.to_owned(),
                side.name(),
                count(MESSAGES as f64 / took),
                time(Duration::from_secs_f64(took)),
                format!("{:.2}", took / sqlite),
            ];
            let beside = has_baseline.then(|| format!("{:.2}", baseline / took));
            table.row(cells.into_iter().chain(beside));
            data.push(json!({
                "form": form.name, "side": side.name(), "seconds": side.all_seconds(at),
            }));
        }
    }
    report.table(table);
    report.data("pulls", json!(data));
    let mut table = Table::new(
        &format!("A page by its depth in the feed, {TIMES} of each in turns:"),
        &["side", "depth", "p50", "p99", "times the first (p50)"],
    );
    let mut data = Vec::new();
    let mut worst: f64 = 0.0;
    for side in sides {
        let first = side.depths[0].1.p50().as_secs_f64();
        for (depth, sample) in &side.depths {
            let times = sample.p50().as_secs_f64() / first;
            if side.build.name != BASELINE {
                worst = worst.max(times);
            }
            table.row([
                side.name(),
                (*depth).to_owned(),
                time(sample.p50()),
                time(sample.p99()),
                format!("{times:.2}"),
            ]);
            data.push(json!({
                "side": side.name(),
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
    for store in STORES {
        let (Some(service), Some(baseline)) = (of(SERVICE, store), of(BASELINE, store)) else {
            continue;
        };
        let times = baseline.seconds(0) / service.seconds(0);
        report.aim(
            &format!(
                "as JSON on {store} not below the baseline's rate, but for a twentieth of noise"
            ),
            format!("{times:.2} times"),
            times >= 1.0 / round::NOISE,
        );
    }
    report.table(table);
    report.data("depths", json!(data));
    report.note(format!(
        "Every pull gave all {} rows. The time is that of the requests, without the client's unpacking.",
        count(MESSAGES as f64)
    ));
    for side in sides {
        let (_, most) = side.host.process.memory()?;
        report.note(format!(
            "Resident memory of the service at most, {}: {most:.0} MiB.",
            side.name()
        ));
    }
    report.note("PostgreSQL's server takes its own memory beside that.");
    if has_baseline {
        report.note(round::BASELINE);
    }
    server.version(&mut report)?;
    Ok(report)
}
