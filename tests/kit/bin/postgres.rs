//! What the repository's tasks ask the tests about PostgreSQL:
//!
//! - `database` makes an empty one, says its address, and removes it when its
//!   input ends;
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
        Some("database") => {
            let Some(database) = postgres::empty_database().await else {
                return ExitCode::FAILURE;
            };
            println!("{}", database.url());
            // Whoever asked for it holds the other end.
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
