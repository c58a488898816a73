//! PostgreSQL for the tests. The tests find a server by themselves, and this
//! task asks them whether they do; if they do not, it installs Debian's
//! package.

use std::io::{BufRead as _, BufReader};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};

use crate::failure::{Context as _, Failure};
use crate::install::Install;
use crate::{process, repository};

const PROGRAM: &str = "leadhost-tests-postgres";

/// Names a server; then the tests use no other.
const URL: &str = "LEADHOST_TEST_POSTGRES_URL";

const WHY: &str = "for the tests on PostgreSQL, which start a private server of their own";

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Postgres {
    Required,
    IfItCanBeHad,
}

/// Makes sure of a server. If none is available and it is optional, returns
/// what is skipped, with a hint.
pub fn prepare(install: Install, need: Postgres) -> Result<Option<String>, Failure> {
    // With the whole workspace, so that the tests find the same build.
    process::run(repository::cargo().args(["build", "--workspace", "--bin", PROGRAM]))?;
    let none = match ask("find") {
        Ok(found) => {
            eprintln!("{:>12} {}", "PostgreSQL", found);
            return Ok(None);
        }
        Err(failure) if std::env::var_os(URL).is_some() => {
            return Err(failure.hint(format!("correct {URL}, or unset it")));
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
            "ALL TESTS ON POSTGRESQL, because no server is available.\n  \
             tried: {none}\n  \
             {failure}\n  \
             or set {URL}=postgres://user:password@host/database"
        ))),
    }
}

/// Drops what the run has left on a shared server.
pub fn sweep() {
    // The next run drops what remains.
    if let Ok(removed) = ask("sweep") {
        for line in removed.lines() {
            eprintln!("{:>12} {line}", "PostgreSQL");
        }
    }
}

/// Runs a suite on SQLite, and on an empty database of the server that the tests use.
pub fn on_each_store(
    install: Install,
    suite: impl Fn(Option<&Database>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    prepare(install, Postgres::Required)?;
    let outcome = suite(None).and_then(|()| suite(Some(&Database::start()?)));
    sweep();
    outcome
}

/// An empty database on the server that the tests would use. It is dropped with
/// this value.
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
            return Err(Failure::new("no database could be created")
                .hint("see the messages of the tests above"));
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
