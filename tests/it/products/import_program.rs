//! The import of a catalogue with the command line, against a running service.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::Path;
use std::process::Stdio;

use leadhost_tests::service::{command, leadhost};
use leadhost_tests::{On, Service, sized};
use serde_json::Value;

leadhost_tests::on_every_store! {
    #[tokio::test(flavor = "multi_thread")]
    a_file_is_imported_and_refused_lines_are_reported,
    a_large_catalogue_needs_little_memory,
}

const WORKSPACE: &str = "[workspace]\nslug = \"demo\"\nname = \"Demo\"\n";

/// A service with an empty workspace, and the folder for its files.
fn service(on: &On) -> (Service, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("workspace.toml");
    std::fs::write(&file, WORKSPACE).unwrap();
    let service = Service::start_on(on, folder.path(), &[]);
    service.run(&["apply", file.to_str().unwrap()]);
    (service, folder)
}

fn write(folder: &Path, name: &str, content: &[u8]) -> String {
    let path = folder.join(name);
    std::fs::write(&path, content).unwrap();
    path.to_str().unwrap().to_owned()
}

async fn a_file_is_imported_and_refused_lines_are_reported(on: On) {
    let (service, folder) = service(&on);
    let import = ["products", "import", "--workspace", "demo"];
    let with = |more: &[&str]| {
        [&import[..], more]
            .concat()
            .into_iter()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let run = |more: &[&str]| {
        let arguments = with(more);
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        service.run(&arguments)
    };
    let fail = |more: &[&str]| {
        let arguments = with(more);
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        service.fail(&arguments)
    };
    let csv = write(
        folder.path(),
        "homes.csv",
        b"externalId,name,rooms\n1,House,3\n2,Flat,2\n",
    );
    assert!(run(&[&csv]).starts_with("2 created, 0 changed, 0 kept, 0 removed, 0 refused"));
    let report: Value = serde_json::from_str(&run(&[&csv, "--json"])).unwrap();
    assert_eq!(
        (&report["kept"], &report["ignored"][0]),
        (&2.into(), &"rooms".into())
    );

    // Detected by its content, since the name does not show the format.
    let lines = write(
        folder.path(),
        "homes",
        b"{\"externalId\":\"3\",\"name\":\"Boat\"}\n{\"externalId\":\"3\",\"name\":\"Twice\"}\nx\n",
    );
    let all = folder.path().join("refused.ndjson");
    let all = all.to_str().unwrap();
    let said = fail(&[&lines, "--replace", "--report", all]);
    for part in [
        "line 2: externalId `3`",
        "line 3: the line is not a JSON object",
        "2 lines were refused",
        all,
    ] {
        assert!(said.contains(part), "{said}");
    }
    let refused = std::fs::read_to_string(all).unwrap();
    let refused: Vec<Value> = refused
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(refused.len(), 2);
    assert_eq!(
        (&refused[0]["line"], &refused[1]["line"]),
        (&2.into(), &3.into())
    );
    assert!(run(&[&csv, "--format", "csv", "--replace"]).contains("1 removed"));

    let empty = write(folder.path(), "empty.csv", b"");
    let said = fail(&[&empty, "--replace"]);
    assert!(
        said.contains("names no product") && said.contains("--force"),
        "{said}"
    );
    assert!(run(&[&empty, "--replace", "--force"]).contains("2 removed"));

    let semicolons = write(
        folder.path(),
        "semicolons.csv",
        b"externalId;name\n1;House\n",
    );
    assert!(fail(&[&semicolons]).contains("semicolons"));
    assert!(fail(&["/nowhere.csv"]).contains("cannot read /nowhere.csv"));
    let said = service.fail(&["products", "import", &csv, "--workspace", "nope"]);
    assert!(said.contains("workspace list"), "{said}");
    let usage = leadhost(
        folder.path(),
        &["products", "import", &csv, "--workspace", "demo", "--force"],
    );
    assert_eq!(usage.status.code(), Some(2));

    let mut piped = command(
        folder.path(),
        &["products", "import", "-", "--workspace", "demo"],
    )
    .stdin(Stdio::piped())
    .stdout(Stdio::piped())
    .spawn()
    .unwrap();
    let mut input = piped.stdin.take().unwrap();
    input.write_all(b"externalId,name\n7,Piped\n").unwrap();
    drop(input);
    let output = piped.wait_with_output().unwrap();
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
    let import = || {
        service.run(&[
            "products",
            "import",
            path.to_str().unwrap(),
            "--workspace",
            "demo",
            "--replace",
        ])
    };
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
