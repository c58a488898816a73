//! The tasks of an operator's day in the console, in a real browser: `tests/console` drives Chromium
//! against the built service, on each store.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::failure::{Failure, Hint};
use crate::install::Install;
use crate::javascript::{self, Scripts};
use crate::postgres::{self, Database};
use crate::service::Service;
use crate::{browser, files, plugins, process, repository, run};

/// The connection of the demo workspace to which the suite sends leads, and the header of its token.
const CONNECTION: &str = "site-form";
const TOKEN: &str = "X-Form-Token";

/// Two versions of the converter of examples/bad-deploy: the second one loses phones.
const RIGHT: &str = "portal-1.0.0.wasm";
const WRONG: &str = "portal-1.1.0.wasm";

const GUIDE: &str = "docs/screens";

/// What becomes of the screens of the guide.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Guide {
    Left,
    Written,
}

/// Runs the suite on SQLite and on PostgreSQL. The run on SQLite writes the screens of the guide, if that is
/// wanted.
pub fn test(install: Install, guide: Guide) -> Result<Vec<String>, Failure> {
    javascript::ensure(install)?;
    let chromium = browser::program(install)?;
    let scripts = repository::root().join("tests/console");
    javascript::install_locked(&scripts, Scripts::Left)?;
    let program = run::build(install, "dev")?;
    plugins::build_test_guests(install)?;
    let folder = repository::target().join("console");
    files::make_folder(&folder)?;
    for (version, file) in [("1.0.0", RIGHT), ("1.1.0", WRONG)] {
        plugins::build_bad_deploy(version, &folder.join(file), install)?;
    }
    let suite = Suite {
        program: &program,
        scripts: &scripts,
        chromium: &chromium,
        folder: &folder,
    };
    postgres::on_each_store(install, |database| {
        let guide = match (database, guide) {
            (None, Guide::Written) => Some(repository::root().join(GUIDE)),
            _ => None,
        };
        let store = database.map_or("sqlite", |_| "postgresql");
        suite.runs(store, database, &["suite.mjs"], guide.as_deref())
    })?;
    Ok(Vec::new())
}

/// Signs in to the console on SQLite in Chromium, which Node drives without packages of npm. Returns what was
/// left out if one of them is not installed.
pub fn glance(_: Install) -> Result<Vec<String>, Failure> {
    let left_out = |what: &str| {
        Ok(vec![format!(
            "a look at the console: {what} is not installed"
        )])
    };
    let Some(chromium) = browser::installed() else {
        return left_out("Chromium");
    };
    if process::find("node").is_none() {
        return left_out("Node");
    }
    let folder = repository::target().join("console");
    files::make_folder(&folder)?;
    let suite = Suite {
        program: &run::build_program("dev")?,
        scripts: &repository::root().join("tests/console"),
        chromium: &chromium,
        folder: &folder,
    };
    suite.runs(
        "glance",
        None,
        &["--experimental-websocket", "glance.mjs"],
        None,
    )?;
    Ok(Vec::new())
}

struct Suite<'a> {
    program: &'a Path,
    scripts: &'a Path,
    chromium: &'a Path,
    folder: &'a Path,
}

impl Suite<'_> {
    /// Runs a script against a service on this store, in a folder of this name.
    fn runs(
        &self,
        name: &str,
        database: Option<&Database>,
        script: &[&str],
        guide: Option<&Path>,
    ) -> Result<(), Failure> {
        let folder = self.folder.join(name);
        files::make_folder(&folder)?;
        let workspace = repository::root().join("examples/quickstart/workspace.toml");
        let url = database.map(|database| database.url.as_str());
        let service = Service::start(self.program, &folder, &workspace, url)?;
        let outcome = self.world(&service).and_then(|world| {
            let path = folder.join("world.json");
            files::write(&path, world.to_string())?;
            let mut command = Command::new("node");
            command.current_dir(self.scripts).args(script).arg(&path);
            process::run(command.args(guide))
        });
        let screens = folder.join("screens");
        eprintln!("{:>12} {}", "screens", screens.display());
        outcome.hint(format!("{} has the screens up to there", screens.display()))
    }

    /// The addresses, the keys, the components and the browser, for the suite.
    fn world(&self, service: &Service) -> Result<Value, Failure> {
        let keys = service.keys()?;
        Ok(json!({
            "admin": service.address("admin")?,
            "gateway": service.address("gateway")?,
            "token": keys["connectionHeaders"][CONNECTION][TOKEN],
            "keys": keys,
            "components": {
                "mapping": repository::target().join("plugins/converter-mapping.wasm"),
                "right": self.folder.join(RIGHT),
                "wrong": self.folder.join(WRONG),
                "misbehaving": plugins::guests_folder().join("guest-misbehave.wasm"),
            },
            "chromium": self.chromium,
            "screens": service.folder.join("screens"),
        }))
    }
}
