//! The built service for a test from outside: with an initial workspace, on ports
//! of its own.

use std::fs;
use std::os::unix::fs::DirBuilderExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::process::Signal;
use serde_json::Value;

use crate::failure::{Context, Failure};
use crate::{repository, run};

/// Makes an empty data folder, without what an earlier run left there. Its host uses the code that others
/// compiled.
pub fn replace_data(data: &Path) -> Result<(), Failure> {
    if data.exists() {
        fs::remove_dir_all(data).context(format!("removing {}", data.display()))?;
    }
    // The service refuses a folder that others may use.
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(data)
        .context(format!("creating {}", data.display()))?;
    xtask::compiled::share(&repository::target(), data)
        .context(format!("writing {}", data.display()))
}

/// A running service for one test.
pub struct Service {
    pub program: PathBuf,
    /// The folder of the test: the log, the data, and the test's own files.
    pub folder: PathBuf,
    pub data: PathBuf,
    child: Child,
}

impl Service {
    /// Starts it in a fresh data folder, with a SQLite file in it unless `store`
    /// names a database.
    pub fn start(
        program: &Path,
        folder: &Path,
        workspace: &Path,
        store: Option<&str>,
    ) -> Result<Self, Failure> {
        let data = folder.join("data");
        replace_data(&data)?;
        let log = folder.join("service.log");
        let log = fs::File::create(&log).context(format!("creating {}", log.display()))?;
        let mut command = Command::new(program);
        command
            .arg("serve")
            .args(["--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"])
            .arg("--data-dir")
            .arg(&data)
            .arg("--inbox")
            .arg(repository::target().join("plugins"))
            .arg("--first-apply")
            .arg(workspace)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            // An interrupt ends this task, which then stops the service.
            .process_group(0);
        if let Some(store) = store {
            command.env("LEADHOST_STORE_URL", store);
        }
        let child = command
            .spawn()
            .context(format!("starting {}", program.display()))?;
        let mut own = Self {
            program: program.to_owned(),
            folder: folder.to_owned(),
            data,
            child,
        };
        let is_there = run::wait_for(&own.data.join("keys.json"), &mut own.child)
            && run::wait_for(&own.data.join("service.json"), &mut own.child);
        if is_there {
            return Ok(own);
        }
        own.stop();
        Err(Failure::new("the service did not start")
            .hint(format!("{}/service.log says why", folder.display())))
    }

    /// The keys and ids of its workspace.
    pub fn keys(&self) -> Result<Value, Failure> {
        self.read("keys.json")
    }

    /// Host and port of the `gateway`, which includes the data API, or of
    /// `admin`.
    pub fn address(&self, name: &str) -> Result<String, Failure> {
        let said = self.read("service.json")?;
        Ok(said[name].as_str().unwrap_or_default().to_owned())
    }

    fn read(&self, name: &str) -> Result<Value, Failure> {
        let path = self.data.join(name);
        let text = fs::read_to_string(&path).context(format!("reading {}", path.display()))?;
        serde_json::from_str(&text).context(format!("reading {}", path.display()))
    }

    /// Lets it finish its work in flight.
    pub fn stop(mut self) {
        run::signal(&self.child, Signal::TERM);
        let _ = self.child.wait();
    }
}
