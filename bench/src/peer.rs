//! The peers under measurement, each one Node process: fastify with
//! better-sqlite3 or with pg, see `peer-node`.

use std::ffi::OsStr;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::Failure;
use crate::host::Workspace;
use crate::process::{Process, free_port};
use crate::report::{Report, output};

/// Any 22 characters: the peer knows one connection.
const CONNECTION: &str = "BenchBenchBenchBench00";

pub struct Peer {
    pub process: Process,
    pub address: SocketAddr,
}

impl Peer {
    pub fn start(bench: &Path, folder: &Path) -> Result<Self, Failure> {
        let schema = schema(bench);
        let options = [
            ("--data", folder.as_os_str()),
            ("--schema", schema.as_ref()),
        ];
        Self::run(bench, "server.mjs", &options)
    }

    /// Starts the peer with PostgreSQL on an empty database; `write` selects how it
    /// writes a request's rows, see there.
    pub fn start_postgres(bench: &Path, url: &str, write: &str) -> Result<Self, Failure> {
        let schema = bench.join("peer-node/schema-postgres.sql");
        let options = [
            ("--url", url.as_ref()),
            ("--write", write.as_ref()),
            ("--schema", schema.as_os_str()),
        ];
        Self::run(bench, "server-postgres.mjs", &options)
    }

    /// Starts the peer that exports messages of this workspace from a file with the peer's
    /// [`schema`].
    pub fn start_export(
        bench: &Path,
        database: &Path,
        workspace: &Workspace,
    ) -> Result<Self, Failure> {
        let options = [
            ("--database", database.as_os_str()),
            ("--workspace", workspace.id.as_ref()),
            ("--key", workspace.key.as_ref()),
        ];
        Self::run(bench, "export.mjs", &options)
    }

    fn run(bench: &Path, script: &str, options: &[(&str, &OsStr)]) -> Result<Self, Failure> {
        let port = free_port()?;
        let mut command = Command::new("node");
        command
            .env("NODE_ENV", "production")
            .arg(bench.join("peer-node").join(script))
            .args(["--port", &port.to_string(), "--connection", CONNECTION]);
        for (name, value) in options {
            command.arg(name).arg(value);
        }
        let mut process = Process::start("node", &mut command)?;
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        process.wait_until_ready(address)?;
        Ok(Self { process, address })
    }

    pub fn path() -> String {
        format!("/ingest-lead/{CONNECTION}")
    }

    pub fn stop(self) -> Result<(), Failure> {
        self.process.stop()
    }
}

pub fn schema(bench: &Path) -> PathBuf {
    bench.join("peer-node/schema.sql")
}

pub fn database(folder: &Path) -> PathBuf {
    folder.join("peer.db")
}

pub fn versions(bench: &Path, report: &mut Report) -> Result<(), Failure> {
    report.version("node", output("node", &["--version"]));
    let path = bench.join("peer-node/package.json");
    let manifest: Value = serde_json::from_slice(&std::fs::read(&path)?)?;
    for (name, version) in manifest["dependencies"].as_object().into_iter().flatten() {
        report.version(name, version.as_str().unwrap_or_default());
    }
    Ok(())
}
