//! Inputs by chance for longer than a test run has time for: every test whose name begins
//! with `fuzz_`, one after the other.

mod guided;

use std::hash::{BuildHasher as _, Hasher as _, RandomState};

use crate::args::Args;
use crate::failure::Failure;
use crate::install::Install;
use crate::{process, repository};

pub const HELP: &str = "\
Tries inputs by chance at what reads them: bodies, heads, cursors, templates, components.
Runs every test whose name begins with fuzz_, one after the other; each tells how many
inputs it tried. What fails is told with its seed and its input, made small.

    cargo xtask fuzz [--guided] [--minutes N] [--seconds N] [--seed N] [--no-install] [WORD]

    --guided       libFuzzer makes the inputs, and goes on from those that reached new
                   code: other builds, which take some ten minutes the first time (needs a
                   C++ compiler). What it learned is in target/fuzz/corpus for the next run
    --minutes N    of each test, 1 unless given
    --seconds N    the same in seconds
    --seed N       what chance begins with, another one in each run unless given
    --no-install   never install anything; say what is missing
    WORD           only tests with this in their names, as fuzz_cursors
";

/// What is tried.
struct Plan {
    /// Of each test.
    seconds: u64,
    seed: u64,
    /// Part of a test's name.
    word: String,
}

pub fn run(mut args: Args) -> Result<(), Failure> {
    let install = Install::from_args(&mut args);
    let is_guided = args.flag("--guided");
    let minutes = number("--minutes", args.value("--minutes")?)?;
    let seconds = number("--seconds", args.value("--seconds")?)?;
    let seed = number("--seed", args.value("--seed")?)?;
    let word = match args.words()?.as_slice() {
        [] => "fuzz_".to_owned(),
        [word] if word.starts_with("fuzz_") => word.clone(),
        _ => return Err(Failure::new("one word is taken, which begins with fuzz_")),
    };
    let plan = Plan {
        seconds: seconds.unwrap_or_else(|| 60 * minutes.unwrap_or(1)),
        seed: seed.unwrap_or_else(|| RandomState::new().build_hasher().finish()),
        word,
    };
    let Plan { seed, .. } = plan;
    eprintln!("seed {seed}; `cargo xtask fuzz --seed {seed}` begins with the same inputs");
    let tried = match is_guided {
        true => guided::run(&plan, install),
        false => by_chance(&plan),
    };
    tried.map_err(|failure| {
        failure.hint("the input that failed is told above: mend it, with a plain test of it")
    })
}

fn by_chance(plan: &Plan) -> Result<(), Failure> {
    let mut command = repository::cargo();
    command
        // The tests of a binary against real parts have none of them.
        .args(["test", "--workspace", "--lib", "--no-fail-fast", "--"])
        .args([&plan.word, "--nocapture", "--test-threads", "1"])
        .env("LEADHOST_FUZZ_SECONDS", plan.seconds.to_string())
        .env("LEADHOST_FUZZ_SEED", plan.seed.to_string());
    process::run(&mut command)
}

fn number(name: &str, text: Option<String>) -> Result<Option<u64>, Failure> {
    text.map(|text| text.parse())
        .transpose()
        .map_err(|_| Failure::new(format!("{name} needs a whole number")))
}
