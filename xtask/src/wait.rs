//! Waiting for other programs.

use std::path::Path;
use std::process::Child;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};

use crate::failure::Failure;

/// Blocks for a tenth of a second.
#[expect(
    clippy::disallowed_methods,
    reason = "another program's progress can only be asked for again"
)]
pub fn pause() {
    std::thread::sleep(Duration::from_millis(100));
}

/// Looks until there is something, for at most this time.
pub fn until<T>(
    what: &str,
    patience: Duration,
    mut look: impl FnMut() -> Result<Option<T>, Failure>,
) -> Result<T, Failure> {
    let end = Instant::now() + patience;
    loop {
        if let Some(found) = look()? {
            return Ok(found);
        }
        if Instant::now() >= end {
            let seconds = patience.as_secs();
            let what = format!("still waiting after {seconds} s: {what}");
            return Err(Failure::new(what));
        }
        pause();
    }
}

/// Waits for a file that a program writes. Returns false if the program ends first.
pub fn for_file(file: &Path, child: &mut Child) -> bool {
    while !file.exists() {
        if let Ok(Some(_)) = child.try_wait() {
            return false;
        }
        pause();
    }
    true
}

/// Signals a process of ours that may have ended.
pub fn signal(child: &Child, signal: Signal) {
    let _ = rustix::process::kill_process(Pid::from_child(child), signal);
}

/// Lets a process finish its work in flight, and waits for its end.
pub fn stop(child: &mut Child) {
    // A process that was waited for may have lent its number to another.
    if let Ok(None) = child.try_wait() {
        signal(child, Signal::TERM);
        let _ = child.wait();
    }
}
