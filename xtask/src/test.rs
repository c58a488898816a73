//! All tests, after one build of everything that they run: the plugins, the misbehaving guests, the tests
//! and the service. Then the suites that use the built service from outside.

mod choice;
mod harness;
pub mod programs;
mod report;

use std::num::NonZero;

use crate::args::Args;
use crate::console::Guide;
use crate::failure::{Context as _, Failure};
use crate::install::Install;
use crate::postgres::{self, Postgres};
use crate::{
    api, bad_deploy, clients, console, deny, deploy, faults, files, guests, languages, monitoring,
    plugins, registry, repository,
};
use choice::Choice;
use harness::{Call, Ran};
use programs::Programs;
use report::Report;

pub const HELP: &str = "\
Builds the plugins, the guests, the tests and the service, and runs the tests in one of two sizes.

    cargo xtask test [--full] [--no-install]

    (no flag)      all unit tests; each promise of the store on SQLite and on PostgreSQL; the other
                   integration tests on SQLite, and on PostgreSQL where that differs; and of each
                   suite from outside what needs no registry
    --full         every test on both stores at full size, and all suites of `cargo xtask suite`
                   but `image`. Ends with 1 if anything was left out. Needs the registries of npm and Python
    --no-install   never install anything; report what is missing

The last lines say for each suite what passed, failed and was left out, its minutes, and which tests
took longest. Several tests run at once on each core, because they wait more than they compute; set
RUST_TEST_THREADS to change that.

The tests on PostgreSQL use the server that LEADHOST_TEST_POSTGRES_URL names; otherwise a server on
the local default port that allows them to create databases; otherwise a private one, which they
start from the installed programs. If none is available, Debian's package is installed if that is
allowed; otherwise those tests are left out, or, with LEADHOST_REQUIRE_POSTGRES=1, the run fails.
Debian's docker-registry is installed in the same way, for the tests of plugins in registries.
";

pub const ONLY_HELP: &str = "\
Builds what changed, and runs the tests whose names contain one of the words.

    cargo xtask t [--unit] [--full] WORD..

    (no flag)      the integration tests of tests/it
    --unit         the unit tests of all crates
    --full         at full size

Run `cargo xtask test` or `cargo xtask plugins` once before; `cargo xtask guests` builds the guests in
JavaScript and Python.
";

pub const SUITE_HELP: &str = "\
Runs suites that use the built service from outside, each whole. `cargo xtask test --full` runs all of
them but `image`.

    cargo xtask suite [--no-install] [--write-screens] SUITE..

    dependencies   their licences, versions and origins are as deny.toml allows (cargo-deny)
    bad-deploy     the scenario of examples/bad-deploy, on both stores
    monitoring     Prometheus reads the metrics, and an alert fires and clears
    languages      the projects that `leadhost plugin new` writes, in every language, and the examples
                   in C and Zig (about 3 GB in target/languages)
    api            schemathesis, clients that generators make from the document, and the page /docs in
                   a Chromium without a network
    console        the tasks of an operator's day in the console, in Chromium, on both stores;
                   --write-screens writes the screens of docs/console.md
    clients        Airbyte, dlt, Singer and Meltano pull from the service, on both stores
    image          the container image of examples/deploy, which takes many minutes (needs podman,
                   buildah or docker)
";

/// The number of concurrent tests for each core. Tests wait for the disk, for other
/// processes and for real clocks: with one test for each core, two cores are idle
/// half of the time, and with many more, tests wait for each other.
const TESTS_PER_CORE: usize = 4;

/// The share of the long tests, which start first in a process of their own.
const LONG_SHARE: usize = 3;

const THREADS: &str = "RUST_TEST_THREADS";
const REQUIRE_POSTGRES: &str = "LEADHOST_REQUIRE_POSTGRES";

pub fn run(mut args: Args) -> Result<(), Failure> {
    let install = Install::from_args(&mut args);
    let is_full = args.flag("--full");
    args.nothing_more()?;
    let mut report = Report::default();
    let outcome = run_all(install, is_full, &mut report);
    report.print();
    outcome?;
    report.judge(is_full)
}

