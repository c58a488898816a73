//! Injects faults that the service must withstand, and writes the measurements into
//! `docs/reliability.md`.

mod build;
mod page;
mod table;

use std::fs;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

use crate::args::Args;
use crate::failure::{Context, Failure};
use crate::install::Install;
use crate::postgres::{self, Postgres};
use crate::{files, plugins, process, repository};
use build::Built;
use page::{Figure, Outcome, Page};
use table::{Row, SECONDS};

pub const HELP: &str = "\
Injects faults into the release build and writes the measurements into docs/reliability.md.
Runs the tests of each row one after the other, within 40 minutes in total.

    cargo xtask faults [--no-install] [ROW..]

    ROW            kills, sync, full, and so on: measures only these and leaves the other
                   rows of the page unchanged; an unknown one lists them all
    --no-install   never install anything; report what is missing

A size set in the environment takes precedence (LEADHOST_KILLS=1000). The output of the
tests is in target/faults, one file for each row. The rolling upgrade starts from the build
before the newest schema change, which is taken from the repository's history and built
once.
";

pub fn run(mut args: Args) -> Result<(), Failure> {
    let install = Install::from_args(&mut args);
    let rows = table::rows();
    let chosen = chosen(&rows, &args.words()?)?;
    let page = Page::read()?;
    let without_postgres = postgres::prepare(install, Postgres::IfItCanBeHad)?;
    plugins::build_all(install)?;
    plugins::build_test_guests(install)?;
    if let Err(failure) = plugins::build_guest_with_wasi(install) {
        eprintln!("LEFT OUT: a guest with WASI: {failure}");
    }
    let is_chosen = |key: &str| chosen.iter().any(|row| row.key == key);
    let built = Built::new(is_chosen("upgrade"), is_chosen("fuzz"))?;
    let day = process::output(Command::new("date").args(["-u", "+%F"]))?;

    let end = Instant::now() + Duration::from_secs(SECONDS);
    let mut lines = Vec::new();
    let (mut failed, mut not_whole) = (Vec::new(), Vec::new());
    for row in chosen {
        let key = row.key.as_str();
        let started = Instant::now();
        let within = Duration::from_secs(row.seconds).min(end.saturating_duration_since(started));
        let outcome = if within.is_zero() {
            Outcome {
                left_out: vec![format!("the other rows took the {} minutes", SECONDS / 60)],
                ..Outcome::default()
            }
        } else {
            attempt(row, &built, within)?
        };
        let line = page::line(row, &outcome, &built.commit, day.trim());
        let seconds = started.elapsed().as_secs();
        eprintln!("{key:>12} {line} ({seconds} s)");
        if !outcome.failures.is_empty() {
            failed.push(key);
        } else if !outcome.left_out.is_empty() {
            not_whole.push(key);
        }
        lines.push((key, line));
        // Written at once, so that measurements are kept if a later row is interrupted.
        page.write(&rows, &lines)?;
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

fn chosen<'a>(rows: &'a [Row], keys: &[String]) -> Result<Vec<&'a Row>, Failure> {
    let is_known = |key: &&String| rows.iter().any(|row| row.key == **key);
    if let Some(unknown) = keys.iter().find(|key| !is_known(key)) {
        let known: Vec<_> = rows.iter().map(|row| row.key.as_str()).collect();
        return Err(Failure::new(format!("there is no row `{unknown}`"))
            .hint(format!("the rows are {}", known.join(", "))));
    }
    let is_chosen = |row: &&Row| keys.is_empty() || keys.contains(&row.key);
    Ok(rows.iter().filter(is_chosen).collect())
}

/// Checks that the table is complete: its tests are among these, and the page has its figures.
pub fn check(there: &[String]) -> Result<(), Failure> {
    let (page, rows) = (Page::read()?, table::rows());
    let mut wrong = Vec::new();
    for row in &rows {
        let missing = row.tests.iter().filter(|test| !there.contains(test));
        wrong.extend(missing.map(|test| format!("{}: there is no test {test}", row.key)));
        wrong.extend(page.fault_of(row).map(|why| format!("{}: {why}", row.key)));
    }
    let strays = page.strays(&rows);
    wrong.extend(strays.iter().map(|line| format!("unknown row: {line}")));
    if wrong.is_empty() {
        Ok(())
    } else {
        Err(
            Failure::new(format!("the table of faults:\n  {}", wrong.join("\n  ")))
                .hint("cargo xtask faults ROW.. measures rows and writes their lines"),
        )
    }
}

fn attempt(row: &Row, built: &Built, within: Duration) -> Result<Outcome, Failure> {
    let folder = folder();
    let figures_file = folder.join(format!("{}.figures", row.key));
    let said = folder.join(format!("{}.log", row.key));
    files::write(&figures_file, "")?;
    let log = files::create(&said)?;
    let errors = log.try_clone().context("a second way to the log")?;
    let is_fuzz = row.tests.is_empty();
    let mut command;
    if is_fuzz {
        let own = std::env::current_exe().context("finding the program of this task")?;
        command = Command::new(own);
        command.args(["fuzz", "--seconds", table::FUZZ_SECONDS]);
    } else {
        command = Command::new(&built.tests);
        command
            .current_dir(repository::root().join("tests"))
            // One after the other, so that measurements do not disturb each other.
            .args(["--exact", "--nocapture", "--test-threads", "1"])
            .args(&row.tests);
    }
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
    let sizes = row.sizes.iter().map(|(name, size)| (name, size));
    command.envs(sizes.filter(|(name, _)| std::env::var_os(name).is_none()));
    let mut failures = Vec::new();
    let mut child = command.spawn().context("starting the tests")?;
    match process::wait_within(&mut child, within).context("waiting for the tests")? {
        Some(status) if status.success() => {}
        Some(_) => failures.extend(failed_tests(&said)),
        None => {
            // Including the services that they started.
            let _ = kill_process_group(Pid::from_child(&child), Signal::KILL);
            let _ = child.wait();
            failures.push(format!("not finished after {} s", within.as_secs()));
        }
    }
    let text = files::bytes(&said)?;
    let said_text = String::from_utf8_lossy(&text);
    let left_out = said_text
        .lines()
        .filter_map(|line| line.split_once("LEFT OUT: "));
    let mut left_out: Vec<_> = left_out.map(|(_, why)| why.to_owned()).collect();
    left_out.dedup();
    let figures = files::text(&figures_file)?;
    let figures = figures.lines().map(Figure::read);
    let mut figures = figures.collect::<Result<Vec<_>, _>>()?;
    figures.retain(|figure| figure.fault == row.key);
    if is_fuzz {
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

fn folder() -> PathBuf {
    repository::target().join("faults")
}
