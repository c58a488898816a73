//! All tests, after building everything that they need: the plugins, the
//! misbehaving guests, and on request the guests in other languages; and with a
//! PostgreSQL server, which the tests find by themselves or which is installed. Then the scenarios that
//! run the built service from outside.

use std::num::NonZero;

use crate::args::Args;
use crate::console::Guide;
use crate::failure::Failure;
use crate::install::Install;
use crate::postgres::{self, Postgres};
use crate::repository;
use crate::{
    api, bad_deploy, clients, console, deploy, failed_tests, guests, languages, monitoring,
    plugins, registry,
};

pub const HELP: &str = "\
Builds the plugins and the test guests, then runs all tests of the workspace, the scenario
of `cargo xtask bad-deploy` on both stores, and `cargo xtask monitoring`. If systemd is
installed, it first verifies the unit of examples/deploy.

    cargo xtask test [--guests] [--nightly] [--no-install] [-- ARGUMENTS]
    cargo xtask test [--api] [--browser] [--console [--write-screens]] [--clients] [--image]
                     [--no-install]

    --guests       also builds the JavaScript and Python examples, and then the project that
                   `leadhost plugin new` writes in each language, and runs its tests (needs
                   Python, clang and the registries; Node, Go and Zig come from the Python
                   registry; about 3 GB in target/languages)
    --nightly      runs the sizes that take a night: bad days as long as real ones, two
                   thousand power cuts, and a million row changes while export clients
                   read, on each store
    --api          instead of the tests: schemathesis, and a client that a generator makes
                   from the document, against the built service (needs Python and Node)
    --browser      instead, or with --api: the page /docs in a Chromium without a network
    --console      instead, or with these: the tasks of an operator's day in the console, in a
                   Chromium, on SQLite and PostgreSQL (needs Node)
    --write-screens  with --console: writes the screens of docs/console.md to docs/screens
    --clients      instead, or with these: Airbyte, dlt, Singer and Meltano pull from the built
                   service, on SQLite and PostgreSQL, as in examples/clients (needs Python)
    --image        instead, or with these: builds the image of examples/deploy, which takes
                   many minutes (needs podman, buildah or docker)
    --no-install   never install anything; report what is missing
    ARGUMENTS      passed to the test programs: a filter, --nocapture, --test-threads 1

Several tests run at once on each core, because they wait more than they compute. Set
RUST_TEST_THREADS to change that.

The tests on PostgreSQL use the server that LEADHOST_TEST_POSTGRES_URL names; otherwise a
server on the local default port that allows them to create databases; otherwise a private
one, which they start from the installed programs. If none of these is available, Debian's
package is installed if that is allowed; otherwise those tests are skipped. So is Debian's
docker-registry for the tests of plugins in registries, which start a private one, and its
prometheus.
";

/// The number of concurrent tests for each core. Tests wait for the disk, for other
/// processes and for real clocks: with one test for each core, two cores are idle
/// half of the time, and with many more, tests wait for each other.
const TESTS_PER_CORE: usize = 4;

/// Read by the test programs themselves.
const THREADS: &str = "RUST_TEST_THREADS";

/// The variables for sizes of tests, and their nightly values.
const NIGHTLY: [(&str, &str); 2] = [
    ("LEADHOST_LONG_BAD_DAYS", "1"),
    ("LEADHOST_FEED_CHANGES", "1000000"),
];

/// The parts to test besides those that need only Rust.
#[derive(Clone, Copy)]
pub struct TestScope {
    pub guests: bool,
    pub nightly: bool,
    pub postgres: Postgres,
}

/// Runs the task with its arguments.
///
/// # Errors
///
/// [`Failure`] if something that it needs is missing or cannot be installed, a build fails, or
/// a test does.
pub fn run(mut args: Args) -> Result<(), Failure> {
    let install = Install::from_args(&mut args);
    let scope = api::ApiScope {
        clients: args.flag("--api"),
        browser: args.flag("--browser"),
    };
    let with_console = args.flag("--console");
    let guide = if args.flag("--write-screens") {
        Guide::Written
    } else {
        Guide::Left
    };
    let with_clients = args.flag("--clients");
    let with_image = args.flag("--image");
    if scope.clients || scope.browser || with_console || with_clients || with_image {
        args.nothing_more()?;
        if scope.clients || scope.browser {
            api::test(install, scope)?;
        }
        if with_console {
            console::test(install, Postgres::IfItCanBeHad, guide)?;
        }
        if with_clients {
            clients::test(install, Postgres::IfItCanBeHad)?;
        }
        if with_image {
            deploy::build_image()?;
        }
        return Ok(());
    }
    let with_guests = args.flag("--guests");
    let nightly = args.flag("--nightly");
    let arguments = args.after_dashes();
    args.nothing_more()?;
    let scope = TestScope {
        guests: with_guests,
        nightly,
        postgres: Postgres::IfItCanBeHad,
    };
    test(install, scope, &arguments)
}

/// Builds everything that the tests of `scope` need, and runs them. `arguments` are passed to
/// the test programs. Prints what was left out.
///
/// # Errors
///
/// [`Failure`] if something that it needs is missing or cannot be installed, a build fails, or
/// a test does.
pub fn test(install: Install, scope: TestScope, arguments: &[String]) -> Result<(), Failure> {
    let without_systemd = deploy::verify_unit()?;
    let without_postgres = postgres::prepare(install, scope.postgres)?;
    let without_registry = registry::prepare(install);
    plugins::build_all(install)?;
    plugins::build_test_guests(install)?;
    let mut left_out = if scope.guests {
        guests::build(install)?
    } else {
        vec![
            "the JavaScript and Python guests, unless they were built before: --guests builds them"
                .to_owned(),
        ]
    };

    let mut command = repository::cargo();
    command.args(["test", "--workspace", "--no-fail-fast"]);
    if std::env::var_os(THREADS).is_none() {
        let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
        command.env(THREADS, (cores * TESTS_PER_CORE).to_string());
    }
    if scope.nightly {
        // A value that the tester sets takes precedence.
        let unset = |(name, _): &(&str, &str)| std::env::var_os(name).is_none();
        command.envs(NIGHTLY.into_iter().filter(unset));
    }
    // A requirement that is missing from now on is a failure.
    if scope.guests && left_out.is_empty() {
        command.env("LEADHOST_REQUIRE_GUESTS", "1");
    }
    if without_postgres.is_none() {
        command.env("LEADHOST_REQUIRE_POSTGRES", "1");
    }
    if without_registry.is_none() {
        command.env("LEADHOST_REQUIRE_REGISTRY", "1");
    }
    let has_postgres = without_postgres.is_none();
    left_out.extend(without_postgres);
    left_out.extend(without_registry);
    left_out.extend(without_systemd);
    if !arguments.is_empty() {
        command.arg("--").args(arguments);
    }
    let mut outcome = failed_tests::run(&mut command);
    postgres::sweep();
    // With arguments, only some tests are wanted.
    if outcome.is_ok() && arguments.is_empty() {
        outcome = bad_deploy::test(install, has_postgres);
    }
    if outcome.is_ok() && arguments.is_empty() {
        outcome = monitoring::test(install).map(|without| left_out.extend(without));
    }
    if outcome.is_ok() && arguments.is_empty() && scope.guests {
        outcome = languages::test(install).map(|without| left_out.extend(without));
    }

    for sentence in &left_out {
        eprintln!("LEFT OUT: {sentence}");
    }
    outcome.map_err(|failure| failure.hint("mend what it lists; the whole output is above"))
}
