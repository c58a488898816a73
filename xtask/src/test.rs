//! All tests, with everything that they need built before: the plugins, the
//! guests that misbehave, and on demand the guests in other languages; and with
//! a PostgreSQL, which the tests find by themselves or which is installed.

use crate::args::Args;
use crate::failure::Failure;
use crate::install::Install;
use crate::postgres::{self, Postgres};
use crate::repository;
use crate::{guests, plugins, process};

pub const HELP: &str = "\
Builds the plugins and the tests' guests, then runs all tests of the workspace.

    cargo xtask test [--guests] [--no-install] [-- ARGUMENTS]

    --guests       also builds the JavaScript and Python examples (needs Node and Python)
    --no-install   never install anything; say what is missing
    ARGUMENTS      go to the test programs: a filter, --nocapture, --test-threads 1

The tests on PostgreSQL use the server that LEADHOST_TEST_POSTGRES_URL names; else one
on the local default port that lets them make databases; else a private one, which they
start from the programs that are installed. Where none of these can be had, Debian's
package is installed if that is allowed, else those tests are left out.
";

/// What is tested beside what needs only Rust.
#[derive(Clone, Copy)]
pub struct Scope {
    pub guests: bool,
    pub postgres: Postgres,
}

pub fn run(mut args: Args) -> Result<(), Failure> {
    let install = Install::from_args(&mut args);
    let with_guests = args.flag("--guests");
    let arguments = args.after_dashes();
    args.nothing_more()?;
    let scope = Scope {
        guests: with_guests,
        postgres: Postgres::IfItCanBeHad,
    };
    test(install, scope, &arguments)
}

pub fn test(install: Install, scope: Scope, arguments: &[String]) -> Result<(), Failure> {
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
    command.args(["test", "--workspace"]);
    // What is missing now is a fault, not a choice.
    if scope.guests && left_out.is_empty() {
        command.env("LEADHOST_REQUIRE_GUESTS", "1");
    }
    if without_postgres.is_none() {
        command.env("LEADHOST_REQUIRE_POSTGRES", "1");
    }
    left_out.extend(without_postgres);
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
