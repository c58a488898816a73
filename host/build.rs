//! Lists the migrations of both databases, so that a migration is a file and no more.

#![expect(
    clippy::disallowed_methods,
    reason = "cargo tells a build script its folders by variables"
)]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() {
    println!("cargo:rerun-if-changed=migrations");
    let folder = PathBuf::from(env::var("CARGO_MANIFEST_DIR").expect("cargo says where it is"));
    let mut lists = String::new();
    for (database, name) in [("sqlite", "SQLITE"), ("postgres", "POSTGRES")] {
        let files = in_order(&folder.join("migrations").join(database));
        writeln!(lists, "pub const {name}: [&str; {}] = [", files.len()).expect("it fits");
        for file in files {
            writeln!(lists, "    include_str!({file:?}),").expect("it fits");
        }
        lists.push_str("];\n");
    }
    let out = PathBuf::from(env::var("OUT_DIR").expect("cargo has a folder for it"));
    fs::write(out.join("migrations.rs"), lists).expect("the list is written");
}

/// The files of a folder, which are numbered from 1 without a gap: `0001_begin.sql`.
fn in_order(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("the folder of migrations is there");
    let mut files: Vec<PathBuf> = entries
        .map(|entry| entry.expect("it is read").path())
        .collect();
    files.sort();
    for (number, file) in (1..).zip(&files) {
        let name = file.file_name().expect("a name").to_string_lossy();
        let expected = format!("{number:04}_");
        assert!(
            name.starts_with(&expected) && name.ends_with(".sql"),
            "{}: expected migration {number}, {expected}….sql",
            file.display()
        );
    }
    files
}
