//! Fuzzing for longer than a test run has time for: every test whose name begins with
//! `fuzz_`, one after the other.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};

use crate::args::Args;
use crate::failure::{Failure, Hint};
use crate::{process, repository};

pub const HELP: &str = "\
Feeds random inputs to the parsers: bodies, request heads, cursors, templates, components.
Runs every test whose name begins with fuzz_, one after the other; each reports how many
inputs it tried. A failure is reported with its seed and a minimised input.

    cargo xtask fuzz [--minutes N] [--seconds N] [--seed N] [WORD]

    --minutes N    time for each test, default 1
    --seconds N    the same in seconds
    --seed N       the seed of the random inputs, default a new one in each run
    WORD           runs only tests with this word in their names, such as fuzz_cursors
";

pub fn run(mut args: Args) -> Result<(), Failure> {
    let minutes = args.number("--minutes")?;
    let seconds = args.number("--seconds")?;
    let seed = args.number("--seed")?;
    let word = match args.words()?.as_slice() {
        [] => "fuzz_".to_owned(),
        [word] if word.starts_with("fuzz_") => word.clone(),
        _ => return Err(Failure::new("one word is taken, which begins with fuzz_")),
    };
    let seconds = seconds.unwrap_or_else(|| 60 * minutes.unwrap_or(1));
    let seed = seed.unwrap_or_else(|| RandomState::new().build_hasher().finish());
    eprintln!("seed {seed}; `cargo xtask fuzz --seed {seed}` tries the same inputs");
    let mut command = repository::cargo();
    command
        // The integration tests have no fuzz tests.
        .args(["test", "--workspace", "--lib", "--no-fail-fast", "--"])
        .args([&word, "--nocapture", "--test-threads", "1"])
        .env("LEADHOST_FUZZ_SECONDS", seconds.to_string())
        .env("LEADHOST_FUZZ_SEED", seed.to_string());
    process::run(&mut command).hint(
        "the failing input is printed above: fix the fault, and add a plain test with this input",
    )
}
