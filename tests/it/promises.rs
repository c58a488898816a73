//! The promises of `docs/security.md` name the tests that show them, and each
//! of those tests exists.

use std::collections::BTreeSet;
use std::path::Path;

const PAGE: &str = include_str!("../../docs/security.md");

#[test]
fn every_test_that_the_security_page_names_is_there() {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
    let named = named();
    assert!(named.len() > 50, "{} tests are named", named.len());
    for (file, test) in named {
        let path = match file.starts_with("host/") {
            true => tests.join("..").join(file),
            false => tests.join("it").join(file),
        };
        let source = std::fs::read_to_string(&path)
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let is_there = source.contains(&format!("fn {test}("));
        assert!(is_there, "{} has no test `{test}`", path.display());
    }
}

/// A promise is a list item, with the lines that belong to it.
#[test]
fn every_promise_of_the_security_page_names_a_test() {
    for promise in PAGE.split("\n- ").skip(1) {
        let promise = promise.split("\n\n").next().unwrap_or(promise);
        assert!(promise.contains(".rs::"), "no test shows: {promise}");
    }
}

/// The file and the name in each `file.rs::test`.
fn named() -> BTreeSet<(&'static str, &'static str)> {
    PAGE.split('`')
        .filter_map(|word| word.split_once("::"))
        .filter(|(file, _)| file.ends_with(".rs"))
        .collect()
}
