//! Builds the JavaScript and Python example plugins, so that the tests can check
//! the contracts against other toolchains, and a misbehaving Python plugin.
//!
//! A component is rebuilt when its sources, its locked dependencies or the
//! contract have changed. A language whose interpreter is missing and may not be
//! installed is skipped with a reason; an interpreter that is there and fails is
//! a failure.

use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::args::Args;
use crate::component;
use crate::failure::{Context, Failure};
use crate::install::Install;
use crate::plugins::guests_folder;
use crate::repository;
use crate::{files, javascript, python, wit};

pub const HELP: &str = "\
Builds the JavaScript and Python examples and the misbehaving Python guest into
target/guests.

    cargo xtask guests [--no-install] [FILE..]

    FILE           builds only these, by their names in target/guests
    --no-install   never install anything; report what is missing
";

pub fn run(mut args: Args) -> Result<(), Failure> {
    let install = Install::from_args(&mut args);
    let files = args.words()?;
    for left_out in build_some(install, &files)? {
        eprintln!("{:>12} {left_out}", "left out");
    }
    Ok(())
}

/// Builds them. Returns a sentence for each that had to be skipped.
pub fn build(install: Install) -> Result<Vec<String>, Failure> {
    build_some(install, &[])
}

/// Like [`build`], for these files only, or all if none is named.
pub fn build_some(install: Install, files: &[String]) -> Result<Vec<String>, Failure> {
    if let Some(unknown) = files
        .iter()
        .find(|file| GUESTS.iter().all(|guest| guest.file != **file))
    {
        let known: Vec<&str> = GUESTS.iter().map(|guest| guest.file).collect();
        return Err(Failure::new(format!("unknown guest `{unknown}`"))
            .hint(format!("the guests are: {}", known.join(", "))));
    }
    let mut left_out = Vec::new();
    let named = |guest: &&Guest| files.is_empty() || files.iter().any(|file| file == guest.file);
    for guest in GUESTS.iter().filter(named) {
        let contract = (guest.contract)()?;
        let file = guests_folder().join(guest.file);
        let stamp = guests_folder().join(format!(".{}.inputs", guest.file));
        let inputs = fingerprint(guest, &contract)?;
        if file.is_file() && std::fs::read_to_string(&stamp).is_ok_and(|old| old == inputs) {
            eprintln!("{:>12} {}", "unchanged", file.display());
            continue;
        }
        if let Err(missing) = (guest.ensure)(install) {
            // An older build would be tested as if it were new.
            let _ = std::fs::remove_file(&file);
            left_out.push(format!("the {}: {missing}", guest.name));
            continue;
        }
        let folder = repository::root().join(guest.folder);
        let raw = guests_folder().join(format!(".{}.raw", guest.file));
        files::make_folder(guests_folder())?;
        (guest.build)(&folder, &contract, &raw)?;
        let bytes = files::bytes(&raw)?;
        refuse_foreign_imports(&bytes, guest)?;
        let bytes = component::add_golden(&bytes, &repository::root().join(guest.golden))?;
        files::write_if_changed(&file, &bytes)?;
        files::write_if_changed(&stamp, inputs.as_bytes())?;
        let _ = std::fs::remove_file(&raw);
        let kib = bytes.len() / 1024;
        eprintln!("{:>12} {} ({kib} KiB)", "built", file.display());
    }
    Ok(left_out)
}

struct Guest {
    name: &'static str,
    folder: &'static str,
    /// Inputs besides its folder: files, or folders.
    borrows: &'static [&'static str],
    /// The golden cases that it shares with examples in other languages.
    golden: &'static str,
    contract: fn() -> Result<PathBuf, Failure>,
    file: &'static str,
    /// Makes sure of the interpreter; the error says what is missing.
    ensure: fn(Install) -> Result<(), Failure>,
    /// Builds the example in the folder, by the contract, into the file.
    build: fn(&Path, &Path, &Path) -> Result<(), Failure>,
}

#[rustfmt::skip]
const GUESTS: &[Guest] = &[
    Guest {
        name: "JavaScript converter", folder: "examples/converter-javascript", borrows: &[], golden: FORM,
        contract: wit::converter, file: "example-form-js.wasm", ensure: javascript::ensure, build: javascript::build,
    },
    Guest {
        name: "Python converter", folder: "examples/converter-python", borrows: &[], golden: FORM,
        contract: wit::converter, file: "example-form-py.wasm", ensure: ensure_python, build: python::build,
    },
    Guest {
        name: "Python converter that misbehaves", folder: "tests/guests/misbehave-python", borrows: &[],
        golden: "tests/guests/misbehave-python/golden",
        contract: wit::converter, file: "misbehave-py.wasm", ensure: ensure_python, build: python::build,
    },
    Guest {
        name: "JavaScript adapter", folder: "examples/adapter-javascript",
        borrows: &["examples/converter-javascript/src", "plugins/adapter-sandbox/src/config.schema.json"],
        golden: "plugins/adapter-sandbox/golden",
        contract: wit::adapter, file: "sandbox-js.wasm", ensure: javascript::ensure, build: javascript::build,
    },
];

fn ensure_python(install: Install) -> Result<(), Failure> {
    python::ensure(install, "to build the Python guest")
}

/// The golden cases that all three converters share.
const FORM: &str = "examples/golden-form";

/// The imports that the host provides for interpreters, deterministic or denied.
#[rustfmt::skip]
const LINKED: &[&str] = &[
    "wasi:cli/", "wasi:io/", "wasi:clocks/", "wasi:random/", "wasi:filesystem/", "wasi:sockets/",
];

fn refuse_foreign_imports(component: &[u8], guest: &Guest) -> Result<(), Failure> {
    let imports = component::imports(component, guest.file)?;
    match imports
        .iter()
        .find(|import| !LINKED.iter().any(|known| import.starts_with(known)))
    {
        Some(foreign) => {
            let name = guest.name;
            let what = format!("the {name} imports {foreign}, which the host refuses");
            Err(Failure::new(what).hint("disable the feature in the example's build"))
        }
        None => Ok(()),
    }
}

/// A hash of all inputs of a component.
fn fingerprint(guest: &Guest, contract: &Path) -> Result<String, Failure> {
    let root = repository::root();
    let mut files = vec![contract.to_path_buf()];
    for part in [guest.folder, guest.golden].iter().chain(guest.borrows) {
        let path = root.join(part);
        if path.is_dir() {
            collect(&path, &mut files)?;
        } else {
            files.push(path);
        }
    }
    // The encoder is an input as well.
    files.push(root.join("xtask/src/component.rs"));
    files.push(root.join("xtask/src/guests.rs"));
    files.sort();
    let mut hash = Sha256::new();
    for file in files {
        let content = files::bytes(&file)?;
        hash.update(file.to_string_lossy().as_bytes());
        hash.update([0]);
        hash.update(content.len().to_le_bytes());
        hash.update(content);
    }
    Ok(hash
        .finalize()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect())
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), Failure> {
    const GENERATED: &[&str] = &["node_modules", "dist", "__pycache__", ".venv", "bindings"];
    let reading = format!("reading the folder {}", folder.display());
    for entry in std::fs::read_dir(folder).context(&reading)? {
        let path = entry.context(&reading)?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if GENERATED.contains(&&*name) || name.ends_with(".wasm") {
        } else if path.is_dir() {
            collect(&path, files)?;
        } else {
            files.push(path);
        }
    }
    Ok(())
}
