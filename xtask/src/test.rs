//! All tests, with everything that they need built before: the plugins, the
//! guests that misbehave, and on demand the guests in other languages; and with
//! a PostgreSQL, which the tests find by themselves or which is installed.

use std::num::NonZero;

use crate::args::Args;
use crate::failure::Failure;
use crate::install::Install;
use crate::postgres::{self, Postgres};
use crate::repository;
use crate::{api, clients, deploy, guests, plugins, process};

pub const HELP: &str = "\
Builds the plugins and the tests' guests, then runs all tests of the workspace. Before
that systemd verifies the unit of examples/deploy, where systemd is installed.

    cargo xtask test [--guests] [--nightly] [--no-install] [-- ARGUMENTS]
    cargo xtask test [--api] [--browser] [--clients] [--image] [--no-install]

    --guests       also builds the JavaScript and Python examples (needs Node and Python)
    --nightly      what takes a night: bad days as long as real ones, two thousand power
                   cuts, and a million changes of rows under the eyes of export clients,
                   on each store
    --api          instead: schemathesis, and a client that a generator makes from the
                   document, against the built service (needs Python)
    --browser      instead, or with --api: the page /docs in a Chromium without a network
    --clients      instead, or with these: Airbyte, dlt, Singer and Meltano pull the built
                   service, on SQLite and PostgreSQL, as examples/clients has them (needs Python)
    --image        instead, or with these: builds the image of examples/deploy, which takes
                   many minutes (needs podman, buildah or docker)
    --no-install   never install anything; say what is missing
    ARGUMENTS      go to the test programs: a filter, --nocapture, --test-threads 1

There are some tests at once for each core, since they wait more than they compute;
RUST_TEST_THREADS says otherwise.

The tests on PostgreSQL use the server that LEADHOST_TEST_POSTGRES_URL names; else one
on the local default port that lets them make databases; else a private one, which they
start from the programs that are installed. Where none of these can be had, Debian's
package is installed if that is allowed, else those tests are left out.
";

/// Tests at once for each core. They wait for the disk, for other processes and for
/// clocks that nobody can move: with one for each core two cores are idle half of
/// the time, and with many more tests wait for each other.
const TESTS_PER_CORE: usize = 4;

/// What the test programs themselves read.
const THREADS: &str = "RUST_TEST_THREADS";

/// Sizes that the tests read, and what they are of a night.
const NIGHTLY: [(&str, &str); 2] = [
    ("LEADHOST_LONG_BAD_DAYS", "1"),
    ("LEADHOST_FEED_CHANGES", "1000000"),
];

/// What is tested beside what needs only Rust.
#[derive(Clone, Copy)]
pub struct Scope {
    pub guests: bool,
    pub nightly: bool,
    pub postgres: Postgres,
}

pub fn run(mut args: Args) -> Result<(), Failure> {
    let install = Install::from_args(&mut args);
    let scope = api::Scope {
        clients: args.flag("--api"),
        browser: args.flag("--browser"),
    };
    let with_clients = args.flag("--clients");
    let with_image = args.flag("--image");
    if scope.clients || scope.browser || with_clients || with_image {
        args.nothing_more()?;
        if scope.clients || scope.browser {
            api::test(install, scope)?;
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
    let scope = Scope {
        guests: with_guests,
        nightly,
        postgres: Postgres::IfItCanBeHad,
    };
    test(install, scope, &arguments)
}

pub fn test(install: Install, scope: Scope, arguments: &[String]) -> Result<(), Failure> {
    let without_systemd = deploy::verify_unit()?;
    let without_postgres = postgres::prepare(install, scope.postgres)?;
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
        // One that the tester sets holds.
        let unset = |(name, _): &(&str, &str)| std::env::var_os(name).is_none();
        command.envs(NIGHTLY.into_iter().filter(unset));
    }
    // What is missing now is a fault, not a choice.
    if scope.guests && left_out.is_empty() {
        command.env("LEADHOST_REQUIRE_GUESTS", "1");
    }
    if without_postgres.is_none() {
        command.env("LEADHOST_REQUIRE_POSTGRES", "1");
    }
    left_out.extend(without_postgres);
    left_out.extend(without_systemd);
    if !arguments.is_empty() {
        command.arg("--").args(arguments);
    }
    let outcome = process::run(&mut command);
    postgres::sweep();

    for sentence in &left_out {
        eprintln!("LEFT OUT: {sentence}");
    }
    outcome.map_err(|failure| failure.hint("the failed tests are named above"))
}
