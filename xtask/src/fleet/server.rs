//! The database server of the fleet: its own cluster in the data folder, on the loopback
//! interface, with a password for the service's login.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
use std::path::{Path, PathBuf};
use std::process::Command;

use xtask::postgres_programs::Binaries;

use crate::failure::{Context, Failure};
use crate::files;
use crate::install::Install;
use crate::process;

/// Below the ephemeral ports of the system.
const PORT: &str = "25432";
const LOGIN: &str = "leadhost";
const DATABASE: &str = "leads";

pub fn programs(install: Install) -> Result<Binaries, Failure> {
    Binaries::find().or_else(|_| {
        install.debian(&["postgresql"], "for the database of the hosts")?;
        Binaries::find().map_err(Failure::new)
    })
}

pub struct DatabaseServer {
    programs: Binaries,
    folder: PathBuf,
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
        let mut server = Self {
            programs,
            folder,
            password,
            was_running: false,
        };
        if !server.cluster().join("PG_VERSION").exists() {
            server.make()?;
        }
        server.was_running = server
            .control("status")
            .output()
            .is_ok_and(|said| said.status.success());
        if !server.was_running {
            server.run()?;
        }
        Ok(server)
    }

    fn run(&self) -> Result<(), Failure> {
        let log = self.folder.join("log");
        let started = process::output(
            self.control("start")
                .args(["--wait", "--timeout", "60", "--log"])
                .arg(&log)
                .arg("--options")
                .arg(format!(
                    "-p {PORT} -c listen_addresses=127.0.0.1 -c unix_socket_directories={} -c max_connections=100",
                    self.folder.display()
                )),
        );
        if started.is_ok() {
            return Ok(());
        }
        let said = fs::read_to_string(&log).unwrap_or_default();
        let lines: Vec<&str> = said.lines().collect();
        let last = &lines[lines.len().saturating_sub(5)..];
        Err(Failure::new(format!(
            "the database does not start on 127.0.0.1:{PORT}; its log {} ends with\n{}",
            log.display(),
            last.join("\n")
        )))
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
        process::output(self.control("stop").args(["-m", "fast"])).map(|_| ())
    }

    fn make(&self) -> Result<(), Failure> {
        process::output(
            self.programs
                .command("initdb")
                .arg("--pgdata")
                .arg(self.cluster())
                .args(["--username=postgres", "--encoding=UTF8", "--locale=C"])
                .args(["--auth-local=trust", "--auth-host=scram-sha-256"])
                .arg("--no-instructions"),
        )
        .map(|_| ())
    }

    /// Runs SQL as the superuser, over the socket, whose folder is closed to others.
    fn sql(&self, text: &str) -> Result<String, Failure> {
        // The client may be installed apart from the server.
        let own = self.programs.folder.join("psql");
        let mut command = if own.is_file() {
            self.programs.as_account(own)
        } else {
            self.programs.as_account("psql")
        };
        command
            .args(["--no-psqlrc", "--tuples-only", "--quiet"])
            .args(["--set", "ON_ERROR_STOP=1", "--username=postgres"])
            .args(["--port", PORT, "--host"])
            .arg(&self.folder)
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

    fn control(&self, verb: &str) -> Command {
        let mut command = self.programs.command("pg_ctl");
        command.arg(verb).arg("--pgdata").arg(self.cluster());
        command
    }

    fn cluster(&self) -> PathBuf {
        self.folder.join("cluster")
    }
}

/// Returns a folder that the server's account owns: in the data folder, or, if it cannot
/// reach that, as below root's home, among the system's own.
fn place(programs: &Binaries, data: &Path) -> Result<PathBuf, Failure> {
    let folder = data.join("postgres");
    let Some(account) = &programs.account else {
        return make(&folder);
    };
    let reached = data.ancestors().all(|parent| {
        parent
            .metadata()
            .is_ok_and(|found| found.mode() & 0o001 != 0)
    });
    let folder = if reached {
        folder
    } else {
        let name = data.display().to_string().replace('/', "-");
        let other = PathBuf::from(format!("/var/tmp/leadhost{name}"));
        eprintln!(
            "The database's account may not reach {}: its files are in {}.",
            data.display(),
            other.display()
        );
        other
    };
    make(&folder)?;
    chown(&folder, Some(account.uid), Some(account.gid))
        .context(format!("giving {} to the server", folder.display()))?;
    Ok(folder)
}

fn make(folder: &Path) -> Result<PathBuf, Failure> {
    fs::create_dir_all(folder)
        .and_then(|()| fs::set_permissions(folder, fs::Permissions::from_mode(0o700)))
        .context(format!("creating {}", folder.display()))?;
    Ok(folder.to_path_buf())
}
