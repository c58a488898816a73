//! The tasks of the repository, one file each. `cargo xtask <task> --help`
//! describes a task; this file only selects one.
//!
//! Rules: a task works from any folder inside the repository; it announces what
//! it installs, and `--no-install` forbids installing; a failure says what to
//! do.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command-line program speaks on its standard streams"
)]

use std::process::ExitCode;

mod api;
mod args;
mod bad_deploy;
mod bench;
mod browser;
mod client;
mod clients;
mod component;
mod console;
mod deny;
mod deploy;
mod failure;
mod faults;
mod files;
mod fleet;
mod fuzz;
mod guests;
mod install;
mod javascript;
mod languages;
mod monitoring;
mod openapi;
mod plugins;
mod postgres;
mod process;
mod python;
mod registry;
mod repository;
mod run;
mod serve_double;
mod service;
mod test;
mod wait;
mod wasm_target;
mod wit;

use args::Args;
use failure::Failure;

/// What a task is: its name, a line about it, its help, and how it runs.
type Task = (
    &'static str,
    &'static str,
    &'static str,
    fn(Args) -> Result<(), Failure>,
);

#[rustfmt::skip]
const TASKS: &[Task] = &[
    ("run", "builds everything and starts the service with a demo workspace", run::HELP, run::run),
    ("fleet", "starts two hosts on one PostgreSQL database behind a load balancer", fleet::HELP, fleet::run),
    ("bad-deploy", "deploys wrong converters, has them stopped, and repairs what they did", bad_deploy::HELP, bad_deploy::run),
    ("monitoring", "starts Prometheus on the demo, and shows an alert that fires and clears", monitoring::HELP, monitoring::run),
    ("test", "builds everything, and runs the tests in one of two sizes", test::HELP, test::run),
    ("t", "builds what changed, and runs the tests with a word in their names", test::ONLY_HELP, test::run_only),
    ("suite", "runs suites that use the built service from outside", test::SUITE_HELP, test::run_suites),
    ("fuzz", "feeds random inputs to the parsers, for as long as you set", fuzz::HELP, fuzz::run),
    ("plugins", "builds the plugins as components into target/plugins", plugins::HELP, plugins::run),
    ("guests", "builds the JavaScript and Python examples into target/guests", guests::HELP, guests::run),
    ("wit", "checks or writes the contract as one file", wit::HELP, wit::run),
    ("openapi", "writes the digest of the OpenAPI documents", openapi::HELP, openapi::run),
    ("bench", "measures the service next to a Node peer", bench::HELP, bench::run),
    ("faults", "injects faults into the service, and writes docs/reliability.md", faults::HELP, faults::run),
    ("double", "starts a double of a provider or a lead source on the loopback interface", serve_double::HELP, serve_double::run),
];

fn help() -> String {
    let lines = TASKS.iter();
    let lines: String = lines
        .map(|(name, about, ..)| format!("    {name:<12}{about}\n"))
        .collect();
    format!(
        "The tasks of this repository.\n\n    cargo xtask <task> [arguments]\n\nTasks:\n{lines}\n    Run cargo xtask <task> --help for more.\n"
    )
}

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let Some(task) = arguments.next() else {
        eprint!("{}", help());
        return ExitCode::from(2);
    };
    match dispatch(&task, arguments.collect()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("\nxtask {task}: {failure}");
            ExitCode::from(failure.code())
        }
    }
}

fn dispatch(task: &str, rest: Vec<String>) -> Result<(), Failure> {
    if let "help" | "--help" | "-h" = task {
        print!("{}", help());
        return Ok(());
    }
    let Some((.., help, run)) = TASKS.iter().find(|(name, ..)| *name == task) else {
        return Err(Failure::usage(format!("there is no task `{task}`"))
            .hint("cargo xtask --help lists them"));
    };
    let args = Args::new(rest);
    if args.asks_for_help() {
        print!("{help}");
        return Ok(());
    }
    run(args)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_usage_has_a_code_of_its_own() {
        let check = |task: &str, words: &[&str]| {
            let words = words.iter().map(|word| (*word).to_owned()).collect();
            let failure = dispatch(task, words).expect_err("it is refused");
            assert_eq!(failure.code(), 2, "{failure}");
        };
        check("nosuch", &[]);
        check("double", &["nosuch"]);
        assert_eq!(Failure::new("it failed").code(), 1);
    }
}
