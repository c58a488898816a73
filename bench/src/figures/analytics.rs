//! Analytics: how fast changes are counted, and how long a query takes, at growing
//! numbers of conversations. Compared with the same query as plain SQL on the
//! conversations themselves, on the same file in the same run.
//!
//! The conversations are written directly into the store's table, over the two years
//! until now, with twenty agents of two types and five sources.

use std::path::Path;
use std::time::{Duration, Instant};

use leadhost_domain::clock::{Clock as _, SystemClock};
use leadhost_domain::time::{Micros, micros};
use rusqlite::params;
use serde_json::Value;

use crate::host::{self, Host};
use crate::http::Client;
use crate::report::{Report, Table, count, time};
use crate::rows::{self, Ids, Seeds};
use crate::sample::Sample;
use crate::{Arguments, Failure};

const SIZES: [u64; 3] = [100_000, 1_000_000, 10_000_000];
const DAYS: u64 = 730;
const TIMES: usize = 300;
const PLAIN_TIMES: usize = 3;
const MOST_P99: [Duration; 2] = [Duration::from_millis(10), Duration::from_millis(50)];
const MOST_RATIO: f64 = 1.5;
const QUESTIONS: [&str; 2] = ["the default call", "365 days by three dimensions"];
const PATIENCE: Duration = Duration::from_secs(1_800);

struct MeasuredSize {
    size: u64,
    counted: f64,
    /// In the order of [`QUESTIONS`].
    questions: Vec<MeasuredQuestion>,
    memory: f64,
}

struct MeasuredQuestion {
    sample: Sample,
    plain: Sample,
    rows: usize,
}

pub fn measure(arguments: &Arguments) -> Result<Report, Failure> {
    let measured = SIZES
        .into_iter()
        .map(|size| at_size(arguments, size))
        .collect::<Result<Vec<_>, _>>()?;
    Ok(report(&measured))
}

