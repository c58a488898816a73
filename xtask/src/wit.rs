//! The contract as one file. Integrators use one text that every toolchain can
//! read, with its dependencies nested in it; the sources in `wit/v1` stay split
//! by package.
//!
//! A published contract does not change: `--check` compares the sources with the
//! published file, first as text, then by meaning, so that the message says
//! whether only a comment changed or guests would break.

use std::path::{Path, PathBuf};

use wit_bindgen_core::Files;
use wit_component::WitPrinter;
use wit_parser::{PackageId, Resolve, UnresolvedPackageGroup};

use crate::args::Args;
use crate::failure::{Context, Failure, Hint};
use crate::files;
use crate::repository;

pub const HELP: &str = "\
Writes the contract with plugins as one file, with all packages that it needs.

    cargo xtask wit             writes target/wit/, which the guest toolchains read
    cargo xtask wit --check     compares it with wit/published/, and fails if they differ
    cargo xtask wit --publish   writes wit/published/ if a contract is not published yet
";

pub fn run(mut args: Args) -> Result<(), Failure> {
    let check = args.flag("--check");
    let publish = args.flag("--publish");
    args.nothing_more()?;
    for contract in CONTRACTS {
        let text = render(contract)?;
        let path = repository::target().join("wit").join(contract.file);
        files::write_if_changed(&path, text.as_bytes())?;
        eprintln!("{:>12} {}", "contract", path.display());
        if publish {
            self::publish(contract, &text)?;
        }
        if check {
            self::check(contract, &text)?;
        }
    }
    Ok(())
}

pub fn converter() -> Result<PathBuf, Failure> {
    one_file(&CONTRACTS[0])
}

pub fn adapter() -> Result<PathBuf, Failure> {
    one_file(&CONTRACTS[1])
}

/// Writes the bindings of a converter in C, as `wit-bindgen c` does: the header, the source, and an
/// object with the type of the component.
pub fn converter_in_c(folder: &Path) -> Result<(), Failure> {
    let path = published(&CONTRACTS[0]);
    let mut resolve = Resolve::default();
    let package = resolve
        .push_str(&path, &read_published(&path)?)
        .context("parsing the published contract")?;
    let world = resolve
        .select_world(&[package], None)
        .context("choosing the world of the contract")?;
    let mut bindings = Files::default();
    wit_bindgen_c::Opts::default()
        .build()
        .generate(&mut resolve, world, &mut bindings)
        .context("generating bindings in C")?;
    for (name, content) in bindings.iter() {
        files::write_if_changed(&folder.join(name), content)?;
    }
    Ok(())
}

fn one_file(contract: &Contract) -> Result<PathBuf, Failure> {
    let path = repository::target().join("wit").join(contract.file);
    files::write_if_changed(&path, render(contract)?.as_bytes())?;
    Ok(path)
}

struct Contract {
    /// The folder of its package, after its dependencies' folders.
    folders: &'static [&'static str],
    file: &'static str,
}

const CONTRACTS: &[Contract] = &[
    Contract {
        folders: &["wit/v1/types", "wit/v1/converter"],
        file: "leadhost-converter-1.0.0.wit",
    },
    Contract {
        folders: &["wit/v1/types", "wit/v1/adapter"],
        file: "leadhost-adapter-1.0.0.wit",
    },
];

fn render(contract: &Contract) -> Result<String, Failure> {
    let mut resolve = Resolve::default();
    let mut packages = Vec::new();
    for folder in contract.folders {
        let path = repository::root().join(folder);
        let group =
            UnresolvedPackageGroup::parse_dir(&path).context(format!("parsing {folder}"))?;
        let id = resolve
            .push_group(group)
            .context(format!("resolving {folder}"))?;
        packages.push(id);
    }
    print(&resolve, &packages, true)
}

