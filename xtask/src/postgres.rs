//! A PostgreSQL for the tests. They find one by themselves, and are asked
//! whether they do; where they do not, Debian's package is installed.

use std::process::Command;

use crate::failure::Failure;
use crate::install::Install;
use crate::{process, repository};

/// The program of the tests that knows.
const PROGRAM: &str = "leadhost-tests-postgres";

/// Names a server; the tests take no other then.
const URL: &str = "LEADHOST_TEST_POSTGRES_URL";

const WHY: &str = "for the tests on PostgreSQL, which start a private server of their own";

/// Whether the tests may go without.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Postgres {
    Required,
    IfItCanBeHad,
}

/// Makes sure of a server. Where that is not possible and need not be, what is
/// left out, with what to do about it.
pub fn prepare(install: Install, need: Postgres) -> Result<Option<String>, Failure> {
    // With all of the workspace, so that the tests find the same parts built.
    process::run(repository::cargo().args(["build", "--workspace", "--bin", PROGRAM]))?;
    let none = match ask("find") {
        Ok(found) => {
            eprintln!("{:>12} {}", "PostgreSQL", found.trim_end());
            return Ok(None);
        }
        Err(failure) if std::env::var_os(URL).is_some() => {
            return Err(failure.hint(format!("mend {URL}, or unset it")));
        }
        Err(failure) => failure,
    };
    let installed = install
        .debian(&["postgresql"], WHY)
        .and_then(|()| ask("find"));
    match installed {
        Ok(found) => {
            eprintln!("{:>12} {}", "PostgreSQL", found.trim_end());
            Ok(None)
        }
        Err(failure) if need == Postgres::Required => Err(failure),
        Err(failure) => Ok(Some(format!(
            "ALL TESTS ON POSTGRESQL. {none}\n  {failure}\n  \
             or name a server: {URL}=postgres://user:password@host/database"
        ))),
    }
}

/// Removes what the run has left on a server that is not its own.
pub fn sweep() {
    // What stays is removed by the next run.
    if let Ok(removed) = ask("sweep") {
        eprint!("{removed}");
    }
}

fn ask(question: &str) -> Result<String, Failure> {
    let program = repository::target().join("debug").join(PROGRAM);
    process::output(Command::new(program).arg(question))
}
