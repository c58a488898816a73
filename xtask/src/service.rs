//! The built service for a test from outside: with a data folder of its own, on free ports of the loopback
//! interface.

use std::fs;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::failure::{Context, Failure};
use crate::{files, repository, wait};

/// A running service. It finishes its work in flight when it is dropped.
pub struct Service {
    pub program: PathBuf,
    /// The folder of the test: the log, the data, and the test's own files.
    pub folder: PathBuf,
    pub data: PathBuf,
    child: Child,
}

impl Service {
    /// Starts it with an initial workspace, in a fresh data folder, with a SQLite file in it unless `store`
    /// names a database.
    pub fn start(
        program: &Path,
        folder: &Path,
        workspace: &Path,
        store: Option<&str>,
    ) -> Result<Self, Failure> {
        let mut service = Self::start_as("service", program, folder, |command| {
            command
                .arg("--inbox")
                .arg(repository::target().join("plugins"))
                .arg("--first-apply")
                .arg(workspace)
                .envs(store.map(|store| ("LEADHOST_STORE_URL", store)));
        })?;
        if wait::for_file(&service.data.join("keys.json"), &mut service.child) {
            Ok(service)
        } else {
            Err(Failure::new("the service did not apply its workspace")
                .hint(format!("{}/service.log says why", folder.display())))
        }
    }

    /// Starts it with a name, which its data folder and its log have too. `set` adds its settings.
    pub fn start_as(
        name: &str,
        program: &Path,
        folder: &Path,
        set: impl FnOnce(&mut Command),
    ) -> Result<Self, Failure> {
        let data = folder.join(name);
        files::remove_folder(&data)?;
        // The service refuses a folder that others may use.
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&data)
            .context(format!("creating {}", data.display()))?;
        xtask::compiled::share(&repository::target(), &data)
            .context(format!("writing {}", data.display()))?;
        let log = folder.join(format!("{name}.log"));
        // In the group of this task, so that the terminal's Ctrl-C reaches it too.
        let mut command = Command::new(program);
        without_settings(&mut command);
        command
            .arg("serve")
            .args(["--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"])
            .arg("--data-dir")
            .arg(&data)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(files::create(&log)?);
        set(&mut command);
        let child = command
            .spawn()
            .context(format!("starting {}", program.display()))?;
        let mut own = Self {
            program: program.to_owned(),
            folder: folder.to_owned(),
            data,
            child,
        };
        if wait::for_file(&own.data.join("service.json"), &mut own.child) {
            Ok(own)
        } else {
            Err(Failure::new(format!("{name} did not start"))
                .hint(format!("{} says why", log.display())))
        }
    }

    pub fn keys(&self) -> Result<Value, Failure> {
        files::json(self.data.join("keys.json"))
    }

    /// Host and port of the `gateway`, which includes the data API, or of
    /// `admin`.
    pub fn address(&self, name: &str) -> Result<String, Failure> {
        let said = files::json(self.data.join("service.json"))?;
        Ok(said[name].as_str().unwrap_or_default().to_owned())
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        wait::stop(&mut self.child);
    }
}

/// Removes the settings of another service from the environment of a command.
pub fn without_settings(command: &mut Command) {
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("LEADHOST_") {
            command.env_remove(name);
        }
    }
}
