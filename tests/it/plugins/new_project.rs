//! `leadhost plugin new` and `doctor`: projects in all languages, from the program alone.

use leadhost_tests::guests;
use leadhost_tests::service::command;
use leadhost_tests::{has, lacks};
use serde_json::Value;

use super::local::CommandFolder;

#[test]
fn the_source_names_what_the_sample_has_and_the_sample_is_a_golden_case() {
    let base = CommandFolder::new();
    let body = "{\"id\": 9007199254740993, \"nome\": \"Lia Campos\"}\n";
    base.put("sample.json", body);
    let new = "plugin new ana --lang go --sample sample.json --dir";
    let out = base.run(&format!("{new} x/y"));
    has!(
        out,
        "leadhost plugin test .",
        "converter.go names what was found"
    );
    has!(out, "persons in the sample are masked");
    let source = std::fs::read_to_string(base.path("x/y/converter.go")).unwrap();
    has!(source, "lead.Name = item.Text(\"nome\")");
    let case = base.path("x/y/golden/lead");
    let made = std::fs::read_to_string(case.join("body.json")).unwrap();
    assert!(made.starts_with("{\"id\": 9007199254740993, "), "{made}");
    lacks!(made, "Lia");
    let case = std::fs::read(case.join("case.json")).unwrap();
    let case: Value = serde_json::from_slice(&case).unwrap();
    assert_eq!(case["body"], "body.json");
    let lead = &case["expect"]["ok"]["items"][0]["outcome"]["lead"];
    assert_eq!(lead["externalId"], "9007199254740993");

    let out = base.run(&format!("{new} z --raw"));
    has!(out, "do not share the project");
    let kept = std::fs::read_to_string(base.path("z/golden/lead/body.json")).unwrap();
    assert_eq!(kept, body);
}

#[test]
fn a_sample_without_a_lead_makes_a_project_and_says_what_is_to_be_written() {
    let base = CommandFolder::new();
    base.put("ping.json", "{\"ping\": true}");
    let output = base.try_run("plugin new ana --lang rust --sample ping.json");
    assert!(output.status.success());
    let said = String::from_utf8_lossy(&output.stderr);
    has!(said, "No lead was found in the sample", "ana/src/lib.rs");
    assert!(base.path("ana/golden/refused/case.json").is_file());
}

#[test]
fn a_folder_that_cannot_become_a_project_is_refused_and_stays_as_it_is() {
    let base = CommandFolder::new();
    base.put("taken/file", "");
    base.put("file", "");
    base.put("cut.json", "{\"id\": 1");
    let check = |code: i32, arguments: &str, parts: &[&str]| {
        let arguments = format!("plugin new {arguments}");
        let said = base.fail(code, &arguments);
        for part in parts {
            has!(said, part; "{arguments}");
        }
    };
    let taken = ["already exists and is not empty", "--dir"];
    check(1, "taken --lang go", &taken);
    check(1, "file --lang go", &["is a file"]);
    let bad = ["Ana Form", "lower-case letters"];
    check(2, "'Ana Form' --lang go", &bad);
    check(2, "2ana --lang go", &["begins with a letter"]);
    check(2, "ana --lang perl", &["perl", "typescript", "python"]);
    let c = ["no template in C", "examples/converter-c "];
    check(2, "ana --lang c", &c);
    let zig = ["no template in Zig", "examples/converter-zig "];
    check(2, "ana --lang zig --kind adapter", &zig);
    let adapter = "ana --lang rust --kind adapter --sample cut.json";
    check(2, adapter, &["an adapter takes no --sample"]);
    let cut = ["cut.json", "neither JSON (EOF", "nor a form"];
    check(1, "ana --lang go --sample cut.json", &cut);
    let missing = "ana --lang go --sample nosuch.json";
    check(1, missing, &["cannot read nosuch.json"]);
    assert!(!base.path("ana").exists());
    assert_eq!(std::fs::read_dir(base.path("taken")).unwrap().count(), 1);
}

#[test]
fn an_update_puts_the_sdk_of_the_program_into_a_project_and_builds_it() {
    let base = CommandFolder::new();
    base.run("plugin new misbehave --lang go --dir ana");
    base.put("ana/sdk/go.mod", "of another program\n");
    base.put("ana/next.wasm", guests::misbehave());
    let file = std::fs::read_to_string(base.path("ana/leadhost.toml")).unwrap();
    let (origin, _) = file.split_once("template = ").unwrap();
    let build = "build = [\"mkdir -p build && cp next.wasm build/plugin.wasm\"]";
    let own = format!("{origin}template = \"0.0.9\"\n# mine\n{build}\n");
    base.put("ana/leadhost.toml", &own);
    std::fs::remove_dir_all(base.path("ana/golden")).unwrap();
    let out = base.run("plugin update ana");
    has!(
        out,
        "changed sdk/go.mod",
        "changed leadhost.toml",
        "before not built"
    );
    let file = std::fs::read_to_string(base.path("ana/leadhost.toml")).unwrap();
    assert_eq!(file, own.replace("0.0.9", env!("CARGO_PKG_VERSION")));
    has!(base.run("plugin update ana"), "is this program's");

    base.put(
        "own/leadhost.toml",
        format!("name = \"own\"\nkind = \"converter\"\n{build}\n"),
    );
    has!(base.fail(1, "plugin update own"), "`language`");
}

#[test]
fn an_empty_folder_takes_a_project() {
    let base = CommandFolder::new();
    std::fs::create_dir(base.path("ana")).unwrap();
    base.run("plugin new ana --lang py");
    assert!(base.path("ana/README.md").is_file());
}

#[test]
fn the_doctor_fails_only_for_the_project_in_its_folder_or_the_language_it_is_asked_for() {
    let base = CommandFolder::new();
    let without_go = |folder: &str, code: i32, asked: &str| {
        let mut doctor = command(&base.path(""), asked);
        doctor.current_dir(base.path(folder));
        let output = doctor.env("PATH", base.path("")).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{said}");
        said
    };
    base.run("plugin new ana --lang go");
    let needs = "cannot be built without Go 1.27.1";
    has!(without_go("ana", 1, "plugin doctor"), needs);
    without_go("", 0, "plugin doctor");
    let said = without_go("", 1, "plugin doctor --lang go");
    has!(said, "a project in Go cannot be built without Go 1.27.1");
}

#[test]
fn the_doctor_names_every_language() {
    let base = CommandFolder::new();
    let out = base.run("plugin doctor");
    has!(out, "Rust", "TypeScript", "Python", "Go");
    // It fails on a machine without the language.
    let output = base.try_run("plugin doctor --lang go");
    let out = String::from_utf8_lossy(&output.stdout);
    assert_eq!(out.lines().count(), 2, "{out}");
}
