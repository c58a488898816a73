//! Benchmarks: builds the service, the plugins and the benchmarks in release,
//! installs the peer, and runs the figures.

use std::process::Command;

use crate::args::Args;
use crate::failure::{Context, Failure};
use crate::install::Install;
use crate::{guests, javascript, languages, plugins, process, repository};
use xtask::postgres_programs::Binaries;

pub const HELP: &str = "\
Measures the service next to a Node peer, and writes bench/results.

    cargo xtask bench [--seconds N] [--rounds N] [--no-install] [FIGURE..]
    cargo xtask bench [--seconds N] [--rows ROW,..] [--no-install] neighbours
    cargo xtask bench [--deliveries N] [--no-install] console
    cargo xtask bench [--no-install] languages

    FIGURE         conversion, guests, ingest, ingest-postgres, export,
                   export-peer, export-stores, swap, swap-fleet, rollout, start, memory, messages,
                   search, deals, analytics, console, traces, neighbours; default all of them
    languages      alone: the project that `leadhost plugin new` writes in each language;
                   installs their toolchains, and writes the table of docs/integrators.md
    --seconds N    length of one round of load, default 8
    --rounds N     number of alternating rounds, default 3
    --rows ROW,..  only these rows of `neighbours`; an unknown one lists them all
    --deliveries N stored deliveries of `console`, default 1000000
    --no-install   never install anything; report what is missing

    LEADHOST_BENCH_BASELINE=FILE in the environment names another build of the
    service: `ingest`, `ingest-postgres`, `export`, `export-stores` and `memory`
    measure it too, in the same rounds.
";

const AGAINST_NODE: [&str; 3] = ["ingest", "ingest-postgres", "export-peer"];

const BESIDE_GUESTS: [&str; 1] = ["neighbours"];

/// The figures that need the example converters in Python and JavaScript, and these.
const SLOW_GUESTS: [&str; 1] = ["guests"];
const FORM_GUESTS: [&str; 2] = ["example-form-py.wasm", "example-form-js.wasm"];

/// The figures that need a PostgreSQL server.
const ON_POSTGRES: [&str; 5] = [
    "ingest-postgres",
    "export-stores",
    "swap-fleet",
    "search",
    "deals",
];

pub fn run(mut args: Args) -> Result<(), Failure> {
    let install = Install::from_args(&mut args);
    let seconds = args.value("--seconds")?;
    let rounds = args.value("--rounds")?;
    let rows = args.value("--rows")?;
    let deliveries = args.value("--deliveries")?;
    let figures = args.words()?;
    if figures == ["languages"] {
        return languages::measure::run(install);
    }
    if figures.iter().any(|figure| figure == "languages") {
        return Err(Failure::usage("`languages` is measured alone")
            .hint("call the task once with `languages`, and once with the others"));
    }

    plugins::build_all(install)?;
    process::run(repository::cargo().args([
        "build",
        "--release",
        "-p",
        "leadhost-bench",
        "-p",
        "leadhost",
    ]))?;
    let folder = repository::root().join("bench");
    let some_of = |those: &[&str]| {
        figures.is_empty()
            || figures
                .iter()
                .any(|figure| those.contains(&figure.as_str()))
    };
    if some_of(&ON_POSTGRES) && Binaries::find().is_err() {
        install.debian(&["postgresql"], "for the figures on PostgreSQL")?;
    }
    if some_of(&AGAINST_NODE) {
        javascript::ensure(install)?;
        // The database is native code, which its package compiles.
        javascript::install_locked(&folder.join("peer-node"), javascript::Scripts::Run)
            .context("installing the peer in Node")?;
    }
    if some_of(&BESIDE_GUESTS) {
        plugins::build_test_guests(install)?;
        let python = guests::build_some(install, &["misbehave-py.wasm".to_owned()]);
        let wasi = plugins::build_guest_with_wasi(install);
        // The figure continues without the rows that need them, and reports that.
        let left_out = python.unwrap_or_else(|failure| vec![failure.to_string()]);
        let wasi = wasi.err().map(|failure| failure.to_string());
        for left_out in left_out.into_iter().chain(wasi) {
            eprintln!("{:>12} {left_out}", "left out");
        }
    }
    if some_of(&SLOW_GUESTS)
        && let Some(left_out) =
            guests::build_some(install, &FORM_GUESTS.map(str::to_owned))?.first()
    {
        return Err(Failure::new(left_out));
    }
    let built = repository::target().join("release");
    let mut command = Command::new(built.join("leadhost-bench"));
    command
        .args(figures)
        .arg("--leadhost")
        .arg(built.join("leadhost"))
        .arg("--plugins")
        .arg(repository::target().join("plugins"))
        .arg("--folder")
        .arg(folder);
    for (flag, value) in [
        ("--seconds", seconds),
        ("--rounds", rounds),
        ("--rows", rows),
        ("--deliveries", deliveries),
    ] {
        if let Some(value) = value {
            command.arg(flag).arg(value);
        }
    }
    process::run(&mut command)
}