fn run_all(install: Install, is_full: bool, report: &mut Report) -> Result<(), Failure> {
    // Both use both cores, but each waits for one compiler at times.
    let (components, programs) = std::thread::scope(|scope| {
        let components = scope.spawn(|| report::timed(|| build_components(install)));
        let programs = report::timed(|| programs::build(programs::ALL_TESTS));
        let components = components.join().expect("a build does not panic");
        (components, programs)
    });
    report.step("components", components)?;
    let programs = report.step("build", programs)?;

    let is_required = std::env::var_os(REQUIRE_POSTGRES).is_some_and(|value| value == "1");
    let need = if is_required || is_full {
        Postgres::Required
    } else {
        Postgres::IfItCanBeHad
    };
    report.left_out(deploy::verify_unit()?);
    let without_postgres = report.step(
        "PostgreSQL",
        report::timed(|| postgres::prepare(install, need)),
    )?;
    let has_postgres = without_postgres.is_none();
    report.left_out(without_postgres);
    let without_registry = registry::prepare(install);
    let has_registry = without_registry.is_none();
    report.left_out(without_registry);
    if is_full {
        let left_out = report.step(
            "guests in other languages",
            report::timed(|| guests::build(install)),
        )?;
        report.left_out(left_out);
    }

    let leadhost = programs.leadhost.display().to_string();
    let unable = repository::target().join("tmp/left-out");
    files::write_if_changed(&unable, b"")?;
    let unable_text = unable.display().to_string();
    let mut variables = vec![
        ("LEADHOST_PROGRAM", leadhost.as_str()),
        ("LEADHOST_TEST_BUILT", "1"),
        ("LEADHOST_TEST_LEFT_OUT", unable_text.as_str()),
    ];
    if has_postgres {
        variables.push((REQUIRE_POSTGRES, "1"));
    }
    if has_registry {
        variables.push(("LEADHOST_REQUIRE_REGISTRY", "1"));
    }
    if is_full {
        variables.push(SIZE_FULL);
    }
    let call = Call {
        threads: threads(),
        variables: &variables,
        is_detailed: false,
    };
    let unit = report::timed(|| run_unit(&programs, &[], &call));
    report.tests("unit tests", unit);
    let names = programs.integration.names()?;
    report.suite("table of faults", report::timed(|| faults::check(&names)));
    let choice = choice::choose(names, is_full);
    let integration = report::timed(|| run_integration(&programs, &choice, &variables));
    report.tests("integration tests", integration);
    let unable = std::fs::read_to_string(&unable).context("reading what tests left out")?;
    report.left_out(unable.lines().map(str::to_owned));
    postgres::sweep();
    report.suite("examples of the SDK", report::timed(harness::run_doc_tests));
    if !is_full {
        report.left_to_full("tests on PostgreSQL", choice.left_on_postgres);
        report.left_to_full(
            "tests in JavaScript and Python",
            choice.left_with_interpreters,
        );
    }
    for (name, small, whole) in SUITES {
        match if is_full { Some(whole) } else { small } {
            Some(run) => report.outside(name, report::timed(|| run(install))),
            None => report.left_to_full(name, 0),
        }
    }
    Ok(())
}

fn build_components(install: Install) -> Result<(), Failure> {
    plugins::build_all(install)?;
    plugins::build_test_guests(install)?;
    plugins::build_guest_with_wasi(install)
}

const SIZE_FULL: (&str, &str) = ("LEADHOST_TEST_SIZE", "full");

fn threads() -> usize {
    let set = std::env::var_os(THREADS).and_then(|text| text.to_str()?.parse().ok());
    set.unwrap_or_else(|| {
        TESTS_PER_CORE * std::thread::available_parallelism().map_or(1, NonZero::get)
    })
}

/// Runs the unit tests whose names contain one of the words; all if there is none.
fn run_unit(programs: &Programs, words: &[String], call: &Call<'_>) -> Result<Ran, Failure> {
    let mut all = Ran::default();
    for program in &programs.unit {
        all.add(call.run(program, &matching(program.names()?, words))?);
    }
    Ok(all)
}

