//! Inputs by chance for longer than a test run has time for: every test whose name begins
//! with `fuzz_`, one after the other.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};

use crate::args::Args;
use crate::failure::Failure;
use crate::{process, repository};

pub const HELP: &str = "\
Tries inputs by chance at what reads them: bodies, heads, cursors, templates, components.
Runs every test whose name begins with fuzz_, one after the other; each tells how many
inputs it tried. What fails is told with its seed and its input, made small.

    cargo xtask fuzz [--minutes N] [--seconds N] [--seed N] [WORD]

    --minutes N    of each test, 1 unless given
    --seconds N    the same in seconds
    --seed N       what chance begins with, another one in each run unless given
    WORD           only tests with this in their names, as fuzz_cursors
";

pub fn run(mut args: Args) -> Result<(), Failure> {
    let minutes = number("--minutes", args.value("--minutes")?)?;
    let seconds = number("--seconds", args.value("--seconds")?)?;
    let seed = number("--seed", args.value("--seed")?)?;
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
        // The tests of a binary against real parts have none of them.
        .args(["test", "--workspace", "--lib", "--no-fail-fast", "--"])
        .args([&word, "--nocapture", "--test-threads", "1"])
        .env("LEADHOST_FUZZ_SECONDS", seconds.to_string())
        .env("LEADHOST_FUZZ_SEED", seed.to_string());
    process::run(&mut command).map_err(|failure| {
        failure.hint("the input that failed is told above: mend it, with a plain test of it")
    })
}

fn number(name: &str, text: Option<String>) -> Result<Option<u64>, Failure> {
    text.map(|text| text.parse())
        .transpose()
        .map_err(|_| Failure::new(format!("{name} needs a whole number")))
}
