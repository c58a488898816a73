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

const HELP: &str = "\
The tasks of this repository.

    cargo xtask <task> [arguments]

Tasks:
    run         builds everything and starts the service with a demo workspace
    fleet       starts two hosts on one PostgreSQL database behind a load balancer
    bad-deploy  deploys wrong converters, has them stopped, and repairs what they did
    monitoring  starts Prometheus on the demo, and shows an alert that fires and clears
    test        builds everything, and runs the tests in one of two sizes
    t           builds what changed, and runs the tests with a word in their names
    suite       runs suites that use the built service from outside
    fuzz        feeds random inputs to the parsers, for as long as you set
    plugins     builds the plugins as components into target/plugins
    guests      builds the JavaScript and Python examples into target/guests
    wit         checks or writes the contract as one file, and docs/contract.md
    openapi     writes the OpenAPI documents
    bench       measures the service next to a Node peer
    faults      injects faults into the service, and writes docs/reliability.md
    double      starts a double of a provider or a lead source on the loopback interface

    Run cargo xtask <task> --help for more.
";

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let Some(task) = arguments.next() else {
        eprint!("{HELP}");
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

type Task = fn(Args) -> Result<(), Failure>;

fn dispatch(task: &str, rest: Vec<String>) -> Result<(), Failure> {
    let (help, run): (&str, Task) = match task {
        "run" => (run::HELP, run::run),
        "fleet" => (fleet::HELP, fleet::run),
        "bad-deploy" => (bad_deploy::HELP, bad_deploy::run),
        "monitoring" => (monitoring::HELP, monitoring::run),
        "test" => (test::HELP, test::run),
        "t" => (test::ONLY_HELP, test::run_only),
        "suite" => (test::SUITE_HELP, test::run_suites),
        "fuzz" => (fuzz::HELP, fuzz::run),
        "plugins" => (plugins::HELP, plugins::run),
        "guests" => (guests::HELP, guests::run),
        "wit" => (wit::HELP, wit::run),
        "openapi" => (openapi::HELP, openapi::run),
        "bench" => (bench::HELP, bench::run),
        "faults" => (faults::HELP, faults::run),
        "double" => (serve_double::HELP, serve_double::run),
        "help" | "--help" | "-h" => {
            print!("{HELP}");
            return Ok(());
        }
        other => {
            return Err(Failure::usage(format!("there is no task `{other}`"))
                .hint("cargo xtask --help lists them"));
        }
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
