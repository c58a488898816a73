//! The database server of the fleet: its own cluster in the data folder, on the loopback
//! interface, with a password for the service's login.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use xtask::postgres_cluster::Cluster;
use xtask::postgres_programs::Binaries;

use crate::failure::{Context, Failure};
use crate::files;
use crate::install::Install;

/// Below the ephemeral ports of the system.
const PORT: u16 = 25432;
const LOGIN: &str = "leadhost";
const DATABASE: &str = "leads";

pub fn programs(install: Install) -> Result<Binaries, Failure> {
    Binaries::find().or_else(|_| {
        install.debian(&["postgresql"], "for the database of the hosts")?;
        Binaries::find().map_err(Failure::new)
    })
}

pub struct DatabaseServer {
    cluster: Cluster,
    password: String,
    /// It was already running: a task that was killed has left it behind.
    pub was_running: bool,
}

impl DatabaseServer {
    /// Makes the cluster if there is none, and starts it.
    pub fn start(programs: Binaries, data: &Path) -> Result<Self, Failure> {
        files::make_folder(data)?;
        let folder = place(&programs, data)?;
        let password = super::secret(
            &data.join("database.password"),
            "head -c 24 /dev/urandom | base64 | tr -d '/+='",
        )?;
        let cluster = Cluster { programs, folder };
        if !cluster.data().join("PG_VERSION").exists() {
            cluster
                .make(&["--auth-local=trust", "--auth-host=scram-sha-256"], "")
                .map_err(Failure::new)?;
        }
        let was_running = cluster.is_running();
        if !was_running {
            cluster
                .start(PORT)
                .context(format!("the database does not start on 127.0.0.1:{PORT}"))?;
        }
        Ok(Self {
            cluster,
            password,
            was_running,
        })
    }

    /// Makes the login and the database of the service, as an administrator would.
    /// Returns the URL.
    pub fn database(&self) -> Result<String, Failure> {
        let login = format!(
            "do $$ begin
               if not exists (select from pg_roles where rolname = '{LOGIN}') then
                 create role {LOGIN} login createrole;
               end if;
             end $$;
             alter role {LOGIN} password '{}'",
            self.password
        );
        self.sql(&login)?;
        let there = self.sql(&format!(
            "select 1 from pg_database where datname = '{DATABASE}'"
        ))?;
        if there.trim().is_empty() {
            self.sql(&format!("create database {DATABASE} owner {LOGIN}"))?;
        }
        Ok(format!(
            "postgres://{LOGIN}:{}@127.0.0.1:{PORT}/{DATABASE}",
            self.password
        ))
    }

    pub fn stop(&self) -> Result<(), Failure> {
        self.cluster.stop("fast").map_err(Failure::new)
    }

    /// Runs SQL as the superuser, over the socket, whose folder is closed to others.
    fn sql(&self, text: &str) -> Result<String, Failure> {
        // The client may be installed apart from the server.
        let programs = &self.cluster.programs;
        let own = programs.folder.join("psql");
        let mut command = if own.is_file() {
            programs.as_account(own)
        } else {
            programs.as_account("psql")
        };
        command
            .args(["--no-psqlrc", "--tuples-only", "--quiet"])
            .args(["--set", "ON_ERROR_STOP=1", "--username=postgres"])
            .args(["--port", &PORT.to_string(), "--host"])
            .arg(&self.cluster.folder)
            .args(["--command", text]);
        // Not shown on failure: it may contain the password.
        let output = command.output().context("starting psql")?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        let complaint = String::from_utf8_lossy(&output.stderr);
        Err(Failure::new(format!(
            "psql ended with {}: {}",
            output.status,
            complaint.lines().next().unwrap_or_default()
        )))
    }
}

/// Returns a folder that the server's account owns: in the data folder, or, if it cannot
/// reach that, as below root's home, among the system's own.
fn place(programs: &Binaries, data: &Path) -> Result<PathBuf, Failure> {
    let mut folder = data.join("postgres");
    if !programs.reaches(data) {
        let name = data.display().to_string().replace('/', "-");
        folder = PathBuf::from(format!("/var/tmp/leadhost{name}"));
        eprintln!(
            "The database's account may not reach {}: its files are in {}.",
            data.display(),
            folder.display()
        );
    }
    fs::create_dir_all(&folder)
        .and_then(|()| fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)))
        .context(format!("creating {}", folder.display()))?;
    programs.give(&folder).map_err(Failure::new)?;
    Ok(folder)
}
