//! Errors of plugins, split by who has to act: the engine cannot start (the operator), a
//! component is refused (its author), a call returned no answer (the pipeline: retry, wait,
//! or count it against the version).

use std::time::Duration;

use crate::domain::plugin::{Digest, PluginKind};
use crate::domain::size;
use crate::domain::text::{kept, on_one_line};
use crate::domain::time::Micros;
use crate::limits;

/// Shortens a text that quotes a component: it goes into logs, answers and the list of
/// refusals, and the component's text may be megabytes long.
pub fn shortened(text: String) -> String {
    let mut text = kept(text);
    if text.len() > limits::REFUSAL_BYTES {
        text.truncate(text.floor_char_boundary(limits::REFUSAL_BYTES));
        text.push_str("...");
    }
    text
}

/// Returns the first of these names, each cut to its bound, and the number of the others.
pub fn first_of<'a>(names: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let mut names = names.into_iter();
    let mut shown: Vec<String> = names
        .by_ref()
        .take(limits::REFUSAL_NAMES)
        .map(|name| name[..name.floor_char_boundary(limits::REFUSAL_NAME_BYTES)].to_owned())
        .collect();
    let more = names.count();
    if more > 0 {
        shown.push(format!("{more} more"));
    }
    shown
}

/// The plugin engine cannot be started.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    #[error("the plugin engine cannot be configured: {0}")]
    Configure(String),
    #[error("a thread for plugins cannot be started")]
    Thread(#[source] std::io::Error),
    #[error("the folder for compiled plugins, {path}, cannot be used")]
    Cache {
        path: String,
        #[source]
        source: std::io::Error,
    },
}

/// A component is refused. The message says what its author must change.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    #[error("the file is empty")]
    Empty,
    #[error(
        "the component has {}; at most {} are accepted (plugins.component_mib)",
        size::exact(*bytes as u64),
        size::readable(*limit as u64)
    )]
    TooLarge { bytes: usize, limit: usize },
    #[error(
        "the file is compiled machine code; only portable components (.wasm) are accepted: upload the file that it was compiled from"
    )]
    Precompiled,
    #[error(
        "the file is a core module, not a component: `leadhost plugin pack FILE -o OUT` makes a component of it"
    )]
    CoreModule,
    #[error("the file is not WebAssembly: it does not begin with the magic bytes")]
    NotWasm,
    #[error("the component does not compile: {0}")]
    Invalid(String),
    #[error("compiling took longer than {} seconds (plugins.compile_seconds)", budget.as_secs())]
    CompileTimeout { budget: Duration },
    #[error("the compiler process failed: {0}")]
    Compiler(String),
    #[error("the component implements {wants}; this host offers {}", offered.join(", "))]
    Incompatible { wants: String, offered: Vec<String> },
    #[error(
        "the component claims the contract {contract} but does not implement it: {detail}; build it against the published WIT files"
    )]
    Mismatch { contract: String, detail: String },
    #[error(
        "the component claims the contracts {}: a plugin implements only one of them, so build a component for each",
        contracts.join(" and ")
    )]
    SeveralKinds { contracts: Vec<String> },
    #[error(
        "the component imports {}, which plugins may not use: a plugin computes, and the host does all input and output",
        imports.join(", ")
    )]
    RefusedImport { imports: Vec<String> },
    #[error("the component needs more resources than a plugin may have: {what}")]
    NeedsTooMuch { what: String },
    #[error("`describe` returns an invalid description: {0}")]
    Description(String),
    #[error("the configuration schema that `describe` returns cannot be used: {0}")]
    Schema(String),
    #[error(
        "`{function}` returned no answer in the plugin's trial: {}",
        source.with_log(source.log())
    )]
    Tried {
        function: &'static str,
        #[source]
        source: CallError,
    },
    #[error(
        "the component's trial took longer than {} seconds, compilation not included (plugins.trial_seconds): `describe`, its schema, its checks and its golden cases share that time",
        budget.as_secs()
    )]
    TrialTimeout { budget: Duration },
    #[error("{waiting} components already wait for their trial: try again when they are done")]
    Busy { waiting: usize },
    #[error("the golden cases that the component carries cannot be used: {0}")]
    GoldenSection(String),
    #[error("{failed} of {total} golden cases that the component carries fail: {report}")]
    Golden {
        failed: usize,
        total: usize,
        /// The first ones on one line, each with its name.
        report: String,
    },
    #[error(
        "a golden case that the component carries expects something that the host would not do: {0}"
    )]
    Answer(String),
    #[error("the component's signature is not valid: {0}")]
    Signature(String),
    /// Not the component's fault; a retry may succeed.
    #[error("the host could not prepare the component: {0}")]
    Host(String),
}

