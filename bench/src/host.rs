//! The service under measurement: the real program in a process of its own,
//! with an empty data folder, a workspace and an active converter.

use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::http::Client;
use crate::process::Process;
use crate::{Arguments, Failure};

/// The name of the connection that receives the leads.
const CONNECTION: &str = "portal";

pub struct Host {
    pub process: Process,
    pub gateway: SocketAddr,
    pub data: SocketAddr,
    pub admin: SocketAddr,
    folder: PathBuf,
}

/// The result of a declaration.
pub struct Workspace {
    pub id: String,
    /// The connection that receives the leads, and its path.
    pub connection: String,
    pub path: String,
    /// The key of the data API.
    pub key: String,
    pub partner_key: String,
}

impl Host {
    /// Starts the program on a data folder and waits until it is ready. `store`
    /// contains lines for that section of its configuration.
    pub fn start(program: &Path, folder: &Path, store: &str) -> Result<Self, Failure> {
        Self::start_as("", program, folder, store)
    }

    /// Starts one of several hosts on a database, with this name.
    pub fn start_as(
        name: &str,
        program: &Path,
        folder: &Path,
        store: &str,
    ) -> Result<Self, Failure> {
        // The service refuses a folder that others may use.
        std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o700))?;
        let config = folder.join("bench.toml");
        std::fs::write(&config, config_of(name, folder, store))?;
        let addresses = folder.join("service.json");
        // The addresses of an earlier start are stale.
        match std::fs::remove_file(&addresses) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error.into()),
            _ => {}
        }
        let mut process = Process::start(
            "leadhost",
            Command::new(program)
                // The same sealing key for every host of a database: all bits are zero.
                .env("LEADHOST_SEALING_KEY", format!("{}=", "A".repeat(43)))
                .arg("serve")
                .arg("--config")
                .arg(&config),
        )?;
        let said: Value = process.wait_for("it reported its addresses", || {
            serde_json::from_slice(&std::fs::read(&addresses).ok()?).ok()
        })?;
        let address = |name| -> Result<SocketAddr, Failure> { Ok(text(&said, name)?.parse()?) };
        let mut host = Self {
            gateway: address("/gateway")?,
            data: address("/data")?,
            admin: address("/admin")?,
            process,
            folder: folder.to_owned(),
        };
        host.process.wait_until_ready(host.gateway)?;
        Ok(host)
    }

    /// Starts a host on an empty store, with a workspace of one connection to the active
    /// converter.
    pub fn with_workspace(
        arguments: &Arguments,
        program: &Path,
        folder: &Path,
        store: &str,
    ) -> Result<(Self, Workspace), Failure> {
        let host = Self::start(program, folder, store)?;
        host.activate(&arguments.component()?)?;
        let workspace = host.apply()?;
        Ok((host, workspace))
    }

    /// Like [`Self::with_workspace`], and stops the host. Compiled code is at hand for the
    /// next start.
    pub fn prepare(
        arguments: &Arguments,
        program: &Path,
        folder: &Path,
        store: &str,
    ) -> Result<Workspace, Failure> {
        let (host, workspace) = Self::with_workspace(arguments, program, folder, store)?;
        host.stop()?;
        Ok(workspace)
    }

    pub fn admin(&self) -> Result<Client, Failure> {
        self.admin_with_key_of(self)
    }

    /// Returns a client with the key of another host: of several hosts on a database only
    /// the first has created one.
    pub fn admin_with_key_of(&self, other: &Self) -> Result<Client, Failure> {
        Client::connect(self.admin, Some(&other.admin_key()?))
    }

    /// Returns the admin key that the first start has created.
    pub fn admin_key(&self) -> Result<String, Failure> {
        let path = self.folder.join("admin.key");
        let key = std::fs::read_to_string(&path)
            .map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(key.trim().to_owned())
    }

    /// Uploads a component and activates it; returns its digest.
    pub fn activate(&self, component: &[u8]) -> Result<String, Failure> {
        text(&upload(&mut self.admin()?, component, true)?, "/digest")
    }

    pub fn store(&self, component: &[u8]) -> Result<String, Failure> {
        text(&upload(&mut self.admin()?, component, false)?, "/digest")
    }

    /// Activates a stored version; returns the answer.
    pub fn activate_stored(admin: &mut Client, digest: &str) -> Result<Value, Failure> {
        let body = json!({"digest": digest, "accept": ["older"]});
        admin.post_json("/admin/v1/plugins/grupo-olx/activate", &body)
    }

    /// Applies a workspace; returns the service's report.
    pub fn declare(&self, declaration: &Value) -> Result<Value, Failure> {
        let mut admin = self.admin()?;
        admin.post_json("/admin/v1/apply?dryRun=false", declaration)
    }

    pub fn apply(&self) -> Result<Workspace, Failure> {
        self.apply_as("bench", "grupo-olx", &json!({}))
    }

    /// Declares a workspace of this name with one connection to a converter with this
    /// configuration.
    pub fn apply_as(&self, name: &str, plugin: &str, config: &Value) -> Result<Workspace, Failure> {
        let declaration = |rate_limit: u32| {
            json!({
                "workspace": {"slug": name, "name": name, "rate_limit": rate_limit},
                "partners": [{"name": "crm"}],
                "instances": [{"name": "bot", "kind": "ai"}],
                "connections": [{
                    "name": CONNECTION, "partner": "crm", "instance": "bot", "plugin": plugin,
                    "config": config,
                }],
                "keys": [
                    {"kind": "workspace", "label": name},
                    {"kind": "partner", "label": "crm", "partner": "crm"},
                ],
            })
        };
        // An older baseline may not allow such a rate.
        let report = self
            .declare(&declaration(10_000_000))
            .or_else(|_| self.declare(&declaration(1_000_000)))?;
        let connection = text(&report, &format!("/connections/{CONNECTION}"))?;
        Ok(Workspace {
            id: text(&report, "/workspaceId")?,
            path: format!("/ingest-lead/{connection}"),
            connection,
            key: key(&report, "workspace")?,
            partner_key: key(&report, "partner")?,
        })
    }

    pub fn stop(self) -> Result<(), Failure> {
        self.process.stop()
    }
}

