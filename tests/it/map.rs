//! Each path that `ARCHITECTURE.md` and `docs/everyday-changes.md` name exists, so that a file that is
//! renamed or removed takes its rows along.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

const DOCUMENTS: [&str; 2] = ["ARCHITECTURE.md", "docs/everyday-changes.md"];

/// Folders that the repository does not contain.
const LEFT_OUT: [&str; 4] = [".git", "target", "node_modules", "data"];

/// Names of the examples in recipes, and of a folder of the service's data.
const NOT_IN_THE_REPOSITORY: [&str; 4] = [
    "compiled/",
    "http/endpoints/admin/workspaces/show.rs",
    "http/endpoints/region.rs",
    "plugin/abi/v2/",
];

/// The endings of files that the documents name.
const ENDINGS: [&str; 16] = [
    ".conf",
    ".css",
    ".go",
    ".html",
    ".js",
    ".json",
    ".md",
    ".mjs",
    ".py",
    ".rs",
    ".service",
    ".sql",
    ".template",
    ".toml",
    ".wit",
    ".yml",
];

#[test]
fn every_path_of_the_map_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut known = BTreeSet::new();
    collect(&root, &PathBuf::new(), &mut known);
    let mut missing = Vec::new();
    let mut named = 0;
    for document in DOCUMENTS {
        let text = fs::read_to_string(root.join(document)).expect("a document");
        for path in paths(&text) {
            named += 1;
            if !known.contains(path.trim_end_matches('/')) && !NOT_IN_THE_REPOSITORY.contains(&path)
            {
                missing.push(format!("{document}: {path}"));
            }
        }
    }
    assert!(named > 1_000, "{named} paths were found");
    assert_eq!(missing, Vec::<String>::new());
}

/// Modules whose head lists their files in reading order.
const IN_READING_ORDER: [&str; 3] = ["cli", "plugin", "store"];

#[test]
fn the_heads_of_large_modules_list_all_their_files() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../host/src");
    for module in IN_READING_ORDER {
        let folder = source.join(module);
        let text = fs::read_to_string(folder.join("mod.rs")).expect("a module");
        let head: Vec<&str> = text
            .lines()
            .take_while(|line| line.starts_with("//!"))
            .skip_while(|line| *line != "//! # Order of files")
            .collect();
        assert!(!head.is_empty(), "{module}/mod.rs has no order of files");
        let head = head.join("\n");
        for entry in fs::read_dir(&folder).expect("a folder") {
            let entry = entry.expect("an entry");
            let name = entry.file_name().to_string_lossy().into_owned();
            let name = match entry.path().is_dir() {
                true => format!("`{name}/`"),
                false => format!("`{name}`"),
            };
            let is_listed = name == "`mod.rs`" || head.contains(&name);
            assert!(is_listed, "{module}/mod.rs does not list {name}");
        }
    }
}

#[test]
fn names_of_files_and_folders_are_paths_and_others_are_not() {
    let text =
        "`a/b.rs` and `b.rs`, `c/`, `a/b`, `word`, `f(x).rs`, `two words.rs`\n```\n`d/e.rs`\n```\n";
    assert_eq!(paths(text), ["a/b.rs", "b.rs", "c/", "a/b"]);
}

/// Returns what stands between backticks and reads as a path, outside of blocks of code.
fn paths(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut is_code = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
        } else if !is_code {
            found.extend(
                line.split('`')
                    .skip(1)
                    .step_by(2)
                    .filter(|one| is_path(one)),
            );
        }
    }
    found
}

fn is_path(text: &str) -> bool {
    let is_plain = text
        .chars()
        .all(|letter| letter.is_ascii_alphanumeric() || "_.-/".contains(letter));
    let is_folder = text.contains('/')
        && text
            .chars()
            .all(|letter| letter.is_ascii_lowercase() || "_/".contains(letter))
        && !text.starts_with('/');
    is_plain && (is_folder || ENDINGS.iter().any(|ending| text.ends_with(ending)))
}

/// Collects the paths of all files and folders, and each with its first folders left out: the
/// documents leave out `host/src` and the folders of the row.
fn collect(root: &Path, folder: &Path, known: &mut BTreeSet<String>) {
    for entry in fs::read_dir(root.join(folder)).expect("a folder") {
        let entry = entry.expect("an entry");
        let name = entry.file_name().into_string().expect("a plain name");
        if LEFT_OUT.contains(&name.as_str()) {
            continue;
        }
        let path = folder.join(name);
        let mut rest = path.to_str().expect("a plain name");
        known.insert(rest.to_owned());
        while let Some((_, shorter)) = rest.split_once('/') {
            known.insert(shorter.to_owned());
            rest = shorter;
        }
        if entry.file_type().expect("a type").is_dir() {
            collect(root, &path, known);
        }
    }
}
