//! One build of everything that the tests run: their programs and the service.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::Value;

use crate::failure::{Context as _, Failure};
use crate::{process, repository};

const INTEGRATION: &str = "it";

pub const INTEGRATION_TESTS: &[&str] = &["--test", INTEGRATION, "--bin", "leadhost"];

/// Not `--bins`: the benchmarks and the tasks are built as tests, and once more for nothing.
pub const ALL_TESTS: &[&str] = &[
    "--lib",
    "--tests",
    "--bin",
    "leadhost",
    "--bin",
    "leadhost-tests-postgres",
];

pub struct Programs {
    pub integration: TestProgram,
    pub unit: Vec<TestProgram>,
    pub leadhost: PathBuf,
}

/// A program of libtest.
pub struct TestProgram {
    pub name: String,
    pub path: PathBuf,
    /// The folder of its package, in which it runs.
    pub folder: PathBuf,
}

/// Builds these targets of the whole workspace in one call of Cargo, so that each crate is compiled with one
/// set of features.
pub fn build(targets: &[&str]) -> Result<Programs, Failure> {
    let mut command = repository::cargo();
    command
        .args(["build", "--workspace"])
        .args(targets)
        .arg("--message-format=json-render-diagnostics");
    eprintln!("$ {}", process::line(&command));
    let output = command
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .context("starting cargo build")?;
    if !output.status.success() {
        return Err(Failure::new("the tests do not compile").hint("see the messages above"));
    }
    let (mut integration, mut unit, mut leadhost) = (None, Vec::new(), None);
    for built in executables(&String::from_utf8_lossy(&output.stdout)) {
        match (built.is_test, built.program.name.as_str()) {
            (true, INTEGRATION) => integration = Some(built.program),
            (true, _) => unit.push(built.program),
            (false, "leadhost") => leadhost = Some(built.program.path),
            (false, _) => {}
        }
    }
    let missing = |what: &str| Failure::new(format!("cargo did not report the path of {what}"));
    Ok(Programs {
        integration: integration.ok_or_else(|| missing("the integration tests"))?,
        unit,
        leadhost: leadhost.ok_or_else(|| missing("the service"))?,
    })
}

struct Executable {
    program: TestProgram,
    is_test: bool,
}

fn executables(messages: &str) -> impl Iterator<Item = Executable> {
    let messages = messages
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok());
    messages.filter_map(|message| {
        let manifest = Path::new(message["manifest_path"].as_str()?);
        Some(Executable {
            program: TestProgram {
                name: message["target"]["name"].as_str()?.to_owned(),
                path: PathBuf::from(message["executable"].as_str()?),
                folder: manifest.parent()?.to_path_buf(),
            },
            is_test: message["profile"]["test"] == true,
        })
    })
}

impl TestProgram {
    pub fn names(&self) -> Result<Vec<String>, Failure> {
        let mut command = std::process::Command::new(&self.path);
        let listed = process::output(command.args(["--list", "--format", "terse"]))?;
        let names = listed
            .lines()
            .filter_map(|line| line.strip_suffix(": test"));
        Ok(names.map(str::to_owned).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_and_programs_are_told_apart_in_cargos_messages() {
        let messages = concat!(
            r#"{"reason":"compiler-artifact","manifest_path":"/r/sdk/Cargo.toml","target":{"name":"sdk"},"profile":{"test":false},"executable":null}"#,
            "\n",
            r#"{"reason":"compiler-artifact","manifest_path":"/r/tests/Cargo.toml","target":{"name":"it"},"profile":{"test":true},"executable":"/t/it-1"}"#,
            "\n",
            r#"{"reason":"compiler-artifact","manifest_path":"/r/host/Cargo.toml","target":{"name":"leadhost"},"profile":{"test":false},"executable":"/t/leadhost"}"#,
            "\nnot json\n",
        );
        let found: Vec<_> = executables(messages).collect();
        assert_eq!(found.len(), 2);
        assert!(found[0].is_test && found[0].program.folder == Path::new("/r/tests"));
        assert!(!found[1].is_test && found[1].program.path == Path::new("/t/leadhost"));
    }
}
