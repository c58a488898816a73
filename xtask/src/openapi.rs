//! The committed OpenAPI document and the schemas of its rows, as the service
//! generates them. A change is visible in a review, and `--check` fails if the
//! files were not regenerated.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::Value;

use crate::args::Args;
use crate::failure::{Context, Failure};
use crate::{process, repository};

pub const HELP: &str = "\
Generates docs/openapi.json, the OpenAPI 3.1 document of the gateway and the data API, docs/openapi-admin.json, that of
the admin API, and docs/schemas, a JSON Schema for each kind of row.

    cargo xtask openapi           writes the files
    cargo xtask openapi --check   compares the files with the service, and fails if they differ
";

/// Runs the task with its arguments: writes the documents and the schemas, or compares them
/// with the service.
///
/// # Errors
///
/// [`Failure`] if the service cannot be built, a file cannot be written, or, with `--check`,
/// one differs.
pub fn run(mut args: Args) -> Result<(), Failure> {
    let is_check = args.flag("--check");
    args.nothing_more()?;
    let mut files = BTreeMap::from([
        (path(), print_document(&[])?),
        (admin_path(), print_document(&["--admin"])?),
    ]);
    let rows: Value =
        serde_json::from_str(&print_document(&["--rows"])?).context("reading the rows")?;
    for (name, schema) in rows.as_object().into_iter().flatten() {
        files.insert(
            schemas().join(format!("{name}.json")),
            format!("{schema:#}\n"),
        );
    }
    for (path, text) in &files {
        if is_check {
            compare(path, text)?;
        } else {
            repository::write_if_changed(path, text.as_bytes())?;
        }
    }
    for path in old(&files)? {
        if is_check {
            return Err(
                Failure::new(format!("there is no row of this name: {}", path.display()))
                    .hint("cargo xtask openapi"),
            );
        }
        std::fs::remove_file(&path).context(format!("removing {}", path.display()))?;
    }
    let word = if is_check { "true" } else { "document" };
    eprintln!(
        "{word:>12} {}, {} and {}",
        path().display(),
        admin_path().display(),
        schemas().display()
    );
    Ok(())
}

fn print_document(arguments: &[&str]) -> Result<String, Failure> {
    let mut command = repository::cargo();
    command.args(["run", "--quiet", "--package", "leadhost", "--", "openapi"]);
    process::output(command.args(arguments))
}

fn compare(path: &PathBuf, text: &str) -> Result<(), Failure> {
    let committed = std::fs::read_to_string(path).context(format!("reading {}", path.display()))?;
    if committed == text {
        return Ok(());
    }
    let mut lines = committed.lines().zip(text.lines()).enumerate();
    let differs = lines.find(|(_, (old, new))| old != new);
    let (number, old, new) = differs.map_or((0, "", ""), |(at, (old, new))| (at + 1, old, new));
    Err(Failure::new(format!(
        "the service serves a document that differs from {}\n  line {number}\n  - committed: {}\n  - served:    {}",
        path.display(),
        old.trim(),
        new.trim()
    ))
    .hint("run cargo xtask openapi and review the difference: clients are built on the document"))
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
