//! The import of a catalogue with the command line, against a running service.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::Path;

use leadhost_tests::service::{command, refused};
use leadhost_tests::{On, Service, fields, has, sized};
use serde_json::Value;

leadhost_tests::on_every_store! {
    #[tokio::test(flavor = "multi_thread")]
    a_file_is_imported_and_refused_lines_are_reported,
    a_large_catalogue_needs_little_memory,
}

const WORKSPACE: &str = "[workspace]\nslug = \"demo\"\nname = \"Demo\"\n";

fn service(on: &On) -> (Service, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("workspace.toml");
    std::fs::write(&file, WORKSPACE).unwrap();
    let service = Service::start_on(on, folder.path(), &[]);
    service.run(&format!("apply {}", file.display()));
    (service, folder)
}

fn write(folder: &Path, name: &str, content: &[u8]) -> String {
    let path = folder.join(name);
    std::fs::write(&path, content).unwrap();
    path.to_str().unwrap().to_owned()
}

async fn a_file_is_imported_and_refused_lines_are_reported(on: On) {
    let (service, folder) = service(&on);
    let import = "products import --workspace demo";
    let run = |more: &str| service.run(&format!("{import} {more}"));
    let fail = |more: &str| service.fail(&format!("{import} {more}"));
    let csv = write(
        folder.path(),
        "homes.csv",
        b"externalId,name,rooms\n1,House,3\n2,Flat,2\n",
    );
    assert!(run(&csv).starts_with("2 created, 0 changed, 0 kept, 0 removed, 0 refused"));
    let report = service.json(&format!("{import} {csv}"));
    fields!(report, {"kept": 2, "ignored.0": "rooms"});

    // Detected by its content, since the name does not show the format.
    let lines = write(
        folder.path(),
        "homes",
        b"{\"externalId\":\"3\",\"name\":\"Boat\"}\n{\"externalId\":\"3\",\"name\":\"Twice\"}\nx\n",
    );
    let all = folder.path().join("refused.ndjson");
    let all = all.to_str().unwrap();
    let said = fail(&format!("{lines} --replace --report {all}"));
    has!(said, "line 2: externalId `3`", "2 lines were refused", all);
    has!(said, "line 3: the line is not a JSON object");
    let lines = std::fs::read_to_string(all).unwrap();
    let report: Vec<Value> = lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(report.len(), 2);
    fields!(report, {"0.line": 2, "1.line": 3});
    has!(run(&format!("{csv} --format csv --replace")), "1 removed");

    let empty = write(folder.path(), "empty.csv", b"");
    let replace = format!("{empty} --replace");
    has!(fail(&replace), "names no product", "--force");
    has!(run(&format!("{replace} --force")), "2 removed");

    let given = "semicolons.csv";
    let semicolons = write(folder.path(), given, b"externalId;name\n1;House\n");
    has!(fail(&semicolons), "semicolons");
    has!(fail("/nowhere.csv"), "cannot read /nowhere.csv");
    let said = service.fail(&format!("products import {csv} --workspace nope"));
    has!(said, "workspace list");
    refused(folder.path(), 2, &format!("{import} {csv} --force"));

    let input = write(folder.path(), "piped", b"externalId,name\n7,Piped\n");
    let mut piped = command(folder.path(), &format!("{import} -"));
    let output = piped.stdin(File::open(input).unwrap()).output().unwrap();
    assert!(String::from_utf8_lossy(&output.stdout).starts_with("1 created"));
}

fn products() -> usize {
    sized(20_000, 100_000)
}

/// More imports than are needed to fill the page caches of all connections of a
/// SQLite file.
const ROUNDS: usize = 8;

/// Every import needs memory of its own, and leaves some behind, which accumulates up
/// to a bound: cached pages of a connection, and threads. So one round without growth
/// is enough to pass, and a service that kept the file in memory would have none.
async fn a_large_catalogue_needs_little_memory(on: On) {
    let (service, folder) = service(&on);
    let path = folder.path().join("many.ndjson");
    let mut file = BufWriter::new(File::create(&path).unwrap());
    let words = "a quiet place with some rooms near to the water ".repeat(10);
    let products = products();
    for number in 0..products {
        writeln!(
            file,
            "{{\"externalId\":\"H-{number}\",\"name\":\"House {number}\",\"description\":\"{words}\"}}"
        )
        .unwrap();
    }
    file.flush().unwrap();
    let bytes = std::fs::metadata(&path).unwrap().len();
    let line = format!(
        "products import {} --workspace demo --replace",
        path.display()
    );
    let import = || service.run(&line);
    let said = import();
    let created = format!("{products} created");
    assert!(said.starts_with(&created), "{said}");
    let mut rounds = Vec::new();
    while rounds.iter().all(|grown| *grown >= bytes / 2) {
        assert!(
            rounds.len() < ROUNDS,
            "{rounds:?} bytes more during imports of a file of {bytes}"
        );
        let (said, grown) = service.memory_during(import);
        assert!(
            said.starts_with(&format!("0 created, 0 changed, {products} kept")),
            "{said}"
        );
        rounds.push(grown);
    }
}
