//! The checks before a merge, the quick ones first. It stops at the first quick
//! check that fails and says what to do; the tests all run, so that one run reports
//! every failure.

use std::time::Instant;

use crate::args::Args;
use crate::console::Guide;
use crate::failure::Failure;
use crate::install::Install;
use crate::postgres::Postgres;
use crate::{api, clients, console, faults, openapi, process, repository, test, wit};

pub const HELP: &str = "\
Runs every check that a change must pass, quick ones first, and stops at the first
failure. The last five steps all run, even if one of them fails.

    cargo xtask ci [--no-install]

    format          cargo fmt --check
    contract        wit/ against the published contracts, and docs/contract.md against them
    document        docs/openapi.json and docs/openapi-admin.json against the service
    lints           cargo clippy, warnings are errors
    documentation   cargo doc, warnings are errors
    tests           cargo xtask test --guests; PostgreSQL is required
    api             cargo xtask test --api --browser
    console         cargo xtask test --console; PostgreSQL is required
    clients         cargo xtask test --clients; PostgreSQL is required
    faults          cargo xtask faults --short: docs/reliability.md is complete

    --no-install   never install anything; report what is missing
";

/// Runs all steps in their order; the first one that fails ends it.
///
/// # Errors
///
/// [`Failure`] of that step.
pub fn run(mut args: Args) -> Result<(), Failure> {
    let install = Install::from_args(&mut args);
    args.nothing_more()?;
    let steps: [(&str, Step<'_>); 10] = [
        ("format", &|| format(install)),
        ("contract", &|| {
            wit::run(Args::new(vec!["--check".to_owned()]))
        }),
        ("document", &|| {
            openapi::run(Args::new(vec!["--check".to_owned()]))
        }),
        ("lints", &|| lints(install)),
        ("documentation", &documentation),
        ("tests", &|| {
            let scope = test::TestScope {
                guests: true,
                nightly: false,
                postgres: Postgres::Required,
            };
            test::test(install, scope, &[])
        }),
        ("api", &|| {
            let scope = api::ApiScope {
                clients: true,
                browser: true,
            };
            api::test(install, scope)
        }),
        ("console", &|| {
            console::test(install, Postgres::Required, Guide::Left)
        }),
        ("clients", &|| clients::test(install, Postgres::Required)),
        ("faults", &faults::check),
    ];
    let count = steps.len();
    let mut failed = Vec::new();
    for (number, (name, step)) in steps.into_iter().enumerate() {
        let number = number + 1;
        eprintln!("\n[{number}/{count}] {name}");
        let start = Instant::now();
        let outcome = step();
        let seconds = start.elapsed().as_secs();
        match outcome {
            Ok(()) => eprintln!("[{number}/{count}] {name}: passed in {seconds} s"),
            Err(failure) => {
                let failure = format!("step `{name}` failed: {failure}");
                if number <= QUICK {
                    return Err(Failure::new(failure));
                }
                eprintln!("[{number}/{count}] {name}: FAILED in {seconds} s");
                failed.push(failure);
            }
        }
    }
    if !failed.is_empty() {
        return Err(Failure::new(failed.join("\n")));
    }
    eprintln!("\nAll {count} steps passed.");
    Ok(())
}

/// The steps that check the sources, before those that run the program.
const QUICK: usize = 5;

/// A step that prints nothing when it passes.
type Step<'a> = &'a dyn Fn() -> Result<(), Failure>;

fn format(install: Install) -> Result<(), Failure> {
    component(install, "rustfmt", "fmt")?;
    process::run(repository::cargo().args(["fmt", "--all", "--check"]))
        .map_err(|failure| failure.hint("cargo fmt --all"))
}

fn lints(install: Install) -> Result<(), Failure> {
    component(install, "clippy", "clippy")?;
    process::run(repository::cargo().args([
        "clippy",
        "--workspace",
        "--all-targets",
        "--",
        "-D",
        "warnings",
    ]))
    .map_err(|failure| {
        failure.hint("fix the lints above; if one is wrong, add #[expect(.., reason = \"..\")]")
    })
}

fn documentation() -> Result<(), Failure> {
    process::run(
        repository::cargo()
            // The readers work on the code, so private items are documented and
            // linked too.
            .env(
                "RUSTDOCFLAGS",
                "-D warnings -A rustdoc::private_intra_doc_links",
            )
            .args([
                "doc",
                "--workspace",
                "--no-deps",
                "--document-private-items",
            ]),
    )
    .map_err(|failure| failure.hint("fix the comments named above"))
}

/// Makes sure that the toolchain has a cargo subcommand.
fn component(install: Install, component: &str, subcommand: &str) -> Result<(), Failure> {
    if process::output(repository::cargo().args([subcommand, "--version"])).is_ok() {
        return Ok(());
    }
    install.rustup("component", component, "to check the sources")
}
