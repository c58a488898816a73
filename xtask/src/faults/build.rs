//! Builds for the rows: the tests, the release build of the program, and an earlier build
//! of it. The programs are copies, which other builds during the run do not change.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::folder;
use crate::failure::{Context, Failure};
use crate::test::programs;
use crate::{files, process, repository};

/// The schema whose changes an upgrade crosses.
const SCHEMA: &str = "host/crates/store/migrations";

pub struct Built {
    pub tests: PathBuf,
    pub program: PathBuf,
    pub before: Option<Before>,
    pub commit: String,
}

pub struct Before {
    pub program: PathBuf,
    pub commit: String,
}

impl Built {
    /// Builds the tests and the program, and copies them; with `with_before` an earlier build from
    /// the history too, and with `with_fuzz` the fuzz tests.
    pub fn new(with_before: bool, with_fuzz: bool) -> Result<Self, Failure> {
        let folder = folder();
        files::make_folder(&folder)?;
        let before = if with_before { before(&folder)? } else { None };
        if with_fuzz {
            // Beforehand, so that the time of the row is spent on inputs.
            process::run(repository::cargo().args(["test", "--workspace", "--lib", "--no-run"]))?;
        }
        let commit = commit()?;
        let program = folder.join("leadhost");
        build(&repository::root(), &program)?;
        let tests = folder.join("tests");
        let built = programs::build(programs::INTEGRATION_TESTS)?;
        copy(&built.integration.path, &tests)?;
        Ok(Self {
            tests,
            program,
            before,
            commit,
        })
    }
}

fn build(root: &Path, to: &Path) -> Result<(), Failure> {
    process::run(
        repository::cargo()
            .env_remove(xtask::cargo::LINTER)
            .args(["build", "--release", "-p", "leadhost", "--bin", "leadhost"])
            .arg("--manifest-path")
            .arg(root.join("Cargo.toml"))
            .arg("--target-dir")
            .arg(repository::target()),
    )?;
    let built = repository::target().join("release").join("leadhost");
    copy(&built, to)
}

fn copy(from: &Path, to: &Path) -> Result<(), Failure> {
    let partial = to.with_extension("partial");
    fs::copy(from, &partial)
        .and_then(|_| fs::rename(&partial, to))
        .context(format!("copying {}", from.display()))
}

/// Builds the last commit with an older schema. `None` without enough history.
fn before(folder: &Path) -> Result<Option<Before>, Failure> {
    let changed = process::git(&["log", "-1", "--diff-filter=A", "--format=%H", "--", SCHEMA])?;
    let parent = format!("{}^", changed);
    let Ok(commit) = process::git(&["rev-parse", "--short=10", &parent]) else {
        return Ok(None);
    };
    let program = folder.join(format!("leadhost-{commit}"));
    if !program.exists() {
        let sources = folder.join("before");
        files::remove_folder(&sources)?;
        files::make_folder(&sources)?;
        let archive = folder.join("before.tar");
        let archive = archive.to_string_lossy();
        process::git(&["archive", "--output", &archive, &commit])?;
        process::output(
            Command::new("tar")
                .args(["-xf", &archive, "-C"])
                .arg(&sources),
        )?;
        build(&sources, &program)?;
    }
    Ok(Some(Before { program, commit }))
}

/// The current commit, marked if there are uncommitted changes.
fn commit() -> Result<String, Failure> {
    let commit = process::git(&["rev-parse", "--short=10", "HEAD"])?;
    let changed = process::git(&["status", "--porcelain", "--", ".", ":!docs"])?;
    Ok(if changed.is_empty() {
        commit
    } else {
        format!("{commit} and changes")
    })
}