impl LoadError {
    /// Returns a function that makes a failed call of `function` the error of a trial.
    pub(super) fn tried(function: &'static str) -> impl Fn(CallError) -> Self {
        move |source| Self::Tried { function, source }
    }

    /// Returns a stable code, for metrics and for programs that read a refusal.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Empty => "empty",
            Self::TooLarge { .. } => "too_large",
            Self::Precompiled => "precompiled",
            Self::CoreModule => "core_module",
            Self::NotWasm => "not_wasm",
            Self::Invalid(_) => "invalid",
            Self::CompileTimeout { .. } => "compile_timeout",
            Self::Compiler(_) => "compiler",
            Self::Incompatible { .. } => "incompatible",
            Self::Mismatch { .. } => "mismatch",
            Self::SeveralKinds { .. } => "several_kinds",
            Self::RefusedImport { .. } => "refused_import",
            Self::NeedsTooMuch { .. } => "needs_too_much",
            Self::Description(_) => "description",
            Self::Schema(_) => "schema",
            Self::Tried { .. } => "tried",
            Self::TrialTimeout { .. } => "trial_timeout",
            Self::Busy { .. } => "busy",
            Self::GoldenSection(_) => "golden_section",
            Self::Golden { .. } => "golden",
            Self::Answer(_) => "answer",
            Self::Signature(_) => "signature",
            Self::Host(_) => "host",
        }
    }

    /// Returns whether the host is at fault rather than the component, so that the same
    /// file may be accepted later.
    pub fn is_temporary(&self) -> bool {
        match self {
            Self::Host(_) | Self::Compiler(_) | Self::Busy { .. } => true,
            Self::Tried { source, .. } => !source.is_fault(),
            _ => false,
        }
    }
}

/// A call returned no answer. `log` is what the plugin wrote to its standard output and error until
/// then, which may contain data of a delivery: the messages leave it out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    #[error("the plugin call failed: {message}")]
    Trapped { message: String, log: Vec<String> },
    #[error("the plugin computed for more than {} ms", budget.as_millis())]
    OutOfTime {
        budget: Duration,
        /// The short budget inside a request: no fault, and the worker retries.
        inline: bool,
        log: Vec<String>,
    },
    #[error("the plugin needed more than {} of memory", size::readable(*limit as u64))]
    OutOfMemory { limit: usize, log: Vec<String> },
    #[error("the plugin's answer is larger than {}", size::readable(*limit as u64))]
    TooMuchOutput { limit: usize, log: Vec<String> },
    #[error("the plugin's answer breaks a rule of the host: {what}")]
    Refused { what: String, log: Vec<String> },
    #[error(
        "the plugin is {}, which has no `{function}`; use another plugin here",
        kind.with_article()
    )]
    Lacks {
        kind: PluginKind,
        function: &'static str,
    },
    #[error(
        "the plugins are busy: this call did not get enough processor time before its deadline"
    )]
    Busy,
    /// The circuit breaker is open: the version failed several times in a row for this
    /// connection.
    #[error("the plugin's circuit breaker is open for this connection: {reason}")]
    CircuitOpen {
        reason: String,
        /// When a retry makes sense.
        until: Micros,
    },
    #[error("the service is shutting down")]
    ShuttingDown,
}

