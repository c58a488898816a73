//! A measured program: started, observed through `/proc`, and ended by its process id.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::Failure;
use crate::http::Client;

pub struct Process {
    child: Child,
    name: &'static str,
}

impl Process {
    /// Starts a program without input and output. `name` names it in errors.
    pub fn start(name: &'static str, command: &mut Command) -> Result<Self, Failure> {
        let child = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .map_err(|error| format!("{name} cannot be started: {error}"))?;
        Ok(Self { child, name })
    }

    /// Waits until `look` returns a value, for at most a minute.
    pub fn wait_for<T>(
        &mut self,
        what: &str,
        mut look: impl FnMut() -> Option<T>,
    ) -> Result<T, Failure> {
        const PATIENCE: Duration = Duration::from_secs(60);
        let begin = Instant::now();
        loop {
            if let Some(found) = look() {
                return Ok(found);
            }
            if let Some(status) = self.child.try_wait()? {
                return Err(format!("{} ended with {status} before {what}", self.name).into());
            }
            if begin.elapsed() > PATIENCE {
                return Err(format!("{} took too long: {what}", self.name).into());
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    pub fn wait_until_ready(&mut self, address: SocketAddr) -> Result<(), Failure> {
        self.wait_for("it was ready", || {
            let mut client = Client::connect(address, None).ok()?;
            let answer = client.get("/health/ready", "").ok()?;
            (answer.status == 200).then_some(())
        })
    }

    pub fn processor(&self) -> Result<Duration, Failure> {
        ticks(self.child.id(), &[11, 12])
    }

    pub fn memory(&self) -> Result<Memory, Failure> {
        memory(&self.child.id().to_string())
    }

    /// Returns MiB by part, as the kernel sums up its mappings: `Rss`, `Pss` and so on.
    pub fn mappings(&self) -> Result<BTreeMap<String, f64>, Failure> {
        parts(&format!("/proc/{}/smaps_rollup", self.child.id()))
    }

    pub fn stop(mut self) -> Result<(), Failure> {
        if let Some(id) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw) {
            // The process may have ended already.
            let _ = kill_process(id, Signal::TERM);
        }
        let status = self.child.wait()?;
        if status.success() {
            return Ok(());
        }
        Err(format!("{} ended with {status}", self.name).into())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            drop(self.child.kill());
            drop(self.child.wait());
        }
    }
}

/// Returns a port that was free a moment ago: no other process takes ports here.
pub fn free_port() -> Result<u16, Failure> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    Ok(listener.local_addr()?.port())
}

/// Resident memory in MiB.
pub struct Memory {
    pub now: f64,
    /// The maximum so far.
    pub most: f64,
}

/// Returns the memory of a process, by its id or `self`.
pub fn memory(process: &str) -> Result<Memory, Failure> {
    let parts = parts(&format!("/proc/{process}/status"))?;
    let part = |name: &str| parts.get(name).copied().ok_or(UNREADABLE);
    Ok(Memory {
        now: part("VmRSS")?,
        most: part("VmHWM")?,
    })
}

const UNREADABLE: &str = "the kernel's account of a process cannot be read";

fn parts(path: &str) -> Result<BTreeMap<String, f64>, Failure> {
    let account = std::fs::read_to_string(path)?;
    Ok(account.lines().filter_map(part).collect())
}

/// Parses a line such as `Pss_Anon:   1024 kB`.
fn part(line: &str) -> Option<(String, f64)> {
    let (name, rest) = line.split_once(':')?;
    let kibibytes: f64 = rest.trim().strip_suffix(" kB")?.trim().parse().ok()?;
    Some((name.to_owned(), kibibytes / 1024.0))
}

/// Returns the processor time of a process: the sum of these fields of `/proc/PID/stat`,
/// counted after the name. 11 and 12 are its own, 13 and 14 its ended children's.
pub fn ticks(process: u32, fields: &[usize]) -> Result<Duration, Failure> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat"))?;
    // The name is in brackets and may contain spaces.
    let found: Vec<&str> = stat
        .rsplit_once(')')
        .map(|(_, rest)| rest.split_whitespace().collect())
        .unwrap_or_default();
    let mut sum = 0;
    for at in fields {
        let field: Option<u64> = found.get(*at).and_then(|field| field.parse().ok());
        sum += field.ok_or(UNREADABLE)?;
    }
    let per_second = rustix::param::clock_ticks_per_second();
    Ok(Duration::from_secs_f64(sum as f64 / per_second as f64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_has_a_name_and_a_size() {
        let (name, mebibytes) = part("Pss_Anon:           2048 kB").expect("a part");
        assert_eq!(name, "Pss_Anon");
        assert!((mebibytes - 2.0).abs() < f64::EPSILON);
        assert!(part("55d0-7ffe ---p 00000000 00:00 0       [rollup]").is_none());
    }
}
