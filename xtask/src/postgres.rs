//! A PostgreSQL for the tests. They find one by themselves, and are asked
//! whether they do; where they do not, Debian's package is installed.

use std::io::{BufRead as _, BufReader};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};

use crate::failure::{Context as _, Failure};
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
            eprintln!("{:>12} {}", "PostgreSQL", found);
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
            eprintln!("{:>12} {}", "PostgreSQL", found);
            Ok(None)
        }
        Err(failure) if need == Postgres::Required => Err(failure),
        Err(failure) => Ok(Some(format!(
            "ALL TESTS ON POSTGRESQL, for none can be had.\n  \
             what was tried: {none}\n  \
             {failure}\n  \
             or: {URL}=postgres://user:password@host/database names a server"
        ))),
    }
}

/// Removes what the run has left on a server that is not its own.
pub fn sweep() {
    // What stays is removed by the next run.
    if let Ok(removed) = ask("sweep") {
        for line in removed.lines() {
            eprintln!("{:>12} {line}", "PostgreSQL");
        }
    }
}

/// An empty database on the server that the tests would take. It is gone with
/// this.
pub struct Database {
    pub url: String,
    keeper: Child,
}

impl Database {
    pub fn start() -> Result<Self, Failure> {
        let program = repository::target().join("debug").join(PROGRAM);
        let mut keeper = Command::new(&program)
            .arg("database")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // It ends with its input, not with the terminal's Ctrl-C.
            .process_group(0)
            .spawn()
            .context(format!("starting {}", program.display()))?;
        let mut url = String::new();
        if let Some(said) = keeper.stdout.take() {
            BufReader::new(said)
                .read_line(&mut url)
                .context("reading the address of a database")?;
        }
        let own = Self {
            url: url.trim().to_owned(),
            keeper,
        };
        if own.url.is_empty() {
            return Err(Failure::new("no database could be made")
                .hint("what the tests say about that is above"));
        }
        Ok(own)
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        drop(self.keeper.stdin.take());
        let _ = self.keeper.wait();
    }
}

fn ask(question: &str) -> Result<String, Failure> {
    let program = repository::target().join("debug").join(PROGRAM);
    let answer = Command::new(&program)
        .arg(question)
        .output()
        .context(format!("starting {}", program.display()))?;
    let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim_end().to_owned();
    if answer.status.success() {
        Ok(said(&answer.stdout))
    } else {
        Err(Failure::new(said(&answer.stderr)))
    }
}
