//! A PostgreSQL server of our own: all its files are in one folder.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use crate::postgres_programs::Binaries;

/// How long `pg_ctl` waits for the server to start, stop or be promoted, in seconds.
const PATIENCE: &str = "300";

/// The watchdog's script: $1 programs, $2 data, $3 folder. A frozen process
/// receives the stop only after it is continued; one that is starting may still
/// write.
const WATCH: &str = r#"
cat > /dev/null
kill -CONT "$(head -n 1 "$2/postmaster.pid")"
"$1/pg_ctl" stop -D "$2" -m immediate
for try in 1 2 3 4 5 6 7 8 9; do
  find "$3" -mindepth 1 -delete && break
  sleep 1
done
"#;

/// It listens on the loopback interface and on a socket in its folder, which belongs to the
/// account of its programs.
pub struct Cluster {
    pub programs: Binaries,
    pub folder: PathBuf,
}

impl Cluster {
    pub fn data(&self) -> PathBuf {
        self.folder.join("cluster")
    }

    /// Makes its files with these options of `initdb`, and adds settings to the defaults.
    pub fn make(&self, options: &[&str], settings: &str) -> Result<(), String> {
        let mut initdb = self.programs.command("initdb");
        initdb
            .arg("--pgdata")
            .arg(self.data())
            .args(["--username=postgres", "--encoding=UTF8", "--locale=C"])
            .arg("--no-instructions")
            .args(options);
        run(&mut initdb)?;
        let file = self.data().join("postgresql.conf");
        fs::read_to_string(&file)
            .and_then(|usual| fs::write(&file, format!("{usual}{settings}")))
            .map_err(|error| format!("{}: {error}", file.display()))
    }

    pub fn start(&self, port: u16) -> Result<(), String> {
        let options = format!(
            "-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={}",
            self.folder.display()
        );
        let mut start = self.control("start");
        start
            .args(["--wait", "--options", &options, "--log"])
            .arg(self.folder.join("log"));
        run(&mut start).map_err(|error| {
            let log = self.log();
            let last: Vec<&str> = log.lines().rev().take(20).collect();
            let last: Vec<&str> = last.into_iter().rev().collect();
            format!("{error}\n{}", last.join("\n"))
        })
    }

    /// Stops it in one of the ways of `pg_ctl`.
    pub fn stop(&self, mode: &str) -> Result<(), String> {
        run(self.control("stop").args(["-m", mode]))
    }

    /// Makes the server of a standby.
    pub fn promote(&self) -> Result<(), String> {
        run(self.control("promote").arg("--wait"))
    }

    pub fn is_running(&self) -> bool {
        let status = self.control("status").output();
        status.is_ok_and(|said| said.status.success())
    }

    pub fn log(&self) -> String {
        fs::read_to_string(self.folder.join("log")).unwrap_or_default()
    }

    /// Its processes, the first one in front, from the system's list: also while it does not
    /// answer.
    pub fn processes(&self) -> Vec<u32> {
        let file = fs::read_to_string(self.data().join("postmaster.pid")).unwrap_or_default();
        let first = file
            .lines()
            .next()
            .and_then(|line| line.trim().parse().ok());
        let Some(first) = first else {
            return Vec::new();
        };
        let all = fs::read_dir("/proc").into_iter().flatten().flatten();
        let children = all
            .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
            .filter(|process| parent(*process) == Some(first));
        std::iter::once(first).chain(children).collect()
    }

    /// Starts a watchdog, a separate process that holds one end of a pipe to this one. When the
    /// pipe breaks, however this process ends, it stops the server at once and deletes its folder.
    pub fn watch(&self) -> Result<Watchdog, String> {
        let shell = self
            .programs
            .as_account("/bin/sh")
            .args(["-c", WATCH, "watch"])
            .args([&self.programs.folder, &self.data(), &self.folder])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| format!("/bin/sh: {error}"))?;
        Ok(Watchdog {
            shell,
            folder: self.folder.clone(),
        })
    }

    fn control(&self, verb: &str) -> Command {
        let mut command = self.programs.command("pg_ctl");
        command.arg(verb).arg("--pgdata").arg(self.data());
        command.args(["--timeout", PATIENCE]);
        command
    }
}

/// Stops and deletes its server when it is dropped.
pub struct Watchdog {
    shell: Child,
    folder: PathBuf,
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        drop(self.shell.stdin.take());
        let _ = self.shell.wait();
        // It is empty. Its parent may belong to another account than the shell's.
        let _ = fs::remove_dir(&self.folder);
    }
}

fn parent(process: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name is in parentheses and may contain anything.
    let after = stat.rsplit_once(')')?.1;
    after.split_whitespace().nth(1)?.parse().ok()
}

/// Runs a command to its end. Returns what it said if it fails.
fn run(command: &mut Command) -> Result<(), String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.output();
    let output = output.map_err(|error| format!("{program}: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!(
        "{program} ended with {}: {}{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    ))
}