fn at_size(arguments: &Arguments, size: u64) -> Result<MeasuredSize, Failure> {
    let folder = arguments.scratch()?;
    let workspace = Host::prepare(arguments, &arguments.leadhost, folder.path(), "")?;
    eprintln!("  seeding {size} conversations");
    let database = host::database(folder.path());
    let now = SystemClock.now();
    seed(&database, &workspace.id, size, now)?;

    let begin = Instant::now();
    let host = Host::start(&arguments.leadhost, folder.path(), "")?;
    let mut client = Client::connect(host.data, Some(&workspace.key))?;
    while !is_counted(&mut client)? {
        if begin.elapsed() > PATIENCE {
            return Err(format!("{size} conversations were not counted in half an hour").into());
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    let counted = begin.elapsed().as_secs_f64();
    eprintln!("  counted: {} changes/s", count(size as f64 / counted));

    // Zones are queried in whole days, so that both sides mean the same.
    let (from, to) = (midnight(now, -365), midnight(now, 0));
    let paths = [
        "/v1/analytics/conversations/day".to_owned(),
        format!(
            "/v1/analytics/conversations/day?from={from}&to={to}&group_by=agent_type,agent_id,source"
        ),
    ];
    let mut questions = Vec::new();
    for (path, groups) in paths.iter().zip([false, true]) {
        let answer = client.get(path, "accept-encoding: identity\r\n")?.json()?;
        let bounds = (bound(&answer, "from")?, bound(&answer, "to")?);
        let (plain, sums) = plain(&database, &workspace.id, bounds, groups)?;
        let answered = sums_of(&answer);
        if answered != sums {
            let odd = format!("{path}: the answer has {answered:?}, the plain query {sums:?}");
            return Err(odd.into());
        }
        let mut took = Vec::new();
        for _ in 0..TIMES {
            let begin = Instant::now();
            let answer = client.get(path, "accept-encoding: identity\r\n")?;
            took.push(begin.elapsed());
            answer.must_be(200, path)?;
        }
        questions.push(MeasuredQuestion {
            sample: Sample::from_durations(took),
            plain,
            rows: answered.0,
        });
    }
    let memory = host.process.memory()?.now;
    host.stop()?;
    Ok(MeasuredSize {
        size,
        counted,
        questions,
        memory,
    })
}

fn is_counted(client: &mut Client) -> Result<bool, Failure> {
    let freshness = client.get_json("/v1/analytics/freshness")?;
    let sets = freshness["data"].as_array().into_iter().flatten();
    let mut sets = sets.filter(|set| set["metricset"] == "conversations");
    Ok(sets.next().is_some_and(|set| !set["as_of"].is_null()))
}

/// Sao Paulo has had no summer time since 2019, so it is always three hours behind. In seconds.
const BEHIND: i64 = 3 * 3_600;

fn midnight(now: Micros, days: i64) -> String {
    let local = now.plus_seconds(days * 86_400 - BEHIND);
    local.text()[..10].to_owned()
}

fn bound(answer: &Value, name: &str) -> Result<i64, Failure> {
    let text = answer[name].as_str().unwrap_or_default();
    let time = leadhost_domain::time::parse(text);
    Ok(time
        .ok_or_else(|| format!("`{name}` of an answer is {text:?}"))?
        .0)
}

const MEASURES: [&str; 5] = [
    "conversations_started",
    "conversations_answered",
    "conversations_no_response",
    "appointments",
    "transferred",
];

/// Returns the number of rows, and the sum of each measure.
type Sums = (usize, [i64; 5]);

fn sums_of(answer: &Value) -> Sums {
    let data = answer["data"].as_array().map_or(&[][..], Vec::as_slice);
    let sum = |measure: &str| data.iter().filter_map(|row| row[measure].as_i64()).sum();
    (data.len(), MEASURES.map(sum))
}

fn seed(database: &Path, workspace: &str, size: u64, now: Micros) -> Result<(), Failure> {
    let seeds = Seeds::file(database)?;
    let (numbers, workspace) = (seeds.numbers(size), seeds.given_id(workspace));
    let id = seeds.numbered_id("018bcfe5-0000-7000-8000", "n");
    let contact = seeds.numbered_id("018bcfe5-0000-7000-9000", "n");
    let days = Duration::from_hours(DAYS * 24);
    let first = now.minus(days).0;
    let span = micros(days - Duration::from_hours(1));
    let conversations = format!(
        "{numbers}, one as (
           select n, {first} + (n * {span}) / {size} as at, n * 2654435761 % 4294967296 as chance from n
         )
         insert into conversations (workspace_id, cursor_us, id, contact_id, agent_id, agent_type,
           source, channel, status, created_at, updated_at, first_message_at, answered_at,
           last_message_at, no_response_at, transferred_at, appointment_at, closed_at, props)
         select {workspace}, at + n % 7, {id}, {contact},
           1 + chance / 7 % 20, case chance / 7 % 20 < 14 when true then 'ai' else 'human' end,
           'source ' || (chance / 1009 % 5), 'whatsapp', 'closed', at, at, at,
           case chance % 3 when 0 then null else at + 60000000 end, at,
           case chance % 3 when 0 then at + 86400000000 end,
           case chance % 5 when 0 then at + 90000000 end,
           case chance % 11 when 0 then at + 95000000 end, at + 100000000, '{{}}'
         from one"
    );
    // 1 is the number of conversations in the feed clock.
    let stamped = rows::stamp(&workspace, &[1], now.0);
    seeds.write(&["conversations"], &[conversations, stamped])
}

/// The query without a rollup; `columns` are those to group by in addition to the day, each
/// with a comma in front.
fn plain_question(workspace: &str, columns: &str) -> String {
    format!(
        "select (first_message_at - 10800000000) / 86400000000 as day{columns},
           count(*), count(answered_at), count(no_response_at), count(appointment_at),
           count(transferred_at)
         from conversations
         where workspace_id = {workspace} and first_message_at >= ?2 and first_message_at < ?3
         group by 1{columns}"
    )
}

fn plain(
    database: &Path,
    workspace: &str,
    bounds: (i64, i64),
    groups: bool,
) -> Result<(Sample, Sums), Failure> {
    let (columns, first) = if groups {
        (", agent_type, agent_id, source", 4)
    } else {
        ("", 1)
    };
    let connection = rows::open(database)?;
    let sql = plain_question(&Ids::read(&connection)?.sql("?1"), columns);
    let mut took = Vec::new();
    let mut sums = (0, [0; 5]);
    for _ in 0..PLAIN_TIMES {
        let begin = Instant::now();
        let mut statement = connection.prepare(&sql)?;
        let mut found = statement.query(params![workspace, bounds.0, bounds.1])?;
        sums = (0, [0; 5]);
        while let Some(row) = found.next()? {
            sums.0 += 1;
            for (at, sum) in sums.1.iter_mut().enumerate() {
                *sum += row.get::<_, i64>(first + at)?;
            }
        }
        took.push(begin.elapsed());
    }
    Ok((Sample::from_durations(took), sums))
}

fn report(measured: &[MeasuredSize]) -> Report {
    let mut report = Report::new(
        "analytics",
        "Queries about conversations, and counting them",
    );
    let mut table = Table::new(
        format!(
            "{TIMES} requests of each kind, one after the other over one connection, uncompressed; the plain question {PLAIN_TIMES} times:"
        ),
        "conversations | question | rows | p50 | p99 | plain SQL, p50 | times quicker",
    );
    for of in measured {
        for (name, question) in QUESTIONS.into_iter().zip(&of.questions) {
            let ([p50, p99, _], [plain, ..]) = (question.sample.cells(), question.plain.cells());
            let times = question.plain.p50().as_secs_f64() / question.sample.p50().as_secs_f64();
            let (size, rows) = (count(of.size as f64), count(question.rows as f64));
            let times = format!("{times:.0}").into();
            table.row([size, name.into(), rows, p50, p99, plain, times]);
        }
    }
    for (question, most) in MOST_P99.into_iter().enumerate() {
        let worst = (measured.iter()).map(|of| of.questions[question].sample.p99());
        let worst = worst.max().unwrap_or_default();
        let (name, limit) = (QUESTIONS[question], time(most));
        let aim = format!("p99 of {name} at most {limit} at every size");
        report.aim(aim, time(worst), worst <= most);
    }
    if let [few, .., many] = measured {
        let ratio = |question: usize| {
            let p50 = |of: &MeasuredSize| of.questions[question].sample.p50().as_secs_f64();
            p50(many) / p50(few)
        };
        let worst = ratio(0).max(ratio(1));
        report.aim(
            "ten million conversations take at most 1.5 times what 100 000 take (p50)",
            format!("{:.2} and {:.2} times", ratio(0), ratio(1)),
            worst <= MOST_RATIO,
        );
    }
    let mut counting = Table::new(
        "From the start of the service on conversations that it never counted until all of them are, its cubes included:",
        "conversations | seconds | changes/s | resident memory after it",
    );
    for of in measured {
        counting.row([
            count(of.size as f64),
            format!("{:.1}", of.counted).into(),
            count(of.size as f64 / of.counted),
            format!("{:.0} MiB", of.memory).into(),
        ]);
    }
    report.table(table);
    report.table(counting);
    report.note("The number of rows and the sum of each measure of every answer were equal to the plain query's.");
    report
}
