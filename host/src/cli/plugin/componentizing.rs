//! Turns a core module into a component in a child process of the same program
//! (`cli/componentize.rs`), under limits: a module that breaks the encoder breaks only the child.

use std::io::{Result as IoResult, Write as _};
use std::process::{Command, Output, Stdio};

use crate::cli::prelude::*;
use leadhost_plugin::COMPILE_EXIT_INVALID;

pub fn componentize(module: &[u8]) -> Result<Vec<u8>, String> {
    let output = in_child(module).map_err(|error| {
        format!("the process that makes components cannot be started or read: {error}")
    })?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    let code = output.status.code();
    if code == Some(i32::from(COMPILE_EXIT_INVALID)) {
        return Err(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let how = match code {
        Some(_) => "it breaks the encoder".to_owned(),
        None => format!(
            "that takes more than {} seconds of processor time or {} MiB of memory, or breaks the encoder",
            limits::COMPONENTIZE_PROCESSOR_TIME.as_secs(),
            limits::COMPONENTIZE_MEMORY_MIB
        ),
    };
    Err(format!(
        "the core module cannot be turned into a component: {how} ({}); it is damaged or made by another toolchain than the guides name: build it again",
        output.status
    ))
}

/// The child's own limits end it, so it is waited for without a deadline.
fn in_child(module: &[u8]) -> IoResult<Output> {
    // This stays the same program even if an upgrade replaces its file.
    let mut child = Command::new("/proc/self/exe")
        .arg("componentize")
        .arg(limits::COMPONENTIZE_MEMORY_MIB.to_string())
        .arg(limits::COMPONENTIZE_PROCESSOR_TIME.as_secs().to_string())
        .env_clear()
        .env("MALLOC_ARENA_MAX", "2")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let mut input = child.stdin.take().expect("it is piped");
    // The child reads everything before it answers. If it failed, its exit status says more.
    let _ = input.write_all(module);
    drop(input);
    child.wait_with_output()
}
