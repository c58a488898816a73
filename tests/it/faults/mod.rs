//! Faults that no other folder covers: each test does one thing to the program itself and
//! reports a figure. The sizes are for a usual run; `cargo xtask faults` sets larger ones.

mod bombs;
pub mod clock;
mod overload;
mod scarce;
mod schema;
mod soak;
mod sync;
mod upgrade;

use std::process::Command;

use leadhost_tests::program::binary;

/// The program, started by a shell that first runs this.
fn after(preparation: &str) -> Command {
    let mut shell = Command::new("sh");
    shell
        .args(["-c", &format!("{preparation} && exec \"$0\" \"$@\"")])
        .arg(binary());
    shell
}
