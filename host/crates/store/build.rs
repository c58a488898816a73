//! Lists the migrations of both databases, so that adding one takes a file and nothing else.

#![expect(
    clippy::disallowed_methods,
    reason = "cargo passes folders to a build script in environment variables"
)]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() {
    let folder =
        PathBuf::from(env::var("CARGO_MANIFEST_DIR").expect("cargo sets CARGO_MANIFEST_DIR"));
    let out = PathBuf::from(env::var("OUT_DIR").expect("cargo sets OUT_DIR"));
    fs::write(out.join("migrations.rs"), migrations(&folder)).expect("OUT_DIR is writable");
}

fn migrations(folder: &Path) -> String {
    println!("cargo:rerun-if-changed=migrations");
    let all = folder.join("migrations");
    let of_sqlite = in_order(&all.join("sqlite"), 1);
    let of_postgres = in_order(&all.join("postgres"), 1);
    assert_eq!(
        of_sqlite.len(),
        of_postgres.len(),
        "a migration of one database"
    );
    let of_both = in_order(&all, 1 + of_sqlite.len());
    let mut lists = String::new();
    for (name, files) in [
        ("OF_SQLITE", of_sqlite),
        ("OF_POSTGRES", of_postgres),
        ("OF_BOTH", of_both),
    ] {
        writeln!(lists, "const {name}: [&str; {}] = [", files.len())
            .expect("writing to a string cannot fail");
        for file in files {
            writeln!(lists, "    include_str!({file:?}),")
                .expect("writing to a string cannot fail");
        }
        lists.push_str("];\n");
    }
    lists
}

/// Returns the files of a folder in order. They must be numbered from `first` without a gap:
/// `0001_begin.sql`.
fn in_order(folder: &Path, first: usize) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("the migrations folder is readable");
    let paths = entries.map(|entry| entry.expect("the folder entry is readable").path());
    let mut files: Vec<PathBuf> = paths.filter(|path| path.is_file()).collect();
    files.sort();
    for (number, file) in (first..).zip(&files) {
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
