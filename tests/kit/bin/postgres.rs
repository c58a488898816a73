//! What the repository's tasks ask the tests about PostgreSQL:
//!
//! - `find` says which server they would use, or why there is none (status 1);
//! - `sweep` removes what ended runs have left on a server that is not private.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command-line program speaks on its standard streams"
)]

use std::process::ExitCode;

use leadhost_tests::postgres;

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match std::env::args().nth(1).as_deref() {
        Some("find") => match postgres::how().await {
            Ok(server) => println!("{server}"),
            Err(reason) => {
                eprintln!("{reason}");
                return ExitCode::FAILURE;
            }
        },
        Some("sweep") => {
            for removed in postgres::sweep().await {
                println!("removed {removed}");
            }
        }
        _ => {
            eprintln!("find or sweep");
            return ExitCode::from(2);
        }
    }
    ExitCode::SUCCESS
}
