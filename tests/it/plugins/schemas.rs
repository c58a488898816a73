//! Configuration schemas that are too expensive to evaluate: refused with a
//! reason before any evaluation; and if they were not, the evaluation would be
//! ended.

use std::io::Write as _;
use std::process::Stdio;

use leadhost_plugin::{Compiler, LoadError, Plugins};
use leadhost_tests::guests::Variant;
use leadhost_tests::{program, service};
use serde_json::{Value, json};

use super::{Bench, clock, settings};

const HARMS: [(&str, &str); 6] = [
    ("schema-steps", "through each other"),
    ("schema-pattern", "regex"),
    ("schema-patterns", "bytes"),
    ("schema-chain", "bytes"),
    ("schema-self", "never end"),
    ("schema-size", "bytes"),
];

async fn each_is_refused(bench: &Bench) {
    for (harm, says) in HARMS {
        let bomb = Variant {
            describe: harm,
            ..Variant::default()
        };
        let error = bench.plugins.prepare(bomb.component()).await.unwrap_err();
        let LoadError::Schema(why) = &error else {
            panic!("{harm}: {error}");
        };
        assert!(why.contains(says), "{harm}: {why}");
    }
    let loaded = bench.misbehave().await;
    bench.convert(&loaded, "{}").await.unwrap().unwrap();
}

#[tokio::test]
async fn schemas_that_take_too_many_steps_are_refused() {
    each_is_refused(&Bench::new(&[])).await;
}

#[tokio::test]
async fn a_separate_process_refuses_schemas_that_take_too_many_steps() {
    let data = tempfile::tempdir().unwrap();
    let compiler = Compiler::Child(program::binary());
    let plugins = Plugins::with_compiler(&settings(&[]), data.path(), clock(), compiler).unwrap();
    each_is_refused(&Bench { plugins, data }).await;
}

#[tokio::test]
async fn a_configuration_is_checked_in_a_separate_process() {
    let data = tempfile::tempdir().unwrap();
    let compiler = Compiler::Child(program::binary());
    let plugins = Plugins::with_compiler(&settings(&[]), data.path(), clock(), compiler).unwrap();
    let bench = Bench { plugins, data };
    let loaded = bench.misbehave().await;
    let configs = [json!({"do": "loop"}), json!({"size": -1}), json!({})];
    let faults = bench
        .plugins
        .config_faults(&loaded, &configs)
        .await
        .unwrap();
    assert_eq!(faults.iter().map(Vec::len).collect::<Vec<_>>(), [0, 1, 0]);
    assert_eq!(faults[1][0].place, "/size");
}

/// Each level refers to the next one twice for the same value.
fn exponential() -> Value {
    let mut definitions = serde_json::Map::new();
    for level in 0..45 {
        let next = json!({"$ref": format!("#/$defs/l{}", level + 1)});
        definitions.insert(format!("l{level}"), json!({"allOf": [next, next]}));
    }
    definitions.insert("l45".to_owned(), json!({"type": "string"}));
    json!({"$ref": "#/$defs/l0", "$defs": definitions})
}

/// The second line of defence alone, through the program that implements it.
#[test]
fn a_check_that_takes_too_long_is_ended_by_its_own_limit() {
    let folder = tempfile::tempdir().unwrap();
    let mut child = service::command(folder.path(), &["examine", "2048", "1"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let question = json!({"schema": exponential().to_string(), "configs": [{"a": 1}]});
    let mut input = child.stdin.take().unwrap();
    input.write_all(question.to_string().as_bytes()).unwrap();
    drop(input);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), None, "a signal ended it");
}
