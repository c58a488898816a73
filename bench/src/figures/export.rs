//! A full pull of a million messages over HTTP, page by page, and whether a
//! page deep in the feed costs more than the first.
//!
//! The messages are written straight into the store's tables: how they come
//! there is not what is measured. Every pull must give each of them once.

use std::io::Read as _;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::json;
use sqlx::Row as _;

use crate::host::{self, Host};
use crate::http::Client;
use crate::report::{Report, Table, count, time};
use crate::sample::{Sample, median};
use crate::{Arguments, Failure, rows};

pub(super) const MESSAGES: u64 = 1_000_000;
pub(super) const PAGE: u64 = 1_000;
/// The stamp before the first message's.
pub(super) const FIRST: i64 = 1_700_000_000_000_000;
/// Pages fetched at each depth.
pub(super) const TIMES: usize = 200;
pub(super) const MOST_TIMES_FIRST: f64 = 1.2;

/// A form in which pages are asked for.
pub(super) struct Form {
    pub(super) name: &'static str,
    pub(super) headers: &'static str,
    gzip: bool,
}

pub(super) const FORMS: [Form; 3] = [
    Form {
        name: "JSON",
        headers: "accept-encoding: identity\r\n",
        gzip: false,
    },
    Form {
        name: "JSON, gzip",
        headers: "accept-encoding: gzip\r\n",
        gzip: true,
    },
    Form {
        name: "NDJSON",
        headers: "accept: application/x-ndjson\r\naccept-encoding: identity\r\n",
        gzip: false,
    },
];

pub(super) struct Pull {
    /// Time of the requests alone, without the client's reading of the pages.
    pub(super) took: Duration,
    bytes: u64,
    /// Where each page began; the first has no cursor.
    pub(super) cursors: Vec<Option<String>>,
}

pub fn measure(arguments: &Arguments) -> Result<Report, Failure> {
    let folder = arguments.scratch()?;
    let host = Host::start(&arguments.leadhost, folder.path(), "")?;
    host.activate(&arguments.component()?)?;
    let workspace = host.apply()?;
    host.stop()?;
    eprintln!("  seeding {MESSAGES} messages");
    seed(&host::database(folder.path()), &workspace.id)?;

    let host = Host::start(&arguments.leadhost, folder.path(), "")?;
    let mut client = Client::connect(host.data, Some(&workspace.key))?;
    let mut pulls: [Vec<Pull>; 3] = Default::default();
    for number in 1..=arguments.rounds {
        for (form, pulls) in FORMS.iter().zip(&mut pulls) {
            let pull = pull(&mut client, form)?;
            eprintln!(
                "  round {number}: {}: {} rows/s",
                form.name,
                count(MESSAGES as f64 / pull.took.as_secs_f64())
            );
            pulls.push(pull);
        }
    }
    let depths = at_depths(&mut client, &pulls[0][0].cursors)?;
    let (memory, most) = host.process.memory()?;
    host.stop()?;
    Ok(report(arguments, &pulls, &depths, memory, most))
}

/// Messages of a few thousand conversations, a second apart.
pub(super) fn seed(database: &Path, workspace: &str) -> Result<(), Failure> {
    rows::block_on(async {
        let mut connection = rows::open(database).await?;
        sqlx::query(
            "with recursive n (n) as (select 1 union all select n + 1 from n where n < ?2)
             insert into messages (workspace_id, cursor_us, id, conversation_id, created_at, actor, kind, content, metadata, delivered_at, read_at)
             select ?1, ?3 + n * 1000000,
               printf('018bcfe5-%04x-7%03x-8%03x-%012x', n / 65536, n % 4096, n % 4095, n),
               printf('018bcfe5-0000-7000-8000-%012x', n % 5000),
               ?3 + n * 1000000,
               case n % 2 when 0 then 'agent' else 'contact' end,
               'text',
               'Message ' || n || ': the flat on the third floor is still free, and a visit on Thursday suits us well.',
               '{\"externalId\":\"m.' || n || '\",\"template\":null}',
               ?3 + n * 1000000 + 400000,
               case n % 3 when 0 then null else ?3 + n * 1000000 + 900000 end
             from n",
        )
        .bind(workspace)
        .bind(i64::try_from(MESSAGES)?)
        .bind(FIRST)
        .execute(&mut connection)
        .await?;
        // 2 is the number of messages in the feed clock.
        sqlx::query(
            "insert into feed_clock (workspace_id, entity, last_us) values (?1, 2, ?2)
             on conflict do update set last_us = excluded.last_us",
        )
        .bind(workspace)
        .bind(FIRST + i64::try_from(MESSAGES)? * 1_000_000)
        .execute(&mut connection)
        .await?;
        let checkpoint = sqlx::query("pragma wal_checkpoint(truncate)")
            .fetch_one(&mut connection)
            .await?;
        let busy: i64 = checkpoint.try_get(0)?;
        if busy == 0 {
            Ok(())
        } else {
            Err("the seeded messages cannot be checkpointed".into())
        }
    })
}

pub(super) fn pull(client: &mut Client, form: &Form) -> Result<Pull, Failure> {
    pull_since(client, form, None, MESSAGES)
}

