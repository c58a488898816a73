//! Machine code: compiled in a child process, cached, and compiled again when
//! damaged.

use std::path::PathBuf;
use std::process::Command;

use leadhost_domain::limits;
use leadhost_domain::plugin::Digest;
use leadhost_golden::{append_section, pack};
use leadhost_plugin::{Compiler, LoadError, Plugins};
use leadhost_tests::guests::{self, Instruction, Variant};
use leadhost_tests::{eventually, has, program, until};
use tempfile::TempDir;

use super::{Bench, clock, plugins, settings};

fn kept_files(bench: &Bench) -> Vec<PathBuf> {
    let files = std::fs::read_dir(bench.compiled_folder()).unwrap();
    let mut files: Vec<PathBuf> = files.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

#[tokio::test]
async fn compiled_code_is_kept_for_the_next_start() {
    let bench = Bench::without_code(&[]);
    bench.misbehave().await;
    let kept = kept_files(&bench);
    assert_eq!(kept.len(), 1, "and no temporary file stays: {kept:?}");
    let made = std::fs::metadata(&kept[0]).unwrap().modified().unwrap();

    let again = plugins(bench.data.path(), &[]);
    again.prepare(guests::misbehave()).await.unwrap();
    let after = std::fs::metadata(&kept[0]).unwrap().modified().unwrap();
    assert_eq!(made, after, "it was not compiled again");
}

#[tokio::test]
async fn damaged_code_is_detected_and_compiled_again() {
    let bench = Bench::without_code(&[]);
    bench.misbehave().await;
    let path = kept_files(&bench).remove(0);
    let good = std::fs::read(&path).unwrap();
    let mut flipped = good.clone();
    let middle = flipped.len() / 2;
    flipped[middle] ^= 1;
    for damaged in [flipped, good[..good.len() - 1].to_vec(), Vec::new()] {
        std::fs::write(&path, &damaged).unwrap();
        let loaded = bench.misbehave().await;
        bench.works(&loaded).await;
        assert_ne!(std::fs::read(&path).unwrap(), damaged);
    }
}

#[tokio::test]
async fn the_folder_of_compiled_code_is_for_its_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
    let bench = Bench::without_code(&[]);
    let folder = std::fs::metadata(bench.compiled_folder()).unwrap();
    assert_eq!(folder.permissions().mode() & 0o777, 0o700);
}

// ---- libraries apart

/// Plugins that compile only what changed, as `plugin dev` has them.
fn rebuilding() -> Bench {
    let data = tempfile::tempdir().unwrap();
    let mut settings = settings(&[]);
    settings.compiled_functions = Some(data.path().join("functions"));
    let plugins = Plugins::new(&settings, data.path(), clock()).unwrap();
    Bench { plugins, data }
}

