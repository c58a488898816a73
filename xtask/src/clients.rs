//! Tests clients that copy the service's data: each client of
//! `examples/clients`, in its own environment with the versions that it pins,
//! pulls from the built service on SQLite and on PostgreSQL. `tests/clients`
//! has the expected results.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{fs, thread};

use serde_json::{Map, Value, json};

use crate::failure::{Failure, Hint};
use crate::install::Install;
use crate::postgres::{self, Database};
use crate::service::Service;
use crate::{files, process, python, repository, run};

/// The folders of `examples/clients`, and of the environments.
const CLIENTS: [&str; 4] = ["airbyte", "dlt", "meltano", "singer"];

/// The client that installs its own plugins, by its project.
const MELTANO: &str = "meltano";

pub fn test(install: Install) -> Result<Vec<String>, Failure> {
    python::ensure(install, "for the clients that pull the data")?;
    let environments = environments()?;
    let program = run::build(install, "dev")?;
    postgres::on_each_store(install, |database| on(&program, &environments, database))?;
    Ok(Vec::new())
}

/// Makes all environments at once: they wait for the registry more than they
/// compute.
fn environments() -> Result<Map<String, Value>, Failure> {
    eprintln!(
        "Installing the clients from the Python registry into {}, unless the versions that \
         examples/clients pins are already there: about 900 MB, once.",
        repository::target().join("clients").display()
    );
    thread::scope(|scope| {
        let making = CLIENTS.map(|client| (client, scope.spawn(move || environment(client))));
        making
            .into_iter()
            .map(|(client, made)| {
                let made = made.join().expect("no environment is made by a panic")?;
                Ok((client.to_owned(), json!(made)))
            })
            .collect()
    })
}

fn environment(client: &str) -> Result<PathBuf, Failure> {
    let root = repository::root();
    let example = root.join("examples/clients").join(client);
    let lists = [
        example.join("requirements.txt"),
        root.join("tests/clients/requirements.txt"),
    ];
    let environment = python::environment(&lists, &format!("clients/{client}"))?;
    if client == MELTANO {
        meltano_project(&environment, &example)?;
    }
    Ok(environment)
}

fn meltano_project(environment: &Path, example: &Path) -> Result<(), Failure> {
    let file = example.join("meltano.yml");
    let content = files::bytes(&file)?;
    let project = repository::target().join("clients/meltano-project");
    let stamp = project.join("leadhost-installed.yml");
    if fs::read(&stamp).is_ok_and(|installed| installed == content) {
        return Ok(());
    }
    files::remove_folder(&project)?;
    files::make_folder(&project)?;
    files::write_if_changed(&project.join("meltano.yml"), &content)?;
    process::run(
        Command::new(environment.join("bin/meltano"))
            .current_dir(&project)
            .arg("--log-level=warning")
            .arg("install"),
    )
    .hint("pip must be able to reach its index; try again")?;
    files::write_if_changed(&stamp, &content)?;
    Ok(())
}

fn on(
    program: &Path,
    environments: &Map<String, Value>,
    database: Option<&Database>,
) -> Result<(), Failure> {
    let tests = repository::root().join("tests/clients");
    let store = database.map_or("SQLite", |_| "PostgreSQL");
    let folder = repository::target()
        .join("clients")
        .join(store.to_lowercase());
    let url = database.map(|database| database.url.as_str());
    let service = Service::start(program, &folder, &tests.join("workspace.toml"), url)?;
    pulled(&service, &tests, environments, store)
}

fn pulled(
    service: &Service,
    tests: &Path,
    environments: &Map<String, Value>,
    store: &str,
) -> Result<(), Failure> {
    let world = json!({
        "store": store,
        "program": service.program,
        "folder": service.folder,
        "data": service.data,
        "gateway": service.address("gateway")?,
        "admin": service.address("admin")?,
        "keys": service.keys()?,
        "environments": environments,
    });
    let path = service.folder.join("world.json");
    files::write_if_changed(&path, format!("{world:#}\n").as_bytes())?;
    process::run(
        Command::new("python3")
            .arg(tests.join("suite.py"))
            .arg(&path)
            // Compiled scripts do not belong among the sources.
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .env("PYTHONUTF8", "1"),
    )
    .hint(format!(
        "see the findings above; the clients' logs are in {}/pulls",
        service.folder.display()
    ))
}
