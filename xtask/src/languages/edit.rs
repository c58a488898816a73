//! The time from an edit of a project's source until `leadhost plugin dev` serves it, as the command
//! itself reports it.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, ChildStdout, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use rustix::process::{Pid, Signal};

use super::{Made, PATIENCE, Project};
use crate::failure::{Context, Failure};
use crate::files;

/// What `describe` answers in every template, before the name.
const SUMMARY: &str = "Leads of ";
const EDITED: &str = "Edited leads of ";

/// The two parts of the time from an edit until it is served.
#[derive(Clone, Copy)]
pub struct Edit {
    pub build: Duration,
    /// From the end of the build until the new version serves.
    pub serve: Duration,
}

/// Starts `plugin dev` on a built project, edits its source, and waits until the edit is served.
pub fn measure(made: &Made<'_>) -> Result<Edit, Failure> {
    let mut command = made.leadhost(&["plugin", "dev", ".", "--quiet"]);
    command.envs(made.toolchain.variables());
    let child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .context("starting `leadhost plugin dev`")?;
    let mut dev = Dev::new(child)?;
    dev.next()?;
    let Project { language, kind } = made.project;
    let path = made.folder.join(language.source.replace("KIND", kind));
    let text = files::text(&path)?;
    let edited = text.replacen(SUMMARY, EDITED, 1);
    if edited == text {
        let what = format!("{} has no `{SUMMARY}` to edit", path.display());
        return Err(Failure::new(what));
    }
    files::write(&path, edited)?;
    dev.next()
}

/// A running `plugin dev`. It is interrupted at the end, and removes its private data.
struct Dev {
    child: Child,
    lines: Receiver<String>,
}

impl Dev {
    fn new(mut child: Child) -> Result<Self, Failure> {
        let output = child.stdout.take();
        let output = output.ok_or_else(|| Failure::new("`plugin dev` has no standard output"))?;
        Ok(Self {
            child,
            lines: lines(output),
        })
    }

    fn next(&mut self) -> Result<Edit, Failure> {
        loop {
            let line = self.lines.recv_timeout(PATIENCE);
            let line = line.context("waiting until `leadhost plugin dev` serves a version")?;
            if let Some(edit) = read(&line) {
                return Ok(edit);
            }
        }
    }
}

impl Drop for Dev {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = rustix::process::kill_process(Pid::from_child(&self.child), Signal::INT);
        let _ = self.child.wait();
    }
}

fn lines(output: ChildStdout) -> Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    receiver
}

/// Reads the line that the command prints when a version serves.
fn read(line: &str) -> Option<Edit> {
    let (_, times) = line.split_once(": built in ")?;
    let (build, rest) = times.split_once(" s, ")?;
    let (_, serve) = rest.split_once("serving after ")?;
    let seconds = |text: &str| Some(Duration::from_secs_f64(text.parse().ok()?));
    Some(Edit {
        build: seconds(build)?,
        serve: seconds(serve.strip_suffix(" s.")?)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_times_are_read_from_the_line_of_a_version_that_serves() {
        let line = "a 1.0.0 (3f2a): built in 2.1 s, 5 golden cases passed, serving after 0.4 s.";
        let edit = read(line).expect("the line has both times");
        assert_eq!(edit.build, Duration::from_millis(2_100));
        assert_eq!(edit.serve, Duration::from_millis(400));
        assert!(read("POST ingest-lead: 200 converted, 6.3 ms").is_none());
        assert!(read("FAILED the build, after 2.1 s: status 1").is_none());
    }
}