/// What changed since a time, or everything, which must be so many rows.
pub(super) fn pull_since(
    client: &mut Client,
    form: &Form,
    since: Option<&str>,
    expected: u64,
) -> Result<Pull, Failure> {
    let mut pull = Pull {
        took: Duration::ZERO,
        bytes: 0,
        cursors: vec![],
    };
    let mut rows = 0;
    let mut cursor: Option<String> = None;
    loop {
        let mut path = path(cursor.as_deref());
        if let Some(since) = since {
            path.push_str("&updated_since=");
            path.push_str(since);
        }
        let begin = Instant::now();
        let answer = client.get(&path, form.headers)?;
        pull.took += begin.elapsed();
        if answer.status != 200 {
            return Err(format!("{}: status {}", form.name, answer.status).into());
        }
        pull.bytes += answer.body.len() as u64;
        let body = if form.gzip {
            let mut text = Vec::new();
            flate2::read::GzDecoder::new(answer.body.as_slice()).read_to_end(&mut text)?;
            text
        } else {
            answer.body
        };
        let (counted, next) = tail(&body)?;
        rows += counted;
        pull.cursors.push(cursor);
        match next {
            Some(next) => cursor = Some(next),
            None => break,
        }
    }
    if rows == expected {
        return Ok(pull);
    }
    Err(format!("{}: a pull gave {rows} rows of {expected}", form.name).into())
}

pub(super) fn path(cursor: Option<&str>) -> String {
    match cursor {
        Some(cursor) => format!("/v1/export/messages?limit={PAGE}&cursor={cursor}"),
        None => format!("/v1/export/messages?limit={PAGE}"),
    }
}

/// Count and cursor, which end a page in both forms.
fn tail(body: &[u8]) -> Result<(u64, Option<String>), Failure> {
    let end = &body[body.len().saturating_sub(400)..];
    let end = String::from_utf8_lossy(end);
    let odd = || format!("a page that ends with {end}");
    let (_, after) = end.rsplit_once("\"next_cursor\":").ok_or_else(odd)?;
    let (cursor, after) = after.split_once(",\"count\":").ok_or_else(odd)?;
    let counted = after
        .trim_end()
        .trim_end_matches('}')
        .parse()
        .map_err(|_| odd())?;
    let cursor = cursor.trim_matches('"');
    Ok((counted, (cursor != "null").then(|| cursor.to_owned())))
}

/// Pages at the beginning, in the middle and near the end, in turns.
pub(super) fn at_depths(
    client: &mut Client,
    cursors: &[Option<String>],
) -> Result<Vec<(&'static str, Sample)>, Failure> {
    let depths = [
        ("0", 0),
        ("50 %", cursors.len() / 2),
        ("99 %", cursors.len() * 99 / 100),
    ];
    let mut times = vec![vec![]; depths.len()];
    for _ in 0..TIMES {
        for ((_, page), times) in depths.iter().zip(&mut times) {
            let path = path(cursors[*page].as_deref());
            let begin = Instant::now();
            let answer = client.get(&path, FORMS[0].headers)?;
            times.push(begin.elapsed());
            if answer.status != 200 {
                return Err(format!("a page at depth {page}: status {}", answer.status).into());
            }
        }
    }
    Ok(depths
        .iter()
        .zip(times)
        .map(|((name, _), times)| (*name, Sample::of(times)))
        .collect())
}

fn report(
    arguments: &Arguments,
    pulls: &[Vec<Pull>; 3],
    depths: &[(&'static str, Sample)],
    memory: f64,
    most: f64,
) -> Report {
    let mut report = Report::new("export", "A full pull of a million messages");
    let mut table = Table::new(
        &format!(
            "Pages of {PAGE} rows over one connection. Median of {} alternating rounds:",
            arguments.rounds
        ),
        &["form", "rows/s", "the whole pull", "bytes a row"],
    );
    let mut data = Vec::new();
    for (form, pulls) in FORMS.iter().zip(pulls) {
        let seconds: Vec<f64> = pulls.iter().map(|pull| pull.took.as_secs_f64()).collect();
        let took = median(&seconds);
        let bytes = pulls[0].bytes as f64 / MESSAGES as f64;
        table.row([
            form.name.to_owned(),
            count(MESSAGES as f64 / took),
            time(Duration::from_secs_f64(took)),
            format!("{bytes:.0}"),
        ]);
        data.push(json!({"form": form.name, "seconds": seconds, "bytes": pulls[0].bytes}));
    }
    report.data("pulls", json!(data));
    let first = depths[0].1.p50().as_secs_f64();
    let mut depth_table = Table::new(
        &format!("A page by its depth in the feed, {TIMES} of each in turns:"),
        &["depth", "p50", "p99", "times the first (p50)"],
    );
    let mut worst: f64 = 0.0;
    let mut data = Vec::new();
    for (name, sample) in depths {
        let times = sample.p50().as_secs_f64() / first;
        worst = worst.max(times);
        depth_table.row([
            (*name).to_owned(),
            time(sample.p50()),
            time(sample.p99()),
            format!("{times:.2}"),
        ]);
        data.push(json!({
            "depth": name,
            "p50Micros": sample.p50().as_micros() as u64,
            "p99Micros": sample.p99().as_micros() as u64,
        }));
    }
    report.data("depths", json!(data));
    report.aim(
        "a page at any depth takes at most 1.2 times the first",
        format!("{worst:.2} times"),
        worst <= MOST_TIMES_FIRST,
    );
    report.table(table);
    report.table(depth_table);
    report.note(format!(
        "Every pull gave all {} rows. The time is that of the requests, without the client's unpacking.",
        count(MESSAGES as f64)
    ));
    report.note(format!(
        "Resident memory of the service after it: {memory:.0} MiB, {most:.0} MiB at most."
    ));
    report
}