impl CallError {
    /// Returns a stable code, for metrics.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Trapped { .. } => "trapped",
            Self::OutOfTime { inline: true, .. } => "out_of_time_inline",
            Self::OutOfTime { inline: false, .. } => "out_of_time",
            Self::OutOfMemory { .. } => "out_of_memory",
            Self::TooMuchOutput { .. } => "too_much_output",
            Self::Refused { .. } => "refused",
            Self::Lacks { .. } => "lacks",
            Self::Busy => "busy",
            Self::CircuitOpen { .. } => "circuit_open",
            Self::ShuttingDown => "shutting_down",
        }
    }

    /// Returns whether the error counts against the version that ran. Other errors are
    /// retried as if the call had not been made.
    pub fn is_fault(&self) -> bool {
        match self {
            Self::Trapped { .. }
            | Self::OutOfTime { inline: false, .. }
            | Self::OutOfMemory { .. }
            | Self::TooMuchOutput { .. }
            | Self::Refused { .. }
            | Self::Lacks { .. } => true,
            Self::OutOfTime { inline: true, .. }
            | Self::Busy
            | Self::CircuitOpen { .. }
            | Self::ShuttingDown => false,
        }
    }

    /// Returns what the plugin wrote before it failed, line by line. It is not masked.
    pub fn log(&self) -> &[String] {
        match self {
            Self::Trapped { log, .. }
            | Self::OutOfTime { log, .. }
            | Self::OutOfMemory { log, .. }
            | Self::TooMuchOutput { log, .. }
            | Self::Refused { log, .. } => log,
            Self::Lacks { .. } | Self::Busy | Self::CircuitOpen { .. } | Self::ShuttingDown => &[],
        }
    }

    /// Returns the message with the last of these lines, as far as they fit, on one line: a log that
    /// may be shown where the message is.
    pub fn with_log(&self, log: &[String]) -> String {
        let lines: Vec<&str> = log
            .iter()
            .map(|line| line.trim())
            .filter(|line| !line.is_empty() && !line.starts_with(RUSTS_ADVICE))
            .collect();
        let is_panic = |line: &&str| PANICS_OF_GO.iter().any(|begin| line.starts_with(begin));
        let shown = match lines.iter().rposition(is_panic) {
            Some(at) => fitting(lines[at..].iter().copied()),
            None => {
                let mut last = fitting(lines.iter().rev().copied());
                last.reverse();
                last
            }
        };
        if shown.is_empty() {
            return self.to_string();
        }
        on_one_line(&format!("{self}; it wrote: {}", shown.join(" | ")))
    }
}

/// The end of a panic's message in Rust. A plugin has no environment.
const RUSTS_ADVICE: &str = "note: run with `RUST_BACKTRACE=1`";

/// How the message of a panic in Go begins, which comes before its long trace. In other languages the
/// message is at the end.
const PANICS_OF_GO: [&str; 2] = ["panic: ", "fatal error: "];

/// Returns the first of these lines that fit into an error, at least the beginning of one.
fn fitting<'a>(lines: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut room = limits::LOG_IN_ERROR_BYTES;
    let mut shown: Vec<&str> = Vec::new();
    for line in lines {
        if line.len() > room && !shown.is_empty() {
            break;
        }
        let end = line.floor_char_boundary(room);
        room -= end;
        shown.push(&line[..end]);
    }
    shown
}

/// A version that is not installed here was to be activated.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("no plugin with digest {} is loaded", .0.short())]
pub struct NotInstalled(pub Digest);

#[cfg(test)]
mod tests {
    use super::*;

    fn trapped(log: &[&str]) -> CallError {
        CallError::Trapped {
            message: "unreachable".to_owned(),
            log: log.iter().map(|line| (*line).to_owned()).collect(),
        }
    }

    fn shown(log: &[&str]) -> String {
        let error = trapped(log);
        error.with_log(error.log())
    }

    #[test]
    fn an_error_shows_the_last_lines_on_one_line() {
        assert_eq!(shown(&[]), "the plugin call failed: unreachable");
        assert_eq!(
            shown(&[
                "thread panicked at src/lib.rs:3:5:",
                "",
                "no\u{1b}phone",
                "note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace",
            ]),
            "the plugin call failed: unreachable; it wrote: thread panicked at src/lib.rs:3:5: | no phone"
        );
    }

    #[test]
    fn a_panic_in_go_is_shown_with_the_beginning_of_its_trace() {
        let frame = "converter.read(...)";
        let mut log = vec!["before", "panic: no phone", "", "goroutine 1 [running]:"];
        log.extend([frame; 100]);
        let shown = shown(&log);
        let begin = "; it wrote: panic: no phone | goroutine 1 [running]: | converter.read(...) | ";
        assert!(shown.contains(begin), "{shown}");
        assert!(shown.len() < 2 * limits::LOG_IN_ERROR_BYTES, "{shown}");
    }

    #[test]
    fn a_long_log_is_cut_at_its_beginning() {
        let long = "é".repeat(limits::LOG_IN_ERROR_BYTES);
        let both = shown(&[&long, "the end"]);
        assert!(both.ends_with("; it wrote: the end"), "{both}");
        let alone = shown(&[&long]);
        assert!(alone.len() < limits::LOG_IN_ERROR_BYTES + 100, "{alone}");
    }
}