/// The last package is the file's own; the others are nested in it.
fn print(resolve: &Resolve, packages: &[PackageId], comments: bool) -> Result<String, Failure> {
    let (main, nested) = packages
        .split_last()
        .ok_or_else(|| Failure::new("a contract without packages"))?;
    let mut printer = WitPrinter::default();
    printer.emit_docs(comments);
    printer
        .print(resolve, *main, nested)
        .context("printing the contract")?;
    Ok(format!("{}\n", printer.output.to_string().trim_end()))
}

fn publish(contract: &Contract, text: &str) -> Result<(), Failure> {
    let path = published(contract);
    if path.exists() {
        return check(contract, text);
    }
    files::write_if_changed(&path, text.as_bytes())?;
    eprintln!("{:>12} {}", "published", path.display());
    Ok(())
}

fn check(contract: &Contract, text: &str) -> Result<(), Failure> {
    let path = published(contract);
    let frozen = read_published(&path)?;
    // Both in the current format: another version of the printer is no change.
    let frozen_text = respell(&frozen, true)?;
    if frozen_text == respell(text, true)? {
        eprintln!("{:>12} {}", "frozen", path.display());
        return Ok(());
    }
    let difference = first_difference(&frozen_text, text);
    let name = contract.file;
    if respell(&frozen, false)? == respell(text, false)? {
        return Err(Failure::new(format!(
            "the comments of {name} differ from the published ones\n{difference}"
        ))
        .hint("published comments are frozen too: restore them in its sources, and put further explanations into docs/"));
    }
    Err(Failure::new(format!(
        "the sources differ from the published {name}, which plugins are built against\n{difference}"
    ))
    .hint("a published contract never changes: revert this, and add a new package version"))
}

fn published(contract: &Contract) -> PathBuf {
    repository::root().join("wit/published").join(contract.file)
}

fn read_published(path: &Path) -> Result<String, Failure> {
    std::fs::read_to_string(path)
        .context(format!("reading the published contract {}", path.display()))
        .hint("run `cargo xtask wit --publish` if it was never published")
}

fn respell(text: &str, comments: bool) -> Result<String, Failure> {
    let mut resolve = Resolve::default();
    let main = resolve
        .push_str(Path::new("contract.wit"), text)
        .context("parsing the published contract")?;
    let mut packages: Vec<PackageId> = resolve
        .packages
        .iter()
        .map(|(id, _)| id)
        .filter(|id| *id != main)
        .collect();
    packages.push(main);
    print(&resolve, &packages, comments)
}

fn first_difference(frozen: &str, now: &str) -> String {
    let mut frozen = frozen.lines();
    let mut now = now.lines();
    for number in 1.. {
        match (frozen.next(), now.next()) {
            (None, None) => break,
            (old, new) if old == new => {}
            (old, new) => {
                let end = "(the end)";
                return format!(
                    "  line {number}\n  - published: {}\n  - now:       {}",
                    old.unwrap_or(end).trim(),
                    new.unwrap_or(end).trim()
                );
            }
        }
    }
    "  only line endings differ".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_one_file_is_read_back_with_the_same_meaning() {
        for contract in CONTRACTS {
            let text = render(contract).expect("wit/v1 parses");
            assert!(text.contains("package leadhost:types@1.0.0 {"));
            assert_eq!(respell(&text, true).expect("the one file parses"), text);
        }
    }

    #[test]
    fn a_changed_comment_leaves_the_meaning() {
        let text = render(&CONTRACTS[0]).expect("wit/v1 parses");
        let changed = text
            .replace("/// E", "/// Not: e")
            .replace("/// A", "/// Not: a");
        assert_ne!(
            respell(&text, true).expect("parses"),
            respell(&changed, true).expect("parses")
        );
        assert_eq!(
            respell(&text, false).expect("parses"),
            respell(&changed, false).expect("parses")
        );
    }

    #[test]
    fn a_changed_field_is_a_changed_meaning() {
        let text = render(&CONTRACTS[0]).expect("wit/v1 parses");
        let changed = text.replace("is-test: bool", "is-test: option<bool>");
        assert_ne!(text, changed);
        assert_ne!(
            respell(&text, false).expect("parses"),
            respell(&changed, false).expect("parses")
        );
    }
}
