//! The service's memory at rest, with one converter active, on SQLite, and its parts;
//! compared with a baseline if there is one.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::host::Host;
use crate::report::{Cell, Report, Table, time};
use crate::sample::median;
use crate::{Arguments, Build, Failure, round};

/// Memory has settled when it changed by less than [`SLACK`] MiB for so long.
const QUIET: Duration = Duration::from_secs(5);
const SLACK: f64 = 0.25;
const LOOK: Duration = Duration::from_millis(100);
const PATIENCE: Duration = Duration::from_secs(120);

const MOST: f64 = 40.0;
const RESIDENT: &str = "Rss";

/// The kernel's names, and descriptions.
const PARTS: [(&str, &str); 5] = [
    (RESIDENT, "resident"),
    ("Pss", "its share of it"),
    ("Pss_Anon", "of that: memory of its own"),
    ("Pss_File", "of files, its program among them"),
    ("Private_Dirty", "written by it alone"),
];

struct MeasuredBuild<'a> {
    build: Build<'a>,
    folder: tempfile::TempDir,
    /// MiB by part, of each round.
    held: Vec<BTreeMap<String, f64>>,
}

impl<'a> MeasuredBuild<'a> {
    fn begin(arguments: &Arguments, build: Build<'a>) -> Result<Self, Failure> {
        let folder = arguments.scratch()?;
        Host::prepare(arguments, build.program, folder.path(), "")?;
        Ok(Self {
            build,
            folder,
            held: Vec::new(),
        })
    }

    fn part(&self, name: &str) -> f64 {
        median(self.held.iter().filter_map(|held| held.get(name).copied()))
    }
}

pub fn measure(arguments: &Arguments) -> Result<Report, Failure> {
    let mut sides = arguments
        .builds()
        .into_iter()
        .map(|build| MeasuredBuild::begin(arguments, build))
        .collect::<Result<Vec<_>, _>>()?;
    for number in 1..=arguments.rounds {
        for side in &mut sides {
            let host = Host::start(side.build.program, side.folder.path(), "")?;
            let settled = settle(&host)?;
            let held = host.process.mappings()?;
            host.stop()?;
            for (part, _) in PARTS {
                if !held.contains_key(part) {
                    return Err(format!("the kernel does not report `{part}` of a process").into());
                }
            }
            eprintln!(
                "  round {number}: {}: {:.1} MiB, the same since {} after it was ready",
                side.build.name,
                held["Rss"],
                time(settled)
            );
            side.held.push(held);
        }
    }
    Ok(report(arguments, &sides))
}

/// Waits until the memory has settled; returns how long that took.
fn settle(host: &Host) -> Result<Duration, Failure> {
    let begin = Instant::now();
    let (mut held, mut since) = (host.process.memory()?.now, begin);
    while since.elapsed() < QUIET {
        if begin.elapsed() > PATIENCE {
            return Err(format!("its memory still changes after {}", time(PATIENCE)).into());
        }
        std::thread::sleep(LOOK);
        let now = host.process.memory()?.now;
        if (now - held).abs() > SLACK {
            (held, since) = (now, Instant::now());
        }
    }
    Ok(since - begin)
}

fn report(arguments: &Arguments, sides: &[MeasuredBuild<'_>]) -> Report {
    let mut report = Report::new("memory", "Memory at rest, with one converter active");
    let baseline = sides.get(1);
    let resident = sides[0].part(RESIDENT);
    report.aim(
        format!("resident at rest at most {MOST} MiB"),
        format!("{resident:.1} MiB"),
        resident <= MOST,
    );
    let mut columns = vec!["MiB"];
    columns.extend(sides.iter().map(|side| side.build.name));
    columns.extend(baseline.map(|_| "times the baseline"));
    let mut table = Table::new(
        format!(
            "The service on SQLite after a start, with compiled code at hand and no request, once its memory has been the same for {} s. Median of {} alternating rounds:",
            QUIET.as_secs(),
            arguments.rounds
        ),
        &columns.join(" | "),
    );
    for (part, words) in PARTS {
        let each = sides
            .iter()
            .map(|side| format!("{:.1}", side.part(part)).into());
        let times = baseline.map(|baseline| sides[0].part(part) / baseline.part(part));
        let name = Cell::from(format!("{words} (`{part}`)"));
        let cells = std::iter::once(name).chain(each);
        table.row(cells.chain(times.map(Cell::Times)));
    }
    report.table(table);
    report.note("The kernel sums up the parts over all mappings of the process. A page that several processes map counts fully in `Rss`, and by its share in `Pss`.");
    if baseline.is_some() {
        report.note(round::BASELINE);
    }
    report
}
