//! The pages of the operators' console at a million deliveries of a week, on SQLite, while deliveries come
//! in: the time from a request to the first byte of its page. One client asks for each page in turn, so this
//! is an operator's wait beside the intake.
//!
//! The deliveries are written directly into the store's tables.

use std::path::Path;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde_json::json;

use crate::host::{self, Host, Workspace};
use crate::http::Client;
use crate::paced::{self, Paced, PacedBody};
use crate::report::{Report, Table, count, time};
use crate::rows::{self, Seeds};
use crate::sample::Sample;
use crate::{Arguments, Failure};

/// Requests of each page, and those before them that are not measured.
const TIMES: usize = 60;
const WARM_UP: usize = 3;

const MOST_P99: Duration = Duration::from_millis(50);

/// Deliveries a second that come in meanwhile: more than 10 000 a minute.
const PER_SECOND: f64 = 170.0;

const WEEK_MILLIS: u64 = 7 * 86_400_000;

const PLUGIN: &str = "grupo-olx";

/// The name of a page, and its path.
type Page = (&'static str, String);

pub fn measure(arguments: &Arguments) -> Result<Report, Failure> {
    let folder = arguments.scratch()?;
    let host = Host::start(&arguments.leadhost, folder.path(), "")?;
    let digest = host.activate(&arguments.component()?)?;
    let workspace = host.apply()?;
    host.stop()?;
    let deliveries = arguments.deliveries;
    eprintln!("  seeding {deliveries} deliveries");
    let seeded = Seeded {
        workspace,
        digest,
        deliveries,
        last: u64::try_from(SystemTime::now().duration_since(UNIX_EPOCH)?.as_millis())?,
    };
    seed(&host::database(folder.path()), &seeded)?;

    let host = Host::start(&arguments.leadhost, folder.path(), "")?;
    let mut client = Client::connect(host.admin, None)?;
    let cookie = sign_in(&host, &mut client)?;
    let pages = pages(&seeded);
    let load = paced::start(Paced {
        to: host.gateway,
        from: [127, 0, 0, 1].into(),
        path: seeded.workspace.path,
        per_second: PER_SECOND,
        // More than the pages take; it ends with the host.
        during: arguments.round() * u32::try_from(pages.len())?,
        under_way: 64,
        body: PacedBody::Leads(deliveries + 1),
    });
    eprintln!("  asking for {} pages", pages.len());
    let begin = Instant::now();
    let mut samples = Vec::new();
    for page in &pages {
        samples.push(ask(&mut client, &cookie, &page.1)?);
    }
    let asked = begin.elapsed();
    let per_second = load.join()?.ok_per_second();
    host.stop()?;
    Ok(report(arguments, &pages, &samples, per_second, asked))
}

struct Seeded {
    workspace: Workspace,
    digest: String,
    deliveries: u64,
    /// The time of the last one, in milliseconds.
    last: u64,
}

impl Seeded {
    fn delivery(&self, number: u64) -> String {
        let at = self.last - (self.deliveries - number) * WEEK_MILLIS / self.deliveries;
        let (high, low) = (at >> 16, at & 0xffff);
        format!("{high:08x}-{low:04x}-7000-8000-{number:012x}")
    }
}

/// Writes deliveries of one lead each: one of a hundred is rejected.
fn seed(database: &Path, seeded: &Seeded) -> Result<(), Failure> {
    let (deliveries, last) = (seeded.deliveries, seeded.last);
    let connection = &seeded.workspace.connection;
    let seeds = Seeds::file(database)?;
    let workspace = seeds.given_id(&seeded.workspace.id);
    let contact = seeds.numbered_id("018bcfe5-0000-7000-9000", "n");
    let deal = seeds.numbered_id("018bcfe5-0000-7000-a000", "n");
    let delivery = seeds.id("printf('%08x-%04x-7000-8000-%012x', at >> 16, at & 65535, n)");
    let numbers = format!(
        "{}, rows (n, at) as (select n, {last} - ({deliveries} - n) * {WEEK_MILLIS} / {deliveries} from n)",
        seeds.numbers(deliveries)
    );
    let ran = json!({
        "plugin": PLUGIN, "version": "1.0.0", "digest": seeded.digest,
        "contract": "leadhost:converter@1.0.0", "configVersion": 1,
    });
    let body = "printf('{\"leadId\":\"seed-%d\",\"name\":\"Contact %d\",\"message\":\"%s\"}', n, n, hex(zeroblob(120)))";
    let statements = [
        format!(
            "{numbers} insert into deliveries (workspace_id, id, connection_id, received_at, method, path, query, headers, body_bytes, status, notes, ran, attempts, body)
             select {workspace}, {delivery}, '{connection}', at * 1000, 'POST', '/ingest-lead/{connection}', '[]', '[[\"content-type\",\"application/json\"]]', 300,
               case when n % 100 = 7 then 'rejected' else 'converted' end, '[]', '{ran}', 1, cast({body} as blob) from rows"
        ),
        format!(
            "{numbers} insert into items (workspace_id, delivery_id, item, status, external_id, deal_id, contact_id)
             select {workspace}, {delivery}, 0, 'converted', 'seed-' || n, {deal}, {contact} from rows where n % 100 <> 7"
        ),
        format!(
            "{numbers} insert into contacts (workspace_id, cursor_us, id, name, phone_number, props, created_at, updated_at)
             select {workspace}, at * 1000 + n, {contact}, 'Contact ' || n, printf('+55113%07d', n), '{{}}', at * 1000, at * 1000 from rows"
        ),
        format!(
            "{numbers} insert into contact_keys (workspace_id, key, contact_id)
             select {workspace}, printf('phone:+55113%07d', n), {contact} from rows"
        ),
        format!(
            "{numbers} insert into deals (workspace_id, cursor_us, id, person_id, status, props, created_at, updated_at, stage_code, connection_id, external_id, delivery_id)
             select {workspace}, at * 1000 + n, {deal}, {contact}, 'open', '{{}}', at * 1000, at * 1000, 'in_qualification', '{connection}', 'seed-' || n, {delivery} from rows"
        ),
        // 3 and 4 are the numbers of contacts and deals in the feed clock.
        rows::stamp(&workspace, &[3, 4], i64::try_from(last * 1_000 + deliveries)?),
    ];
    seeds.write(&[], &statements)
}

/// Signs in with the host's first key. Returns the line with the session's cookie.
fn sign_in(host: &Host, client: &mut Client) -> Result<String, Failure> {
    let headers = format!(
        "origin: http://{}\r\ncontent-type: application/x-www-form-urlencoded\r\n",
        host.admin
    );
    let body = format!("key={}", host.admin_key()?);
    let answer = client.send("POST", "/console/sign-in", &headers, body.as_bytes())?;
    let mut lines = answer.head.lines();
    let cookie = lines.find_map(|line| {
        let (name, value) = line.split_once(':')?;
        let is_cookie = name.eq_ignore_ascii_case("set-cookie");
        is_cookie.then(|| value.split(';').next().unwrap_or(value).trim().to_owned())
    });
    match cookie {
        Some(cookie) => Ok(format!("cookie: {cookie}\r\n")),
        None => Err(format!("the sign-in was answered with {}", answer.status).into()),
    }
}

#[rustfmt::skip]
fn pages(seeded: &Seeded) -> Vec<Page> {
    let half = seeded.deliveries / 2;
    let (delivery, version) = (seeded.delivery(half), &seeded.digest[..12]);
    let page = |name, path: String| -> Page { (name, format!("/console{path}")) };
    vec![
        page("Today", "".to_owned()),
        page("Today, the last week", "?period=week".to_owned()),
        page("Deliveries", "/deliveries".to_owned()),
        page("Deliveries, of a connection", "/deliveries?connection=portal".to_owned()),
        page("Deliveries, rejected", "/deliveries?status=rejected".to_owned()),
        page("Deliveries, in quarantine", "/deliveries?status=quarantined".to_owned()),
        page("Deliveries, of the active version", format!("/deliveries?version={version}")),
        page("Deliveries, of a version that converted none", "/deliveries?version=ffffffffffff".to_owned()),
        page("Deliveries, of a phone", format!("/deliveries?q=%2B55113{half:07}")),
        page("Deliveries, of an external id", format!("/deliveries?q=seed-{half}")),
        page("Deliveries, the older half", format!("/deliveries?before={delivery}")),
        page("A delivery", format!("/deliveries/{delivery}")),
        page("A deal", format!("/deals/018bcfe5-0000-7000-a000-{half:012x}")),
        page("Deals", "/deals".to_owned()),
        page("Deals, of a workspace", "/deals?workspace=bench".to_owned()),
        page("Deals, of a phone", format!("/deals?q=%2B55113{half:07}")),
        page("Deals, of an external id", format!("/deals?q=seed-{half}")),
        page("A contact", format!("/contacts/018bcfe5-0000-7000-9000-{half:012x}")),
        page("Tickets", "/tickets".to_owned()),
        page("Analytics", "/analytics".to_owned()),
        page("Analytics, by source", "/analytics?by=source".to_owned()),
        page("Repairs", "/repairs".to_owned()),
        page("Plugins", "/plugins".to_owned()),
        page("A plugin", format!("/plugins/{PLUGIN}")),
        page("Connections", "/connections".to_owned()),
        page("New connection", "/connections/new".to_owned()),
        page("Instances", "/instances".to_owned()),
        page("An instance", "/instances/bot".to_owned()),
        page("Messages", "/messages".to_owned()),
        page("Contacts", "/contacts".to_owned()),
        page("Keys", "/keys".to_owned()),
        page("Audit", "/audit".to_owned()),
        page("Service", "/service".to_owned()),
    ]
}

fn ask(client: &mut Client, cookie: &str, path: &str) -> Result<Sample, Failure> {
    let mut took = Vec::new();
    for _ in 0..WARM_UP + TIMES {
        let begin = Instant::now();
        let answer = client.get(path, cookie)?;
        took.push(answer.first_byte - begin);
        answer.must_be(200, path)?;
    }
    Ok(Sample::from_durations(took.into_iter().skip(WARM_UP)))
}

fn report(
    arguments: &Arguments,
    pages: &[Page],
    samples: &[Sample],
    per_second: f64,
    asked: Duration,
) -> Report {
    let mut report = Report::new("console", "Pages of the console");
    let slowest = samples.iter().map(Sample::p99).max().unwrap_or_default();
    let most = time(MOST_P99);
    report.aim(
        format!("p99 of the first byte of every page at most {most}"),
        time(slowest),
        slowest <= MOST_P99,
    );
    let mut table = Table::new(
        format!(
            "SQLite with {} deliveries of a week, while {} a second come in; the first byte of each page, {TIMES} requests after {WARM_UP}, one after the other:",
            count(arguments.deliveries as f64),
            count(per_second),
        ),
        "page | p50 | p99 | longest",
    );
    for ((page, _), sample) in pages.iter().zip(samples) {
        let [p50, p99, longest] = sample.cells();
        table.row([(*page).into(), p50, p99, longest]);
    }
    report.table(table);
    report.note(format!(
        "All {} requests were answered with 200, within {}.",
        count((pages.len() * (WARM_UP + TIMES)) as f64),
        time(asked),
    ));
    if !arguments.is_release() {
        report.note(
            "The service was built without optimisation, so these times are not a release's.",
        );
    }
    report
}
