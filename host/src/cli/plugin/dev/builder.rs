//! One build of a project: its commands in a shell of their own process group, so that all that they
//! started ends with them. The output is kept, bounded, and shown only of a build that fails.

use std::collections::VecDeque;
use std::io;
use std::os::fd::OwnedFd;
use std::process::{ExitStatus, Stdio};
use std::time::Instant;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe;
use tokio::process::{Child, Command};

use crate::cli::prelude::*;
use leadhost_config::shutdown::Shutdown;

/// Bytes of a build's output that are kept: the first and the last ones of so many.
const KEPT_BYTES: usize = 128 << 10;

/// How long a build may take to end by itself after the signal to end.
const PATIENCE: Duration = Duration::from_secs(2);

/// How long output is awaited of what a build left running.
const REST: Duration = Duration::from_millis(200);

/// The period of the line that shows how long a build takes.
const SHOWN_EVERY: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub enum BuildOutcome {
    Built(Duration),
    Failed {
        took: Duration,
        /// How it ended, in words.
        how: String,
        said: String,
    },
    /// The command was stopped while it built.
    Stopped(Duration),
}

/// Runs the commands in the folder, one after the other, until one fails or the shutdown begins.
pub async fn run(
    folder: &Path,
    commands: &[String],
    what: &str,
    shutdown: &Shutdown,
) -> io::Result<BuildOutcome> {
    let begun = Instant::now();
    let (mut output, input) = output_pipe()?;
    let mut build = RunningBuild::start(folder, commands, input)?;
    let mut said = KeptOutput::default();
    let progress = ProgressLine::start(what);
    if !progress.is_shown() {
        complain_line!("{what}: {}", commands.join("; "));
    }
    let mut tick = tokio::time::interval(SHOWN_EVERY);
    let mut buffer = vec![0; 16 << 10];
    let mut is_open = true;
    let status = loop {
        tokio::select! {
            status = build.child.wait() => break status?,
            read = output.read(&mut buffer), if is_open => match read {
                Ok(0) | Err(_) => is_open = false,
                Ok(bytes) => said.add(&buffer[..bytes]),
            },
            _ = tick.tick() => {
                progress.update(&format!("{what}, {} s", begun.elapsed().as_secs()));
            }
            () = shutdown.begun() => {
                build.end().await;
                return Ok(BuildOutcome::Stopped(begun.elapsed()));
            }
        }
    };
    let took = begun.elapsed();
    build.is_over = true;
    // What the build left running may hold the pipe open.
    let rest = async {
        while is_open {
            match output.read(&mut buffer).await {
                Ok(0) | Err(_) => is_open = false,
                Ok(bytes) => said.add(&buffer[..bytes]),
            }
        }
    };
    let _ = tokio::time::timeout(REST, rest).await;
    drop(progress);
    Ok(if status.success() {
        BuildOutcome::Built(took)
    } else {
        BuildOutcome::Failed {
            took,
            how: how(status),
            said: said.text(),
        }
    })
}

fn output_pipe() -> io::Result<(pipe::Receiver, OwnedFd)> {
    let (reader, writer) = io::pipe()?;
    Ok((pipe::Receiver::from_owned_fd(reader.into())?, writer.into()))
}

fn how(status: ExitStatus) -> String {
    match status.code() {
        Some(code) => format!("exit code {code}"),
        None => status.to_string(),
    }
}

struct RunningBuild {
    child: Child,
    group: Option<Pid>,
    /// The shell has ended. Processes that it left running on purpose, such as a compiler's daemon, stay.
    is_over: bool,
}

impl RunningBuild {
    fn start(folder: &Path, commands: &[String], output: OwnedFd) -> io::Result<Self> {
        let child = Command::new("sh")
            .arg("-ec")
            .arg(commands.join("\n"))
            .current_dir(folder)
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(output)
            // Ctrl-C at the terminal is for this program, which then ends the group.
            .process_group(0)
            .kill_on_drop(true)
            .spawn()?;
        let id = child.id().and_then(|id| i32::try_from(id).ok());
        Ok(Self {
            child,
            group: id.and_then(Pid::from_raw),
            is_over: false,
        })
    }

    /// Ends all processes of the group: first by a signal that they may handle.
    async fn end(&mut self) {
        self.signal(Signal::TERM);
        let _ = tokio::time::timeout(PATIENCE, self.child.wait()).await;
        self.signal(Signal::KILL);
        self.is_over = true;
    }

    fn signal(&self, signal: Signal) {
        if let Some(group) = self.group {
            // The group is gone if all of its processes have ended.
            let _ = kill_process_group(group, signal);
        }
    }
}

