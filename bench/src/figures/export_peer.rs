//! The export compared with a careful route in Node on the same messages, in a separate file
//! with the peer's tables: a full pull of a million messages, and the pull of the changes
//! since a time. Both sides return the same bodies, letter by letter except for their
//! cursors, and take turns.

use std::time::Duration;

use super::export::{FIRST, FORMS, MESSAGES, path, pull_since, rate, seed};
use crate::host::{self, Host};
use crate::http::Client;
use crate::peer::{self, Peer};
use crate::report::{Report, Table, count, seconds, times};
use crate::rows::{self, Seeds};
use crate::sample::median;
use crate::{Arguments, Failure};

const CHANGED: u64 = 20_000;
const TIMES: u32 = 10;
const LEAST_TIMES: f64 = 3.0;
const SIDES: [&str; 2] = ["Leadhost", "fastify and better-sqlite3"];
const PULLS: [&str; 2] = ["full", "incremental"];

pub fn measure(arguments: &Arguments) -> Result<Report, Failure> {
    let folder = arguments.scratch()?;
    let workspace = Host::prepare(arguments, &arguments.leadhost, folder.path(), "")?;
    eprintln!("  seeding {MESSAGES} messages");
    seed(Seeds::file(&host::database(folder.path()))?, &workspace.id)?;
    let peer_folder = arguments.scratch()?;
    let peer_file = peer::database(peer_folder.path());
    rows::make(&peer_file, &peer::schema(&arguments.folder))?;
    seed(Seeds::file(&peer_file)?, &workspace.id)?;
    let host = Host::start(&arguments.leadhost, folder.path(), "")?;
    let peer = Peer::start_export(&arguments.folder, &peer_file, &workspace)?;
    let mut clients = [
        Client::connect(host.data, Some(&workspace.key))?,
        Client::connect(peer.address, Some(&workspace.key))?,
    ];
    let since = since();
    same_bodies(&mut clients, &since)?;

    // Seconds by pull, side and round.
    let mut took: [[Vec<f64>; 2]; 2] = Default::default();
    for number in 1..=arguments.rounds {
        for (side, client) in clients.iter_mut().enumerate() {
            let full = pull_since(client, &FORMS[0], None, MESSAGES)?;
            let mut changed = Duration::ZERO;
            for _ in 0..TIMES {
                changed += pull_since(client, &FORMS[0], Some(&since), CHANGED)?.took;
            }
            let (name, full) = (SIDES[side], full.took.as_secs_f64());
            eprintln!("  round {number}: {name}: {} rows/s", rate(full));
            took[0][side].push(full);
            took[1][side].push((changed / TIMES).as_secs_f64());
        }
    }
    peer.stop()?;
    host.stop()?;
    let mut report = report(arguments, &took);
    peer::versions(&arguments.folder, &mut report)?;
    Ok(report)
}

fn since() -> String {
    let first = MESSAGES - CHANGED + 1;
    let stamp = FIRST + i64::try_from(first).expect("a small number") * 1_000_000;
    leadhost_domain::time::Micros(stamp).text()
}

/// Checks that both sides return the same before their cursors, at the beginning and since
/// the time.
fn same_bodies(clients: &mut [Client; 2], since: &str) -> Result<(), Failure> {
    for query in [String::new(), format!("&updated_since={since}")] {
        let path = format!("{}{query}", path(None));
        let mut said = Vec::new();
        for client in clients.iter_mut() {
            let answer = client.get(&path, FORMS[0].headers)?;
            let body = String::from_utf8(answer.body)?;
            let rows = body.rsplit_once("],\"next_cursor\":");
            let (rows, _) = rows.ok_or_else(|| format!("{path}: no page: {body:.200}"))?;
            said.push(rows.to_owned());
        }
        if said[0] != said[1] {
            let at = said[0]
                .bytes()
                .zip(said[1].bytes())
                .take_while(|(a, b)| a == b)
                .count();
            return Err(format!(
                "{path}: the bodies differ from byte {at}: {:.120} and {:.120}",
                said[0].get(at..).unwrap_or_default(),
                said[1].get(at..).unwrap_or_default()
            )
            .into());
        }
    }
    Ok(())
}

fn report(arguments: &Arguments, took: &[[Vec<f64>; 2]; 2]) -> Report {
    let mut report = Report::new("export-peer", "The export beside a route in Node");
    let mut table = Table::new(
        format!(
            "{} messages; {} changed since a time; pages of 1000 rows as JSON over one connection. Median of {} alternating rounds:",
            count(MESSAGES as f64),
            count(CHANGED as f64),
            arguments.rounds
        ),
        "pull | side | rows/s | the whole pull | times the peer",
    );
    for (pull, rows) in [MESSAGES, CHANGED].into_iter().enumerate() {
        let took_by = took[pull]
            .each_ref()
            .map(|took| median(took.iter().copied()));
        let gain = took_by[1] / took_by[0];
        for (side, name) in SIDES.into_iter().enumerate() {
            table.row([
                PULLS[pull].into(),
                name.into(),
                count(rows as f64 / took_by[side]),
                seconds(took_by[side]),
                times(took_by[1] / took_by[side]),
            ]);
        }
        report.aim(
            format!(
                "rows a second of a pull that is {} at least three times the peer's",
                PULLS[pull]
            ),
            format!("{gain:.2} times"),
            gain >= LEAST_TIMES,
        );
    }
    report.table(table);
    report.note("The bodies of both sides were compared: the same but for their cursors. Every pull gave all its rows.");
    report
}
