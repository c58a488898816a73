//! The peers under measurement, each one Node process: fastify with
//! better-sqlite3 or with pg, see `peer-node`.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::Failure;
use crate::host::Workspace;
use crate::process::Process;
use crate::report::{Report, output};

/// Any 22 characters: the peer knows one connection.
const CONNECTION: &str = "BenchBenchBenchBench00";

pub struct Peer {
    pub process: Process,
    pub address: SocketAddr,
}

impl Peer {
    /// Starts the peer with SQLite on an empty data folder and waits until it answers.
    pub fn start(bench: &Path, folder: &Path) -> Result<Self, Failure> {
        Self::run(
            Command::new("node")
                .arg(bench.join("peer-node/server.mjs"))
                .arg("--data")
                .arg(folder)
                .arg("--schema")
                .arg(schema(bench)),
        )
    }

    /// Starts the peer with PostgreSQL on an empty database; `write` selects how it
    /// writes a request's rows, see there.
    pub fn start_postgres(bench: &Path, url: &str, write: &str) -> Result<Self, Failure> {
        let schema = bench.join("peer-node/schema-postgres.sql");
        Self::run(
            Command::new("node")
                .arg(bench.join("peer-node/server-postgres.mjs"))
                .args(["--url", url, "--write", write])
                .arg("--schema")
                .arg(schema),
        )
    }

    /// Starts the peer that exports messages of this workspace from a file with the peer's
    /// [`schema`].
    pub fn start_export(
        bench: &Path,
        database: &Path,
        workspace: &Workspace,
    ) -> Result<Self, Failure> {
        Self::run(
            Command::new("node")
                .arg(bench.join("peer-node/export.mjs"))
                .arg("--database")
                .arg(database)
                .args(["--workspace", &workspace.id, "--key", &workspace.key]),
        )
    }

    fn run(command: &mut Command) -> Result<Self, Failure> {
        // The port was free a moment ago, and no other process takes ports here.
        let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?
            .local_addr()?
            .port();
        let mut process = Process::start(
            "node",
            command.env("NODE_ENV", "production").args([
                "--port",
                &port.to_string(),
                "--connection",
                CONNECTION,
            ]),
        )?;
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
