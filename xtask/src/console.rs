//! The tasks of an operator's day in the console, in a real browser: `tests/console` drives Chromium
//! against the built service, on each store.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::failure::{Context, Failure};
use crate::install::Install;
use crate::javascript::{self, Scripts};
use crate::postgres::{self, Database, Postgres};
use crate::service::Service;
use crate::{browser, process, repository, run};

/// The connection of the demo workspace to which the suite sends leads, and the header of its token.
const CONNECTION: &str = "site-form";
const TOKEN: &str = "X-Form-Token";

/// The component that the suite uploads.
const COMPONENT: &str = "converter-mapping.wasm";

/// Runs the suite on SQLite, and on PostgreSQL if there is a server.
///
/// # Errors
///
/// [`Failure`] if something that it needs is missing or cannot be installed, a build fails, or a
/// task does not work.
pub fn test(install: Install, need: Postgres) -> Result<(), Failure> {
    javascript::ensure(install)?;
    let chromium = browser::program(install)?;
    let suite = repository::root().join("tests/console");
    javascript::install_locked(&suite, Scripts::Left)?;
    let program = run::build(install, "dev")?;
    let without_postgres = postgres::prepare(install, need)?;
    let mut outcome = on(&program, &suite, &chromium, "sqlite", None);
    if outcome.is_ok() && without_postgres.is_none() {
        outcome = Database::start()
            .and_then(|database| on(&program, &suite, &chromium, "postgresql", Some(&database)));
    }
    postgres::sweep();
    if let Some(sentence) = without_postgres {
        eprintln!("LEFT OUT: {sentence}");
    }
    outcome
}

fn on(
    program: &Path,
    suite: &Path,
    chromium: &Path,
    store: &str,
    database: Option<&Database>,
) -> Result<(), Failure> {
    let folder = repository::target().join("console").join(store);
    std::fs::create_dir_all(&folder).context(format!("creating {}", folder.display()))?;
    let workspace = repository::root().join("examples/quickstart/workspace.toml");
    let url = database.map(|database| database.url.as_str());
    let service = Service::start(program, &folder, &workspace, url)?;
    let outcome = world(&service, chromium).and_then(|world| {
        let path = folder.join("world.json");
        std::fs::write(&path, world.to_string()).context(format!("writing {}", path.display()))?;
        process::run(
            Command::new("node")
                .current_dir(suite)
                .arg("suite.mjs")
                .arg(&path),
        )
    });
    service.stop();
    let screens = folder.join("screens");
    eprintln!("{:>12} {}", "screens", screens.display());
    outcome.map_err(|failure| {
        failure.hint(format!("{} has the screens up to there", screens.display()))
    })
}

/// The addresses, the keys and the browser, for the suite.
fn world(service: &Service, chromium: &Path) -> Result<Value, Failure> {
    let keys = service.keys()?;
    Ok(json!({
        "admin": service.address("admin")?,
        "gateway": service.address("gateway")?,
        "token": keys["connectionHeaders"][CONNECTION][TOKEN],
        "keys": keys,
        "component": repository::target().join("plugins").join(COMPONENT),
        "chromium": chromium,
        "screens": service.folder.join("screens"),
    }))
}
