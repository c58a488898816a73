//! What the author types while a project is served: `r` renews the golden cases.

use std::io::{BufRead as _, IsTerminal as _};

use rustix::process::getpgrp;
use rustix::termios::tcgetpgrp;
use tokio::sync::mpsc;

/// Lines that may wait.
const WAITING: usize = 1;

/// Returns the receiver of the wishes to renew golden cases.
pub fn renewals() -> mpsc::Receiver<()> {
    let (wishes, receiver) = mpsc::channel(WAITING);
    if may_read() {
        // A read cannot be ended: the thread ends with the process.
        std::thread::spawn(move || {
            let lines = std::io::stdin().lock().lines().map_while(Result::ok);
            for _ in lines.filter(|line| line.trim() == "r") {
                if wishes.blocking_send(()).is_err() {
                    return;
                }
            }
        });
    }
    receiver
}

/// A terminal stops a process that reads it in the background.
fn may_read() -> bool {
    let input = std::io::stdin();
    !input.is_terminal() || tcgetpgrp(&input).is_ok_and(|group| group == getpgrp())
}
