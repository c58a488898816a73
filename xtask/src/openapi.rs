//! The committed OpenAPI documents and the schemas of their rows, as the service generates them, so that a
//! change is visible in a review.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use crate::args::Args;
use crate::failure::{Context, Failure};
use crate::{process, repository, run};

pub const HELP: &str = "\
Writes docs/openapi.json, the OpenAPI 3.1 document of the gateway and the data API, docs/openapi-admin.json, that of
the admin API, and docs/schemas, a JSON Schema for each kind of row, as the service has them. A test compares
them.

    cargo xtask openapi
";

/// Runs the task with its arguments.
pub fn run(args: Args) -> Result<(), Failure> {
    args.nothing_more()?;
    let program = run::build_program("dev")?;
    let print = |flags: &[&str]| process::output(Command::new(&program).arg("openapi").args(flags));
    let mut files = BTreeMap::from([(path(), print(&[])?), (admin_path(), print(&["--admin"])?)]);
    let rows: Value = serde_json::from_str(&print(&["--rows"])?).context("reading the rows")?;
    for (name, schema) in rows.as_object().into_iter().flatten() {
        files.insert(
            schemas().join(format!("{name}.json")),
            format!("{schema:#}\n"),
        );
    }
    for (path, text) in &files {
        repository::write_if_changed(path, text.as_bytes())?;
    }
    for path in old(&files)? {
        std::fs::remove_file(&path).context(format!("removing {}", path.display()))?;
    }
    eprintln!(
        "{:>12} {}, {} and {}",
        "document",
        path().display(),
        admin_path().display(),
        schemas().display()
    );
    Ok(())
}

/// Files of rows that no longer exist.
fn old(files: &BTreeMap<PathBuf, String>) -> Result<Vec<PathBuf>, Failure> {
    let folder = schemas();
    let mut found = Vec::new();
    for entry in std::fs::read_dir(&folder).context(format!("reading {}", folder.display()))? {
        let path = entry.context("reading the schemas")?.path();
        if !files.contains_key(&path) {
            found.push(path);
        }
    }
    Ok(found)
}

/// Returns the path of the document of the gateway and the data API.
pub fn path() -> PathBuf {
    repository::root().join("docs/openapi.json")
}

fn admin_path() -> PathBuf {
    repository::root().join("docs/openapi-admin.json")
}

fn schemas() -> PathBuf {
    repository::root().join("docs/schemas")
}
