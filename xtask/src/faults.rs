//! Injects faults that the service must withstand, and writes the measurements into
//! `docs/reliability.md`.

mod build;
mod page;
mod table;

use std::fs;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

use crate::args::Args;
use crate::failure::{Context, Failure};
use crate::install::Install;
use crate::postgres::{self, Postgres};
use crate::{plugins, process, repository};
use build::{Before, Built};
use page::{Figure, Outcome, Page};
use table::{ROWS, Row, SECONDS, Tries};

pub const HELP: &str = "\
Injects faults into the release build and writes the measurements into docs/reliability.md.
Runs the tests of each row one after the other, within 40 minutes in total.

    cargo xtask faults [--usual] [--before COMMIT=PROGRAM] [--no-install] [ROW..]

    ROW            kills, sync, full, and so on: measures only these and leaves the other
                   rows of the page unchanged; an unknown one lists them all
    --usual        with the sizes of a usual test run
    --no-install   never install anything; report what is missing

A size set in the environment takes precedence (LEADHOST_KILLS=1000). The output of the
tests is in target/faults, one file for each row. The rolling upgrade starts from the build
before the newest schema change, which is taken from the repository's history and built
once, or from the build that --before names.
";

/// Runs the task with its arguments: measures rows and writes their lines, or checks the table.
pub fn run(mut args: Args) -> Result<(), Failure> {
    let install = Install::from_args(&mut args);
    let usual = args.flag("--usual");
    let before = args.value("--before")?;
    let before = before.as_deref().map(Before::named).transpose()?;
    let chosen = chosen(&args.words()?)?;
    let page = Page::read()?;
    let without_postgres = postgres::prepare(install, Postgres::IfItCanBeHad)?;
    plugins::build_all(install)?;
    plugins::build_test_guests(install)?;
    if let Err(failure) = plugins::build_guest_with_wasi(install) {
        eprintln!("LEFT OUT: a guest with WASI: {failure}");
    }
    let is_chosen = |key: &str| chosen.iter().any(|row| row.key == key);
    let built = Built::new(before, is_chosen("upgrade"), is_chosen("fuzz"))?;
    let day = process::output(Command::new("date").args(["-u", "+%F"]))?;

    let end = Instant::now() + Duration::from_secs(SECONDS);
    let mut lines = Vec::new();
    let (mut failed, mut not_whole) = (Vec::new(), Vec::new());
    for row in chosen {
        let started = Instant::now();
        let within = Duration::from_secs(row.seconds).min(end.saturating_duration_since(started));
        let outcome = if within.is_zero() {
            let why = format!("the other rows took the {} minutes", SECONDS / 60);
            Outcome {
                figures: Vec::new(),
                failures: Vec::new(),
                left_out: vec![why],
            }
        } else {
            attempt(row, &built, usual, within)?
        };
        let line = page::line(row, &outcome, &built.commit, day.trim());
        eprintln!(
            "{:>12} {} ({} s)",
            row.key,
            line,
            started.elapsed().as_secs()
        );
        if !outcome.failures.is_empty() {
            failed.push(row.key);
        } else if !outcome.left_out.is_empty() {
            not_whole.push(row.key);
        }
        lines.push((row.key, line));
        // Written at once, so that measurements are kept if a later row is interrupted.
        page.write(ROWS, &lines)?;
    }
    postgres::sweep();
    if let Some(sentence) = without_postgres {
        eprintln!("LEFT OUT: {sentence}");
    }
    if !failed.is_empty() {
        return Err(Failure::new(format!("rows failed: {}", failed.join(", ")))
            .hint("the output of their tests is in target/faults"));
    }
    if !not_whole.is_empty() {
        let rows = not_whole.join(", ");
        return Err(Failure::new(format!("parts of rows were not run: {rows}"))
            .hint("the page says why; CI refuses it until they are measured, here or elsewhere"));
    }
    Ok(())
}

/// Returns the rows of these keys, or all of them if none is named.
fn chosen(keys: &[String]) -> Result<Vec<&'static Row>, Failure> {
    if let Some(unknown) = keys
        .iter()
        .find(|key| ROWS.iter().all(|row| row.key != **key))
    {
        let known: Vec<_> = ROWS.iter().map(|row| row.key).collect();
        return Err(Failure::new(format!("there is no row `{unknown}`"))
            .hint(format!("the rows are {}", known.join(", "))));
    }
    let is_chosen = |row: &&Row| keys.is_empty() || keys.iter().any(|key| key == row.key);
    Ok(ROWS.iter().filter(is_chosen).collect())
}

