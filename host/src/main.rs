//! The program `leadhost`: its commands are in `cli`.

use std::process::ExitCode;

fn main() -> ExitCode {
    leadhost::cli::main()
}
