//! The direction of imports holds: the domain stands alone, the store and the
//! plugins do not know each other, and each big dependency is named in one place.

use std::fs;
use std::path::{Path, PathBuf};

/// Where each crate may be named, as the beginning of a path under `host/src`.
const WHERE: [(&str, &[&str]); 5] = [
    ("sqlx", &["store/"]),
    ("rusqlite", &["store/"]),
    ("wasmtime", &["plugin/"]),
    // The command line is a client of the admin API.
    ("hyper", &["http/", "egress", "cli/"]),
    ("hyper_util", &["http/", "egress", "cli/"]),
];

#[test]
fn the_domain_imports_nothing_of_ours() {
    for file in sources().iter().filter(|file| file.is_in("domain/")) {
        for (number, line) in file.code() {
            if line.contains("crate::") {
                let allowed = line.contains("crate::domain");
                assert!(allowed, "{}:{number} leaves the domain: {line}", file.name);
            }
        }
    }
}

#[test]
fn the_search_knows_the_domain_and_nothing_else_of_ours() {
    for file in sources().iter().filter(|file| file.is_in("search/")) {
        for (number, line) in file.code() {
            let own = ["crate::domain", "crate::limits"];
            let allowed = !line.contains("crate::") || own.iter().any(|own| line.contains(own));
            assert!(allowed, "{}:{number} leaves the search: {line}", file.name);
        }
    }
}

#[test]
fn the_store_and_the_plugins_do_not_know_each_other() {
    let check = |folder: &str, wanted: &str| {
        for file in sources().iter().filter(|file| file.is_in(folder)) {
            for (number, line) in file.code() {
                assert!(
                    !line.contains(wanted),
                    "{}:{number} knows {wanted}: {line}",
                    file.name
                );
            }
        }
    };
    check("store/", "crate::plugin");
    check("plugin/", "crate::store");
    for folder in ["store/", "plugin/"] {
        check(folder, "crate::http");
        check(folder, "crate::app");
        check(folder, "crate::pipeline");
    }
}

#[test]
fn a_big_dependency_is_named_in_its_place_only() {
    for file in sources() {
        for (name, places) in WHERE {
            if places.iter().any(|place| file.is_in(place)) {
                continue;
            }
            for (number, line) in file.code() {
                assert!(
                    !line.contains(&format!("{name}::")),
                    "{}:{number} names {name}, which belongs in {places:?}: {line}",
                    file.name
                );
            }
        }
    }
}

#[test]
fn only_the_store_names_which_stores_there_are() {
    for file in sources() {
        for (number, line) in file.code() {
            // The command that serves says which file it opens.
            let inside = file.is_in("store/") || file.is_in("cli/serve");
            assert!(
                inside || !line.contains("store::sqlite"),
                "{}:{number} names one store: {line}",
                file.name
            );
        }
    }
}

struct Source {
    /// Under `host/src`.
    name: String,
    text: String,
}

impl Source {
    fn is_in(&self, place: &str) -> bool {
        self.name.starts_with(place)
    }

    /// Lines that are no comments, with their numbers.
    fn code(&self) -> impl Iterator<Item = (usize, &str)> {
        let lines = self.text.lines().enumerate();
        lines
            .map(|(index, line)| (index + 1, line.trim()))
            .filter(|(_, line)| !line.starts_with("//"))
    }
}

fn sources() -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../host/src");
    let mut found = Vec::new();
    let mut folders = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder") {
            let path: PathBuf = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "rs") {
                let name = path.strip_prefix(&root).expect("under the root");
                found.push(Source {
                    name: name.to_string_lossy().replace('\\', "/"),
                    text: fs::read_to_string(&path).expect("UTF-8"),
                });
            }
        }
    }
    assert!(found.len() > 20, "the sources are not where they were");
    found
}