/// Checks that the table is complete: its tests are among these, and the page has its figures.
pub fn check(there: &[String]) -> Result<(), Failure> {
    let page = Page::read()?;
    let mut wrong = Vec::new();
    for row in ROWS {
        if let Tries::Tests(tests) = row.tries {
            let missing = tests
                .iter()
                .filter(|test| !there.iter().any(|one| one == *test));
            wrong.extend(missing.map(|test| format!("{}: there is no test {test}", row.key)));
        }
        wrong.extend(page.fault_of(row).map(|why| format!("{}: {why}", row.key)));
    }
    let strays = page.strays(ROWS);
    wrong.extend(strays.iter().map(|line| format!("unknown row: {line}")));
    match wrong.is_empty() {
        true => Ok(()),
        false => Err(
            Failure::new(format!("the table of faults:\n  {}", wrong.join("\n  ")))
                .hint("cargo xtask faults ROW.. measures rows and writes their lines"),
        ),
    }
}

/// Runs the tests of a row, and reads their figures.
fn attempt(row: &Row, built: &Built, usual: bool, within: Duration) -> Result<Outcome, Failure> {
    let folder = folder();
    let figures_file = folder.join(format!("{}.figures", row.key));
    let said = folder.join(format!("{}.log", row.key));
    fs::write(&figures_file, "").context(format!("writing {}", figures_file.display()))?;
    let log = fs::File::create(&said).context(format!("creating {}", said.display()))?;
    let errors = log.try_clone().context("a second way to the log")?;
    let mut command = match row.tries {
        Tries::Tests(names) => {
            let mut command = Command::new(&built.tests);
            command
                .current_dir(repository::root().join("tests"))
                // One after the other, so that measurements do not disturb each other.
                .args(["--exact", "--nocapture", "--test-threads", "1"])
                .args(names);
            command
        }
        Tries::Fuzz => {
            let own = std::env::current_exe().context("finding the program of this task")?;
            let mut command = Command::new(own);
            command.args(["fuzz", "--seconds", table::FUZZ_SECONDS]);
            command
        }
    };
    command
        .env("LEADHOST_FIGURES", &figures_file)
        .env("LEADHOST_PROGRAM", &built.program)
        .stdin(Stdio::null())
        .stdout(log)
        .stderr(errors)
        .process_group(0);
    if let Some(before) = &built.before {
        command.env("LEADHOST_PROGRAM_BEFORE", &before.program).env(
            "LEADHOST_BUILDS",
            format!("{} to {}", before.commit, built.commit),
        );
    }
    if !usual {
        let unset = |(name, _): &(&str, &str)| std::env::var_os(name).is_none();
        command.envs(row.sizes.iter().copied().filter(unset));
    }
    let mut failures = Vec::new();
    match run_within(command, within)? {
        Some(true) => {}
        Some(false) => failures.extend(failed_tests(&said)),
        None => failures.push(format!("not finished after {} s", within.as_secs())),
    }
    let text = fs::read(&said).context(format!("reading {}", said.display()))?;
    let said_text = String::from_utf8_lossy(&text);
    let mut left_out: Vec<_> = said_text
        .lines()
        .filter_map(|line| line.split_once("LEFT OUT: "))
        .map(|(_, why)| why.to_owned())
        .collect();
    left_out.dedup();
    let text =
        fs::read_to_string(&figures_file).context(format!("reading {}", figures_file.display()))?;
    let figures = text
        .lines()
        .map(Figure::read)
        .collect::<Result<Vec<_>, _>>()?;
    let mut figures: Vec<_> = figures
        .into_iter()
        .filter(|figure| figure.fault == row.key)
        .collect();
    if matches!(row.tries, Tries::Fuzz) {
        figures.extend(Figure::from_fuzz_output(&said_text));
    }
    if figures.is_empty() && left_out.is_empty() && failures.is_empty() {
        failures.push("its tests reported no figure".to_owned());
    }
    Ok(Outcome {
        figures,
        failures,
        left_out,
    })
}

/// Returns the tests that a log names as failed.
fn failed_tests(said: &Path) -> Vec<String> {
    let text = fs::read(said).unwrap_or_default();
    let text = String::from_utf8_lossy(&text).into_owned();
    let mut failed: Vec<_> = text
        .rsplit_once("\nfailures:\n")
        .map_or("", |(_, names)| names)
        .lines()
        .map(str::trim)
        .take_while(|name| !name.is_empty())
        .map(|name| name.rsplit("::").next().unwrap_or(name).to_owned())
        .collect();
    if failed.is_empty() {
        failed.push("its test program stopped before the last test".to_owned());
    }
    failed
}

/// Waits for the tests. Returns whether they passed; `None` if they had to be killed.
fn run_within(mut command: Command, within: Duration) -> Result<Option<bool>, Failure> {
    let mut child = command.spawn().context("starting the tests")?;
    let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let (sender, ended) = mpsc::channel();
    let waits = std::thread::spawn(move || {
        // The receiver is gone if the tests were killed.
        let _ = sender.send(child.wait());
    });
    let outcome = ended.recv_timeout(within);
    if outcome.is_err()
        && let Some(group) = group
    {
        // Including the services that they started.
        let _ = kill_process_group(group, Signal::KILL);
    }
    let _ = waits.join();
    match outcome {
        Ok(status) => Ok(Some(status.context("waiting for the tests")?.success())),
        Err(_) => Ok(None),
    }
}

fn folder() -> PathBuf {
    repository::target().join("faults")
}