/// Runs the long tests beside the others, so that none of them is left alone at the end.
fn run_integration(
    programs: &Programs,
    choice: &Choice,
    variables: &[(&str, &str)],
) -> Result<Ran, Failure> {
    let run = |names, threads| {
        let call = Call {
            threads,
            variables,
            is_detailed: false,
        };
        call.run(&programs.integration, names)
    };
    let threads = threads();
    let of_long = (threads / LONG_SHARE).max(1);
    let (long, other) = std::thread::scope(|scope| {
        let long = scope.spawn(|| run(&choice.long, of_long));
        let other = run(&choice.other, (threads - of_long).max(1));
        (long.join().expect("a run does not panic"), other)
    });
    let mut all = long?;
    all.add(other?);
    Ok(all)
}

fn matching(names: Vec<String>, words: &[String]) -> Vec<String> {
    let matches = |name: &String| words.is_empty() || words.iter().any(|word| name.contains(word));
    names.into_iter().filter(matches).collect()
}

pub fn run_only(mut args: Args) -> Result<(), Failure> {
    let is_unit = args.flag("--unit");
    let is_full = args.flag("--full");
    let words = args.words()?;
    if words.is_empty() {
        return Err(Failure::usage("no test is named").hint("cargo xtask t --help"));
    }
    let targets = if is_unit {
        programs::ALL_TESTS
    } else {
        programs::INTEGRATION_TESTS
    };
    let programs = programs::build(targets)?;
    let leadhost = programs.leadhost.display().to_string();
    let mut variables = vec![("LEADHOST_PROGRAM", leadhost.as_str())];
    if is_full {
        variables.push(SIZE_FULL);
    }
    let call = Call {
        threads: threads(),
        variables: &variables,
        is_detailed: true,
    };
    let integration = &programs.integration;
    let ran = if is_unit {
        run_unit(&programs, &words, &call)?
    } else {
        call.run(integration, &matching(integration.names()?, &words))?
    };
    if ran.passed + ran.failed == 0 {
        return Err(
            Failure::new(format!("no test has {} in its name", words.join(" or "))).hint(
                "without --unit only the tests of tests/it are searched, with it only the others",
            ),
        );
    }
    eprintln!("{} passed, {} failed", ran.passed, ran.failed);
    match ran.failed {
        0 => Ok(()),
        _ => Err(Failure::new(ran.faults.join("\n"))),
    }
}

/// A suite that uses the service from outside: its name, what of it needs no registry, and the whole. Both
/// functions return what was left out.
type Suite = (&'static str, Option<SuiteRun>, SuiteRun);

type SuiteRun = fn(Install) -> Result<Vec<String>, Failure>;

const SUITES: [Suite; 7] = [
    ("dependencies", Some(deny::check), deny::check),
    (
        "bad-deploy",
        Some(bad_deploy::on_sqlite),
        bad_deploy::on_both,
    ),
    (
        "monitoring",
        Some(monitoring::check_files),
        monitoring::test,
    ),
    ("languages", None, languages::test),
    ("api", None, api::test),
    ("console", Some(console::glance), |install| {
        console::test(install, Guide::Left)
    }),
    ("clients", None, clients::test),
];

pub fn run_suites(mut args: Args) -> Result<(), Failure> {
    let install = Install::from_args(&mut args);
    let guide = if args.flag("--write-screens") {
        Guide::Written
    } else {
        Guide::Left
    };
    let names = args.words()?;
    let find = |name: &str| SUITES.iter().find(|suite| suite.0 == name);
    let is_unknown = |name: &&String| name.as_str() != "image" && find(name).is_none();
    let unknown = names.iter().find(is_unknown);
    if names.is_empty() || unknown.is_some() {
        let what = unknown.map_or("no suite is named".to_owned(), |unknown| {
            format!("there is no suite `{unknown}`")
        });
        return Err(Failure::usage(what).hint("cargo xtask suite --help lists them"));
    }
    let mut report = Report::default();
    for name in &names {
        let outcome = report::timed(|| match find(name) {
            Some(("console", ..)) => console::test(install, guide),
            Some((.., whole)) => whole(install),
            None => deploy::build_image().map(|()| Vec::new()),
        });
        report.outside(name, outcome);
    }
    report.print();
    report.judge(true)
}
