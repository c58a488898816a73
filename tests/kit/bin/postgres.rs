//! PostgreSQL for the repository's tasks:
//!
//! - `database` creates an empty database, prints its address, and drops it
//!   when standard input ends;
//! - `find` prints the server that the tests would use, or the reason why there
//!   is none (exit status 1);
//! - `sweep` drops what earlier runs have left on a server that is not private.
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
        Some("database") => {
            let Some(database) = postgres::empty_database().await else {
                return ExitCode::FAILURE;
            };
            println!("{}", database.url());
            // The caller holds the other end.
            let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
        }
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
            eprintln!("database, find or sweep");
            return ExitCode::from(2);
        }
    }
    ExitCode::SUCCESS
}
