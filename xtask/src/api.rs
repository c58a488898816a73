//! Tests the API from outside: schemathesis against the document, clients in Python and TypeScript
//! that public generators make from the document, and the page in a browser without a network. All
//! of them use the built program on SQLite, with two workspaces and some data.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::failure::{Context, Failure, Hint};
use crate::install::Install;
use crate::javascript::{self, Scripts};
use crate::service::Service;
use crate::{browser, files, process, python, repository, run};

pub fn test(install: Install) -> Result<Vec<String>, Failure> {
    // Before the build, so that a missing requirement is reported at once.
    python::ensure(install, "for the clients that test the API")?;
    javascript::ensure(install)?;
    let chromium = browser::program(install)?;
    let folder = repository::root().join("tests/api");
    let environment = python::environment(&[folder.join("requirements.txt")], "api/.venv")?;
    let program = run::build(install, "dev")?;
    let service = Service::start(
        &program,
        &repository::target().join("api"),
        &folder.join("workspace.toml"),
        None,
    )?;
    try_out(&service, &folder, &environment, &chromium)?;
    Ok(Vec::new())
}

fn try_out(
    service: &Service,
    folder: &Path,
    environment: &Path,
    chromium: &Path,
) -> Result<(), Failure> {
    let text = process::output(Command::new(&service.program).arg("openapi"))?;
    browser::test(chromium, &service.folder, &gateway(service)?, &text)?;
    let document = service.folder.join("openapi.json");
    files::write_if_changed(&document, text.as_bytes())?;
    let world = world(service, folder, &document)?;
    for script in ["round.py", "conformance.py"] {
        process::run(
            Command::new(environment.join("bin/python"))
                .arg(folder.join(script))
                .arg(&world)
                // Compiled scripts do not belong among the sources.
                .env("PYTHONDONTWRITEBYTECODE", "1"),
        )
        .hint("see the findings above; if the interface intends one, add it with its reason to tests/api/exceptions.toml")?;
    }
    typed_round(&folder.join("typescript"), &world, &document)
}

fn typed_round(folder: &Path, world: &Path, document: &Path) -> Result<(), Failure> {
    javascript::install_locked(folder, Scripts::Left)?;
    let node =
        |arguments: &[&str]| process::run(Command::new("node").current_dir(folder).args(arguments));
    let document = document.to_string_lossy();
    let generator = "node_modules/openapi-typescript/bin/cli.js";
    node(&[generator, &document, "--output", "leadhost.d.ts"])?;
    node(&["node_modules/typescript/bin/tsc"])
        .hint("the types made from the document do not fit tests/api/typescript/round.ts")?;
    node(&["round.js", &world.to_string_lossy()])
}

/// A file with everything that the scripts need to know.
fn world(service: &Service, folder: &Path, document: &Path) -> Result<PathBuf, Failure> {
    let other = process::output(
        Command::new(&service.program)
            .arg("apply")
            .arg(folder.join("other.toml"))
            .arg("--json")
            .env("LEADHOST_DATA_DIR", &service.data),
    )?;
    let other: Value = serde_json::from_str(&other).context("reading what apply says")?;
    let world = json!({
        "gateway": gateway(service)?,
        "own": service.keys()?,
        "other": other,
        "folder": service.folder,
        "document": document,
    });
    let path = service.folder.join("world.json");
    files::write_if_changed(&path, format!("{world:#}\n").as_bytes())?;
    Ok(path)
}

fn gateway(service: &Service) -> Result<String, Failure> {
    Ok(format!("http://{}", service.address("gateway")?))
}