pub fn database(folder: &Path) -> PathBuf {
    folder.join("leadhost.db")
}

pub fn upload(admin: &mut Client, component: &[u8], activate: bool) -> Result<Value, Failure> {
    let path = format!("/admin/v1/plugins?activate={activate}");
    admin.post(&path, "application/wasm", component)?.json()
}

pub fn text(answer: &Value, pointer: &str) -> Result<String, Failure> {
    let text = answer.pointer(pointer).and_then(Value::as_str);
    text.map(str::to_owned)
        .ok_or_else(|| format!("an answer without {pointer}: {answer}").into())
}

/// Returns the key of a kind from the report of a declaration.
pub fn key(report: &Value, kind: &str) -> Result<String, Failure> {
    let mut keys = report["keys"].as_array().into_iter().flatten();
    let key = keys.find(|key| key["kind"] == kind);
    text(key.unwrap_or(&Value::Null), "/key")
}

/// Checks that every host follows a command.
pub fn nobody_is_behind(answer: &Value) -> Result<(), Failure> {
    match answer["behind"].as_array() {
        Some(behind) if behind.is_empty() => Ok(()),
        _ => Err(format!("not every host follows: {answer}").into()),
    }
}

/// Returns the configuration: free ports, no access log (the peer writes none either), and
/// no bound on a connection's deliveries per second.
fn config_of(name: &str, folder: &Path, store: &str) -> String {
    let name = match name {
        "" => String::new(),
        name => format!("name = {name:?}\n"),
    };
    format!(
        "[server]\n{name}listen = \"127.0.0.1:0\"\nadmin_listen = \"127.0.0.1:0\"\n\n\
         [intake]\nconnection_rate = 0\n\n\
         [store]\ndata_dir = {folder:?}\n{store}\n\
         [log]\nfilter = \"warn\"\n"
    )
}
