//! Lists the templates of plugins, with the files of the repository that their projects get, so that
//! `leadhost plugin new` needs no repository.

#![expect(
    clippy::disallowed_methods,
    reason = "cargo passes folders to a build script in environment variables"
)]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

/// Folders of the repository that templates take files from.
const BORROWED: [&str; 3] = ["sdk-guest", "wit/published", "wit/v1"];

/// Folders that builds leave in a template; none is a part of it.
const BUILT: [&str; 4] = ["__pycache__", "build", "node_modules", "target"];

/// The end of the name of a test in Go, which stands beside what it tests.
const GO_TEST: &str = "_test.go";

fn main() {
    let folder =
        PathBuf::from(env::var("CARGO_MANIFEST_DIR").expect("cargo sets CARGO_MANIFEST_DIR"));
    let out = PathBuf::from(env::var("OUT_DIR").expect("cargo sets OUT_DIR"));
    fs::write(out.join("templates.rs"), templates(&folder)).expect("OUT_DIR is writable");
}

fn templates(folder: &Path) -> String {
    let own = folder.join("templates/plugin");
    println!("cargo:rerun-if-changed=templates/plugin");
    let mut lists = list("TEMPLATES", &own, std::slice::from_ref(&own));
    let repository = folder.parent().expect("the crate is in the repository");
    let borrowed = BORROWED.map(|part| {
        println!("cargo:rerun-if-changed=../{part}");
        repository.join(part)
    });
    lists += &list("BORROWED", repository, &borrowed);
    lists
}

/// Returns a list of the files below the folders: their paths from `base`, and their bytes.
fn list(name: &str, base: &Path, folders: &[PathBuf]) -> String {
    let mut files = Vec::new();
    for folder in folders {
        collect(folder, &mut files);
    }
    files.sort();
    let mut list = format!("pub static {name}: [(&str, &[u8]); {}] = [\n", files.len());
    for file in files {
        let path = file.strip_prefix(base).expect("it is below the base");
        let path = path
            .to_str()
            .expect("the files of templates have plain names");
        writeln!(list, "    ({path:?}, include_bytes!({file:?})),")
            .expect("writing to a string cannot fail");
    }
    list.push_str("];\n");
    list
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    let entries = fs::read_dir(folder)
        .unwrap_or_else(|error| panic!("{} is not readable: {error}", folder.display()));
    for entry in entries {
        let entry = entry.expect("the folder entry is readable");
        let path = entry.path();
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.starts_with('.') || name.ends_with(GO_TEST) {
            continue;
        }
        if !path.is_dir() {
            files.push(path);
        } else if !BUILT.contains(&name.as_str()) {
            collect(&path, files);
        }
    }
}
