//! Faults that no other folder covers: each test does one thing to the program itself
//! and reports a figure. The sizes are those of a usual run; `cargo xtask faults`
//! sets larger ones.

mod bombs;
mod clock;
mod overload;
mod scarce;
mod schema;
mod soak;
mod sync;
mod upgrade;

use std::path::Path;
use std::process::Command;

use leadhost_tests::program::binary;
use leadhost_tests::{On, Service};

/// The program, started by a shell that first runs this.
fn after(preparation: &str) -> Command {
    let mut shell = Command::new("sh");
    shell
        .args(["-c", &format!("{preparation} && exec \"$0\" \"$@\"")])
        .arg(binary());
    shell
}

/// Starts a service, without blocking the threads of the test.
async fn start_as(program: Command, on: &On, folder: &Path, flags: &[&str]) -> Service {
    tokio::task::block_in_place(|| Service::start_as(program, on, folder, flags))
}

/// A data client's key.
fn key(keys: &serde_json::Value) -> &str {
    keys["workspaceKey"].as_str().expect("a key")
}
