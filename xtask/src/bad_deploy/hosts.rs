//! The built service with a data folder of its own, on free ports of the loopback interface: one
//! host on SQLite, or three on a PostgreSQL database.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::process::Signal;
use serde_json::Value;
use xtask::double::proof::base64;

use crate::failure::{Context, Failure};
use crate::{run, service};

/// The names of the hosts, and of their data folders.
const ON_SQLITE: &[&str] = &["a"];
const ON_POSTGRES: &[&str] = &["a", "b", "c"];

/// The running hosts. They are stopped with this value.
pub struct Hosts(Vec<Host>);

struct Host {
    data: PathBuf,
    child: Child,
}

impl Hosts {
    /// Starts them in fresh data folders, on the database that `store` names.
    pub fn start(program: &Path, folder: &Path, store: Option<&str>) -> Result<Self, Failure> {
        let names = match store {
            None => ON_SQLITE,
            Some(_) => ON_POSTGRES,
        };
        let key = sealing_key()?;
        let mut own = Self(Vec::new());
        // One after the other: the first makes the tables and the admin key.
        for name in names {
            let mut command = Command::new(program);
            without_settings(&mut command);
            if let Some(store) = store {
                command
                    .env("LEADHOST_STORE_URL", store)
                    .env("LEADHOST_SEALING_KEY", &key);
            }
            own.0.push(Host::start(command, folder, name)?);
            if let Some(host) = own.0.last_mut()
                && !run::wait_for(&host.data.join("service.json"), &mut host.child)
            {
                return Err(Failure::new(format!("host {name} did not start")));
            }
        }
        Ok(own)
    }

    /// The data folder of the first host, in which commands find the admin key.
    pub fn data(&self) -> &Path {
        &self.0[0].data
    }

    /// The addresses of all gateways, each of which serves the data API too.
    pub fn gateways(&self) -> Result<Vec<String>, Failure> {
        self.0.iter().map(Host::gateway).collect()
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        for host in &mut self.0 {
            if let Ok(None) = host.child.try_wait() {
                run::signal(&host.child, Signal::TERM);
            }
        }
        // They finish their work in flight.
        for host in &mut self.0 {
            let _ = host.child.wait();
        }
    }
}

impl Host {
    fn start(mut command: Command, folder: &Path, name: &str) -> Result<Self, Failure> {
        let data = folder.join(name);
        service::replace_data(&data)?;
        let log = folder.join(format!("{name}.log"));
        let log = fs::File::create(&log).context(format!("creating {}", log.display()))?;
        // In the group of this task, so that the terminal's Ctrl-C reaches the hosts too.
        let child = command
            .arg("serve")
            .args(["--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"])
            .arg("--data-dir")
            .arg(&data)
            .arg("--set")
            .arg(format!("server.name={name}"))
            // Three hosts and other tests share the server.
            .args(["--set", "store.connections=8"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .context(format!("starting host {name}"))?;
        Ok(Self { data, child })
    }

    fn gateway(&self) -> Result<String, Failure> {
        let path = self.data.join("service.json");
        let text = fs::read_to_string(&path).context(format!("reading {}", path.display()))?;
        let said: Value =
            serde_json::from_str(&text).context(format!("reading {}", path.display()))?;
        Ok(said["gateway"].as_str().unwrap_or_default().to_owned())
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

/// Returns a sealing key for all hosts.
fn sealing_key() -> Result<String, Failure> {
    let mut key = [0; 32];
    fs::File::open("/dev/urandom")
        .and_then(|mut random| random.read_exact(&mut key))
        .context("making a sealing key")?;
    Ok(base64(&key))
}