fn version_with_library(version: &str, start: &[Instruction<'_>]) -> Vec<u8> {
    let variant = Variant::version(version);
    guests::with_library(&variant.component(), start)
}

#[tokio::test]
async fn a_library_is_compiled_once_for_all_builds_of_a_component() {
    let bench = rebuilding();
    let first = version_with_library("1.0.0", &[]);
    let loaded = bench.prepared(first.clone()).await;
    let of_all = Digest::compute(&first);
    assert_eq!(loaded.digest, of_all);
    let kept = kept_files(&bench);
    assert_eq!(kept.len(), 2, "the library and the rest: {kept:?}");

    let again = version_with_library("1.1.0", &[]);
    let loaded = bench.prepared(again).await;
    assert_eq!(loaded.description.version, "1.1.0");
    bench.works(&loaded).await;
    let after = kept_files(&bench);
    assert_eq!(after.len(), 3, "only the rest is another one: {after:?}");
    assert!(kept.iter().all(|file| after.contains(file)));

    let other = version_with_library("1.1.0", &[Instruction::Nop]);
    bench.plugins.prepare(other).await.unwrap();
    let last = kept_files(&bench);
    assert_eq!(last.len(), 4, "only the library is another one: {last:?}");
}

#[tokio::test]
async fn a_component_with_golden_cases_has_the_code_of_one_without_them() {
    let bench = rebuilding();
    let bare = version_with_library("1.0.0", &[]);
    bench.plugins.prepare(bare.clone()).await.unwrap();
    let kept = kept_files(&bench);
    let with = append_section(&bare, &pack(&[]).unwrap()).unwrap();
    bench.plugins.prepare(with).await.unwrap();
    assert_eq!(kept_files(&bench), kept);
}

#[tokio::test]
async fn a_service_compiles_the_whole_component() {
    let bench = Bench::without_code(&[]);
    let wasm = version_with_library("1.0.0", &[]);
    bench.plugins.prepare(wasm).await.unwrap();
    assert_eq!(kept_files(&bench).len(), 1);
}

#[tokio::test]
async fn a_component_with_a_library_is_refused_as_it_is_by_a_service() {
    let (service, dev) = (Bench::without_code(&[]), rebuilding());
    let good = version_with_library("1.0.0", &[]);
    let many = guests::memories(limits::PLUGIN_MEMORIES, 1);
    let large = guests::memories(1, 60_000);
    // A value is missing.
    let invalid = version_with_library("1.0.0", &[Instruction::Drop]);
    let crashing = version_with_library("1.0.0", &[Instruction::Unreachable]);
    let cases = [
        (invalid, "type mismatch"),
        (crashing, "in library_start"),
        (guests::with_module(&good, 2, &many), "memories"),
        (guests::with_module(&good, 2, &large), "memory"),
    ];
    for (wasm, part) in cases {
        let expected = service.refused(wasm.clone()).await;
        let refused = dev.refused(wasm).await;
        assert_eq!(refused.to_string(), expected.to_string());
        has!(expected.to_string(), part);
    }
}

// ---- in a child process

fn with_child(overrides: &[(&str, &str)]) -> Bench {
    let data = tempfile::tempdir().unwrap();
    with_compiler(data, overrides, program::binary())
}

/// Replaces the compiler by a shell script, whose third argument is the file for the
/// machine code.
#[track_caller]
fn with_script(overrides: &[(&str, &str)], script: &str) -> Bench {
    let data = tempfile::tempdir().unwrap();
    let program = data.path().join("compiler");
    // Written by another process: a file that this one still has open could not be
    // executed.
    let write = "printf '#!/bin/sh\n%s\n' \"$1\" >\"$2\" && chmod 700 \"$2\"";
    let mut shell = Command::new("sh");
    let written = shell.args(["-c", write, "sh", script]);
    let written = written.arg(&program).status();
    assert!(written.unwrap().success());
    with_compiler(data, overrides, program)
}

fn with_compiler(data: TempDir, overrides: &[(&str, &str)], program: PathBuf) -> Bench {
    let compiler = Compiler::Child(program);
    let plugins =
        Plugins::with_compiler(&settings(overrides), data.path(), clock(), compiler).unwrap();
    Bench { plugins, data }
}

#[tokio::test]
async fn a_child_process_compiles_the_code_that_this_process_runs() {
    let bench = with_child(&[]);
    let loaded = bench.misbehave().await;
    bench.works(&loaded).await;
    assert_eq!(kept_files(&bench).len(), 1);
}

#[tokio::test]
async fn the_childs_message_about_a_broken_component_is_passed_on() {
    // A section of an unknown kind.
    let broken = b"\0asm\x0d\0\x01\0\x7f\x01\0".to_vec();
    let error = with_child(&[]).refused(broken).await;
    assert!(matches!(error, LoadError::Invalid(_)), "{error}");
    assert!(!error.is_temporary());
}

#[tokio::test]
async fn a_child_that_needs_too_much_memory_or_time_ends_alone() {
    let bench = with_child(&[("compile_memory_mib", "40")]);
    let error = bench.refused(guests::misbehave()).await;
    let expected = matches!(error, LoadError::Invalid(_) | LoadError::Compiler(_));
    assert!(expected, "{error}");
    let bench = with_child(&[("compile_seconds", "0")]);
    let error = bench.refused(guests::misbehave()).await;
    assert!(matches!(error, LoadError::CompileTimeout { .. }), "{error}");
}

#[tokio::test]
async fn machine_code_past_its_bound_is_not_loaded() {
    let bench = with_script(&[("component_mib", "8")], "truncate -s 67108865 \"$3\"");
    let error = bench.refused(guests::misbehave()).await;
    let LoadError::NeedsTooMuch { what } = &error else {
        panic!("{error}");
    };
    assert!(what.starts_with("67108865 bytes of machine code"), "{what}");
    has!(what, "67108864");
    assert!(!error.is_temporary());
}

#[tokio::test]
async fn a_child_without_a_waiting_caller_is_ended() {
    let bench = with_script(&[], "echo $$ >\"$3.pid\"; exec sleep 3600");
    let plugins = bench.plugins.clone();
    let trial = tokio::spawn(async move { plugins.prepare(guests::misbehave()).await });
    let process = until("the compiler runs", async || {
        let written = kept_files(&bench)
            .into_iter()
            .find(|file| file.extension().is_some_and(|kind| kind == "pid"))?;
        let number = std::fs::read_to_string(written).unwrap();
        (!number.is_empty()).then(|| PathBuf::from("/proc").join(number.trim()))
    })
    .await;
    assert!(process.exists());
    trial.abort();
    assert!(trial.await.unwrap_err().is_cancelled());
    eventually("the compiler has ended", async || !process.exists()).await;
}

#[tokio::test]
async fn a_compiler_that_cannot_be_started_is_a_fault_of_the_host() {
    let data = tempfile::tempdir().unwrap();
    let bench = with_compiler(data, &[], "/nonexistent/leadhost".into());
    let error = bench.refused(guests::misbehave()).await;
    assert!(error.is_temporary(), "{error}");
}
