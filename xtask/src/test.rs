//! All tests, with everything that they need built before: the plugins, the
//! guests that misbehave, and on demand the guests in other languages.

use crate::args::Args;
use crate::failure::Failure;
use crate::install::Install;
use crate::repository;
use crate::{guests, plugins, process};

pub const HELP: &str = "\
Builds the plugins and the tests' guests, then runs all tests of the workspace.

    cargo xtask test [--guests] [--no-install] [-- ARGUMENTS]

    --guests       also builds the JavaScript and Python examples (needs Node and Python)
    --no-install   never install anything; say what is missing
    ARGUMENTS      go to the test programs: a filter, --nocapture, --test-threads 1
";

pub fn run(mut args: Args) -> Result<(), Failure> {
    let install = Install::from_args(&mut args);
    let with_guests = args.flag("--guests");
    let arguments = args.after_dashes();
    args.nothing_more()?;
    test(install, with_guests, &arguments)
}

pub fn test(install: Install, with_guests: bool, arguments: &[String]) -> Result<(), Failure> {
    plugins::build_all(install)?;
    plugins::build_test_guests(install)?;
    let left_out = if with_guests {
        guests::build(install)?
    } else {
        vec![
            "the JavaScript and Python guests, unless they were built before: --guests builds them"
                .to_owned(),
        ]
    };

    let mut command = repository::cargo();
    command.args(["test", "--workspace"]);
    if with_guests && left_out.is_empty() {
        // A component that is missing now is a fault, not a choice.
        command.env("LEADHOST_REQUIRE_GUESTS", "1");
    }
    if !arguments.is_empty() {
        command.arg("--").args(arguments);
    }
    let outcome = process::run(&mut command);

    for sentence in &left_out {
        eprintln!("Left out: {sentence}");
    }
    outcome.map_err(|failure| failure.hint("the failed tests are named above"))
}
