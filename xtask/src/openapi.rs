//! The digest of the OpenAPI documents, so that a change of the interface is visible in a review.

use std::process::Command;

use crate::args::Args;
use crate::failure::Failure;
use crate::{files, process, repository, run};

pub const HELP: &str = "\
Writes docs/openapi.digest: a hash of each operation and schema of the OpenAPI documents and of each kind of row, as
the service has them. A test compares it.

    cargo xtask openapi
";

pub fn run(args: Args) -> Result<(), Failure> {
    args.nothing_more()?;
    let program = run::build_program("dev")?;
    let digest = process::output(Command::new(&program).args(["openapi", "--digest"]))?;
    let path = repository::root().join("docs/openapi.digest");
    files::write_if_changed(&path, digest.as_bytes())?;
    eprintln!("{:>12} {}", "digest", path.display());
    Ok(())
}
