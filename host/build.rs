//! Lists files for the program: the migrations of both databases, so that adding a migration
//! takes a file and nothing else; and the templates of plugins, with the files of the repository
//! that their projects get, so that `leadhost plugin new` needs no repository.

#![expect(
    clippy::disallowed_methods,
    reason = "cargo passes folders to a build script in environment variables"
)]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

/// Folders of the repository of which templates take files.
const BORROWED: [&str; 5] = [
    "host/templates/shared",
    "sdk-guest/golden/src",
    "sdk-guest/src",
    "wit/published",
    "wit/v1",
];

/// Folders that builds leave in a template; none is a part of it.
const BUILT: [&str; 5] = ["__pycache__", "build", "node_modules", "target", "zig-out"];

fn main() {
    let folder =
        PathBuf::from(env::var("CARGO_MANIFEST_DIR").expect("cargo sets CARGO_MANIFEST_DIR"));
    let out = PathBuf::from(env::var("OUT_DIR").expect("cargo sets OUT_DIR"));
    write(&out.join("migrations.rs"), &migrations(&folder));
    write(&out.join("templates.rs"), &templates(&folder));
}

fn write(file: &Path, text: &str) {
    fs::write(file, text).expect("OUT_DIR is writable");
}

// ---- migrations

fn migrations(folder: &Path) -> String {
    println!("cargo:rerun-if-changed=migrations");
    let mut lists = String::new();
    for (database, name) in [("sqlite", "SQLITE"), ("postgres", "POSTGRES")] {
        let files = in_order(&folder.join("migrations").join(database));
        writeln!(lists, "pub const {name}: [&str; {}] = [", files.len())
            .expect("writing to a string cannot fail");
        for file in files {
            writeln!(lists, "    include_str!({file:?}),")
                .expect("writing to a string cannot fail");
        }
        lists.push_str("];\n");
    }
    lists
}

/// Returns the files of a folder in order. They must be numbered from 1 without a gap:
/// `0001_begin.sql`.
fn in_order(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("the migrations folder is readable");
    let mut files: Vec<PathBuf> = entries
        .map(|entry| entry.expect("the folder entry is readable").path())
        .collect();
    files.sort();
    for (number, file) in (1..).zip(&files) {
        let name = file
            .file_name()
            .expect("a migration has a file name")
            .to_string_lossy();
        let expected = format!("{number:04}_");
        assert!(
            name.starts_with(&expected) && name.ends_with(".sql"),
            "{}: expected migration {number}, {expected}….sql",
            file.display()
        );
    }
    files
}

// ---- templates

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
        if name.starts_with('.') {
            continue;
        }
        if !path.is_dir() {
            files.push(path);
        } else if !BUILT.contains(&name.as_str()) {
            collect(&path, files);
        }
    }
}
