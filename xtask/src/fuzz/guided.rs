//! The same tests with libFuzzer: built so that they tell which code an input reached.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use super::Plan;
use crate::failure::{Context, Failure};
use crate::install::Install;
use crate::{process, repository};

/// What makes a build tell which code was reached, and what was compared with what.
/// Libraries of C are left as they are.
const FLAGS: &str = "--cfg fuzzing_libfuzzer -Cpasses=sancov-module \
    -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
    -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares";

/// Bytes of an input, which stand for chance and not for the input's own bytes.
const LONGEST: usize = 4_096;

/// Seconds after which an input has hung.
const HANGS: u64 = 60;

pub fn run(plan: &Plan, install: Install) -> Result<(), Failure> {
    if process::find("c++").is_none() {
        install.debian(&["g++"], "to build libFuzzer")?;
    }
    let mut tried = 0;
    for program in build()? {
        let listed = process::output(Command::new(&program).args(["--list", "--format", "terse"]))?;
        let tests = listed
            .lines()
            .filter_map(|line| line.strip_suffix(": test"));
        for test in tests.filter(|test| test.contains(&plan.word)) {
            one(plan, &program, test)?;
            tried += 1;
        }
    }
    match tried {
        0 => Err(Failure::new(format!(
            "no test has `{}` in its name",
            plan.word
        ))),
        _ => Ok(()),
    }
}

/// One test for its time, from what was learned before.
fn one(plan: &Plan, program: &PathBuf, test: &str) -> Result<(), Failure> {
    let name = test.rsplit("::").next().unwrap_or(test);
    let folder = folder();
    let corpus = folder.join("corpus").join(name);
    fs::create_dir_all(&corpus).context(format!("creating {}", corpus.display()))?;
    let log = folder.join(format!("{name}.log"));
    let file = fs::File::create(&log).context(format!("creating {}", log.display()))?;
    let errors = file.try_clone().context("a second way to the log")?;
    // The words are parted at spaces: paths are from the folder of this.
    let arguments = format!(
        "corpus/{name} -artifact_prefix={name}- -max_total_time={} -max_len={LONGEST} -timeout={HANGS} -seed={} -print_final_stats=1",
        plan.seconds,
        // It takes 32 bits, and 0 for none given.
        (plan.seed & u64::from(u32::MAX)).max(1),
    );
    let status = Command::new(program)
        .args([test, "--exact", "--nocapture", "--test-threads", "1"])
        .env("BOLERO_LIBFUZZER_ARGS", arguments)
        .current_dir(&folder)
        .stdout(file)
        .stderr(errors)
        .status()
        .context(format!("starting {}", program.display()))?;
    let said = fs::read(&log).context(format!("reading {}", log.display()))?;
    let said = String::from_utf8_lossy(&said);
    if !status.success() {
        let last = said.lines().rev().take(60).collect::<Vec<_>>();
        let last = last.into_iter().rev().collect::<Vec<_>>().join("\n");
        eprintln!("{last}");
        return Err(Failure::new(format!(
            "{name} failed ({status}); all that it said is in {}",
            log.display()
        )));
    }
    println!("{name}: {}, seed {}", told(&said, plan.seconds), plan.seed);
    Ok(())
}

/// What libFuzzer says at its end, in our words.
fn told(said: &str, seconds: u64) -> String {
    let after = |mark: &str| {
        let (_, rest) = said.rsplit_once(mark)?;
        let digits = rest.trim_start();
        digits.split(|sign: char| !sign.is_ascii_digit()).next()
    };
    let inputs = after("stat::number_of_executed_units:").unwrap_or("no");
    let places = after("cov:").unwrap_or("no");
    format!("{inputs} inputs in {seconds} s, {places} places in the code reached")
}

/// The programs of the packages' own tests, in a folder of their own.
fn build() -> Result<Vec<PathBuf>, Failure> {
    let version = process::output(Command::new("rustc").arg("-vV"))?;
    let triple = version
        .lines()
        .find_map(|line| line.strip_prefix("host: "))
        .ok_or_else(|| Failure::new("rustc does not tell its triple"))?;
    let mut command = repository::cargo();
    command
        .args(["test", "--workspace", "--lib", "--no-run"])
        // With a triple, what runs while it builds is left as it is.
        .args(["--target", triple, "--message-format", "json"])
        .arg("--target-dir")
        .arg(folder())
        .env("RUSTFLAGS", FLAGS)
        // As the tests are, but many more inputs a second.
        .env("CARGO_PROFILE_DEV_OPT_LEVEL", "2");
    eprintln!("building the tests so that they tell which code was reached");
    let told = process::output(&mut command)?;
    Ok(told
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .filter(|line| line["profile"]["test"] == true)
        .filter_map(|line| line["executable"].as_str().map(PathBuf::from))
        .collect())
}

fn folder() -> PathBuf {
    repository::target().join("fuzz")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_libfuzzer_says_is_told_in_short() {
        let said = "#2\tINITED cov: 7 ft: 8\n#90\tNEW    cov: 123 ft: 456\nDone 4711 runs in 3 second(s)\nstat::number_of_executed_units: 4711\nstat::average_exec_per_sec: 1570\n";
        assert_eq!(
            told(said, 3),
            "4711 inputs in 3 s, 123 places in the code reached"
        );
        assert_eq!(
            told("", 3),
            "no inputs in 3 s, no places in the code reached"
        );
    }
}
