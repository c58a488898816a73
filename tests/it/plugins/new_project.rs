//! `leadhost plugin new` and `doctor`: projects in all languages, from the program alone.

use leadhost_tests::service::command;
use serde_json::Value;

use super::local::CommandFolder;

#[test]
fn a_sample_becomes_the_first_golden_case() {
    let base = CommandFolder::new();
    let body = "{\"id\": 9007199254740993, \"nome\": \"Lia Campos\"}\n";
    std::fs::write(base.path("sample.json"), body).unwrap();
    let new = [
        "plugin",
        "new",
        "ana",
        "--lang",
        "c",
        "--sample",
        "sample.json",
        "--dir",
        "x/y",
    ];
    let (out, _) = base.run(&new);
    assert!(out.contains("leadhost plugin test . --write"), "{out}");
    assert!(out.contains("persons in the sample are masked"), "{out}");
    let case = base.path("x/y/golden/lead");
    let made = std::fs::read_to_string(case.join("body.json")).unwrap();
    assert!(made.starts_with("{\"id\": 9007199254740993, "), "{made}");
    assert!(!made.contains("Lia"), "{made}");
    let case = std::fs::read(case.join("case.json")).unwrap();
    let case: Value = serde_json::from_slice(&case).unwrap();
    assert_eq!(case["body"], "body.json");
    assert!(case.get("expect").is_none());

    let raw = [&new[..8], &["z", "--raw"]].concat();
    let (out, _) = base.run(&raw);
    assert!(out.contains("do not share the project"), "{out}");
    let kept = std::fs::read_to_string(base.path("z/golden/lead/body.json")).unwrap();
    assert_eq!(kept, body);
}

#[test]
fn a_folder_that_cannot_become_a_project_is_refused_and_stays_as_it_is() {
    let base = CommandFolder::new();
    std::fs::create_dir(base.path("taken")).unwrap();
    std::fs::write(base.path("taken/file"), "").unwrap();
    std::fs::write(base.path("file"), "").unwrap();
    std::fs::write(base.path("cut.json"), "{\"id\": 1").unwrap();
    let check = |code: i32, arguments: &[&str], parts: &[&str]| {
        let arguments = [&["plugin", "new"][..], arguments].concat();
        let said = base.fail(code, &arguments);
        for part in parts {
            assert!(said.contains(part), "{arguments:?}: {said}");
        }
    };
    let taken = ["taken", "--lang", "go"];
    check(1, &taken, &["already exists and is not empty", "--dir"]);
    check(1, &["file", "--lang", "go"], &["is a file"]);
    let bad = ["Ana Form", "--lang", "go"];
    check(2, &bad, &["Ana Form", "lower-case letters"]);
    check(2, &["2ana", "--lang", "go"], &["begins with a letter"]);
    check(
        2,
        &["ana", "--lang", "perl"],
        &["perl", "typescript", "zig"],
    );
    let adapter = [
        "ana", "--lang", "rust", "--kind", "adapter", "--sample", "cut.json",
    ];
    check(2, &adapter, &["an adapter takes no --sample"]);
    let sample = ["ana", "--lang", "go", "--sample", "cut.json"];
    check(1, &sample, &["cut.json", "neither JSON (EOF", "nor a form"]);
    let missing = ["ana", "--lang", "go", "--sample", "nosuch.json"];
    check(1, &missing, &["cannot read nosuch.json"]);
    assert!(!base.path("ana").exists());
    let left = std::fs::read_dir(base.path("taken")).unwrap().count();
    assert_eq!(left, 1);
}

#[test]
fn an_empty_folder_takes_a_project() {
    let base = CommandFolder::new();
    std::fs::create_dir(base.path("ana")).unwrap();
    base.run(&["plugin", "new", "ana", "--lang", "py"]);
    assert!(base.path("ana/README.md").is_file());
}

#[test]
fn the_doctor_fails_only_for_the_project_in_its_folder_or_the_language_it_is_asked_for() {
    let base = CommandFolder::new();
    let without_clang = |folder: &str, language: &[&str]| {
        let asked = [&["plugin", "doctor"][..], language].concat();
        let mut doctor = command(&base.path(""), &asked);
        doctor.current_dir(base.path(folder));
        let output = doctor.env("CLANG", "leadhost-no-such-program").output();
        let output = output.unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        (output.status.code(), said)
    };
    base.run(&["plugin", "new", "ana", "--lang", "c"]);
    let (code, said) = without_clang("ana", &[]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("cannot be built without clang 14"), "{said}");
    assert_eq!(without_clang("", &[]).0, Some(0));
    let (code, said) = without_clang("", &["--lang", "c"]);
    assert_eq!(code, Some(1), "{said}");
    assert!(
        said.contains("a project in C cannot be built without clang 14"),
        "{said}"
    );
}

#[test]
fn the_doctor_names_every_language() {
    let base = CommandFolder::new();
    let (out, _) = base.run(&["plugin", "doctor"]);
    for language in [
        "Rust",
        "TypeScript, JavaScript",
        "Python",
        "Go",
        "C ",
        "Zig",
    ] {
        assert!(out.contains(language), "{language}: {out}");
    }
    // It fails on a machine without the language.
    let output = base.try_run(&["plugin", "doctor", "--lang", "zig"]);
    let out = String::from_utf8_lossy(&output.stdout);
    assert_eq!(out.lines().count(), 2, "{out}");
}