impl Drop for RunningBuild {
    fn drop(&mut self) {
        if !self.is_over {
            self.signal(Signal::KILL);
        }
    }
}

#[derive(Default)]
struct KeptOutput {
    first: Vec<u8>,
    last: VecDeque<u8>,
    left_out: usize,
}

impl KeptOutput {
    fn add(&mut self, bytes: &[u8]) {
        let room = (KEPT_BYTES / 2).saturating_sub(self.first.len());
        let (first, rest) = bytes.split_at(room.min(bytes.len()));
        self.first.extend_from_slice(first);
        self.last.extend(rest);
        let over = self.last.len().saturating_sub(KEPT_BYTES / 2);
        self.last.drain(..over);
        self.left_out += over;
    }

    /// Returns it as text. Tabs are blanks: the terminal gets no other control characters.
    fn text(&self) -> String {
        let (first, last) = (&self.first, self.last.iter().copied().collect::<Vec<u8>>());
        let gap = match self.left_out {
            0 => String::new(),
            bytes => format!("\n[{bytes} bytes left out]\n"),
        };
        let text = if gap.is_empty() {
            // A character may be in both parts.
            String::from_utf8_lossy(&[&first[..], &last[..]].concat()).into_owned()
        } else {
            let (first, last) = (
                String::from_utf8_lossy(first),
                String::from_utf8_lossy(&last),
            );
            format!("{first}{gap}{last}")
        };
        text.replace('\t', "    ")
            .replace('\r', "")
            .trim_end()
            .to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn build(commands: &[&str]) -> BuildOutcome {
        let folder = tempfile::tempdir().expect("a folder");
        let commands: Vec<String> = commands.iter().map(ToString::to_string).collect();
        let built = run(folder.path(), &commands, "building", &Shutdown::new()).await;
        built.expect("the shell starts")
    }

    #[tokio::test]
    async fn the_first_command_that_fails_ends_a_build_with_all_that_was_said() {
        let built = build(&["echo one", "test ! -e x"]).await;
        assert!(matches!(built, BuildOutcome::Built(_)), "{built:?}");
        let failed = build(&["echo one", "echo two >&2; exit 3", "echo three"]).await;
        let BuildOutcome::Failed { how, said, .. } = failed else {
            panic!("it fails: {failed:?}");
        };
        assert_eq!((how.as_str(), said.as_str()), ("exit code 3", "one\ntwo"));
    }

    #[tokio::test]
    async fn a_background_process_of_a_build_does_not_delay_it() {
        let built = build(&["sleep 30 & echo done"]).await;
        let BuildOutcome::Built(took) = built else {
            panic!("it is built: {built:?}");
        };
        assert!(took < Duration::from_secs(30));
    }

    #[tokio::test]
    async fn a_build_that_hangs_ends_with_all_its_processes_when_it_is_stopped() {
        let folder = tempfile::tempdir().expect("a folder");
        let shutdown = Shutdown::new();
        let commands = ["sh -c 'echo $$ >inner; exec sleep 600' & wait".to_owned()];
        let building = run(folder.path(), &commands, "building", &shutdown);
        let inner = folder.path().join("inner");
        let stopping = async {
            let read = || std::fs::read_to_string(&inner).unwrap_or_default();
            while !read().ends_with('\n') {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            shutdown.begin();
            read()
        };
        let (built, inner) = tokio::join!(building, stopping);
        assert!(matches!(built, Ok(BuildOutcome::Stopped(_))), "{built:?}");
        let id = inner.trim().parse().ok().and_then(Pid::from_raw);
        let id = id.expect("an id");
        let is_dead = || {
            let is_there = rustix::process::test_kill_process(id).is_ok();
            // A zombie for which no process waits still has its id.
            let state = std::fs::read_to_string(format!("/proc/{}/stat", inner.trim()));
            !is_there || state.map_or(true, |state| state.contains(") Z"))
        };
        // A signal takes effect when the process is next scheduled.
        while !is_dead() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    #[test]
    fn long_output_keeps_its_beginning_and_its_end() {
        let mut said = KeptOutput::default();
        said.add(b"first\tline\n");
        for _ in 0..100 {
            said.add(&[b'x'; 10_000]);
        }
        said.add(b"last\n");
        let text = said.text();
        assert!(text.starts_with("first    line\n"), "{}", &text[..40]);
        assert!(text.ends_with("last"));
        assert!(text.contains("bytes left out]"));
        assert!(text.len() < KEPT_BYTES + 100);
    }
}
