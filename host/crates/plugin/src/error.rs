//! Errors of plugins, split by who has to act: the engine cannot start (the operator), a
//! component is refused (its author), a call returned no answer (the pipeline: retry, wait,
//! or count it against the version).

use crate::guest_log::is_panic_of_rust;
use crate::prelude::*;
use leadhost_domain::size;
use leadhost_domain::text::{on_one_line, storable};
use leadhost_domain::word::words;

/// Shortens a text that quotes a component: it goes into logs, answers and the list of
/// refusals, and the component's text may be megabytes long.
pub fn shortened(text: String) -> String {
    let mut text = storable(text);
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
        "the file is a core module, not a component: `leadhost plugin publish FILE -o OUT` turns it into a component"
    )]
    CoreModule,
    #[error("the file is not WebAssembly: it does not begin with the magic bytes")]
    NotWasm,
    #[error("the component does not compile: {0}")]
    Invalid(String),
    #[error(
        "compiling took longer than {} seconds: raise plugins.compile_seconds in the configuration (`plugin dev` reads it with --service-config FILE)",
        budget.as_secs()
    )]
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
    #[error("{waiting} components are already queued for their trial: try again later")]
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
    #[error(
        "the service ended {times} times while it tried the component, so it is not tried again"
    )]
    EndedProcess { times: u64 },
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
            Self::EndedProcess { .. } => "ended_process",
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

words! {
    CallOutcome: "the outcome" {
        Ok = "ok",
        Trapped = "trapped",
        OutOfTimeInline = "out_of_time_inline",
        OutOfTime = "out_of_time",
        OutOfMemory = "out_of_memory",
        TooMuchOutput = "too_much_output",
        Refused = "refused",
        Lacks = "lacks",
        Busy = "busy",
        CircuitOpen = "circuit_open",
        ShuttingDown = "shutting_down",
    }
}

impl CallOutcome {
    /// Returns the outcome of a call with this result. A refusal by the plugin itself is an answer.
    pub fn from_result<T>(result: &Result<T, CallError>) -> Self {
        result.as_ref().map_or_else(CallError::kind, |_| Self::Ok)
    }
}

/// A call returned no answer. `log` is what the plugin wrote to its standard output and error until
/// then, which may contain data of a delivery: the messages leave it out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    #[error("the plugin call failed: {message}")]
    Trapped { message: String, log: Vec<String> },
    #[error("the plugin needed more than {} ms of processor time{place}", budget.as_millis())]
    OutOfTime {
        budget: Duration,
        /// The functions in which it was, as in the message of a trap; empty if they are not known.
        place: String,
        /// The short budget inside a request: no fault, and the worker retries.
        inline: bool,
        log: Vec<String>,
    },
    #[error("the plugin needed more than {} of memory{place}", size::readable(*limit as u64))]
    OutOfMemory {
        limit: usize,
        place: String,
        log: Vec<String>,
    },
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
    #[error(
        "not called, since the plugin's circuit breaker is open for this connection; what failed before, on other deliveries: {reason}"
    )]
    CircuitOpen {
        reason: String,
        until: Micros,
        /// Only a request skips the call: the version is too slow for it, and does not fail.
        inline_only: bool,
    },
    #[error("the service is shutting down")]
    ShuttingDown,
}

impl CallError {
    pub fn kind(&self) -> CallOutcome {
        match self {
            Self::Trapped { .. } => CallOutcome::Trapped,
            Self::OutOfTime { inline: true, .. } => CallOutcome::OutOfTimeInline,
            Self::OutOfTime { inline: false, .. } => CallOutcome::OutOfTime,
            Self::OutOfMemory { .. } => CallOutcome::OutOfMemory,
            Self::TooMuchOutput { .. } => CallOutcome::TooMuchOutput,
            Self::Refused { .. } => CallOutcome::Refused,
            Self::Lacks { .. } => CallOutcome::Lacks,
            Self::Busy => CallOutcome::Busy,
            Self::CircuitOpen { .. } => CallOutcome::CircuitOpen,
            Self::ShuttingDown => CallOutcome::ShuttingDown,
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

    /// Returns whether the host could not make the call, so that the error says nothing about the
    /// version.
    pub fn is_not_made(&self) -> bool {
        matches!(self, Self::Busy | Self::ShuttingDown)
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
        let lines: Vec<&str> = log.iter().map(String::as_str).collect();
        let begin =
            exception_in(&lines).filter(|at| begins_crash(lines[*at]) || has_stack(&lines, *at));
        let shown = match begin {
            Some(at) => fitting(lines[at..].iter().copied()),
            None => {
                let mut last = fitting(lines.iter().rev().copied());
                last.reverse();
                last
            }
        };
        self.with_lines(&shown)
    }

    /// Returns the message with the line of this log that names the exception or the panic, if there is
    /// one.
    pub fn with_exception(&self, log: &[String]) -> String {
        let lines: Vec<&str> = log.iter().map(String::as_str).collect();
        match exception_in(&lines) {
            Some(at) => self.with_lines(&fitting(std::iter::once(lines[at]))),
            None => self.to_string(),
        }
    }

    /// Returns the message with the type of the exception that the log names, such as `TypeError`: no
    /// data of a delivery.
    pub fn with_type(&self) -> String {
        let lines: Vec<&str> = self.log().iter().map(String::as_str).collect();
        let name = exception_in(&lines).map(|at| type_of(lines[at]));
        match name.filter(|name| is_type(name)) {
            Some(name) => format!("{self}; it wrote: {name}"),
            None => self.to_string(),
        }
    }

    fn with_lines(&self, lines: &[&str]) -> String {
        if lines.is_empty() {
            self.to_string()
        } else {
            on_one_line(&format!("{self}; it wrote: {}", lines.join(" | ")))
        }
    }
}

/// Returns the line that names the exception or the panic that ended a call: the last one.
fn exception_in(lines: &[&str]) -> Option<usize> {
    let crash = lines.iter().rposition(|line| begins_crash(line));
    crash
        .or_else(|| end_of_traceback(lines))
        .or_else(|| lines.iter().rposition(|line| is_type(type_of(line))))
        .or_else(|| {
            let place = lines.iter().rposition(|line| is_panic_of_rust(line))?;
            let message = place + 1;
            (message < lines.len()).then_some(message)
        })
}

/// Returns the line after the last traceback of Python, which has the exception.
fn end_of_traceback(lines: &[&str]) -> Option<usize> {
    let begin = lines.iter().rposition(|line| *line == TRACEBACK)?;
    let is_within = |line: &&str| line.starts_with(' ') || line.trim().is_empty();
    let after = lines[begin + 1..]
        .iter()
        .position(|line| !is_within(line))?;
    Some(begin + 1 + after)
}

const TRACEBACK: &str = "Traceback (most recent call last):";

fn type_of(line: &str) -> &str {
    line.split_once(':').map_or(line, |(name, _)| name)
}

fn is_type(name: &str) -> bool {
    let is_part = |one: char| one.is_ascii_alphanumeric() || matches!(one, '_' | '.' | '$');
    let is_named = ["Error", "Exception"].iter().any(|end| name.ends_with(end));
    is_named && name.len() <= LONGEST_TYPE && name.chars().all(is_part)
}

/// Bytes of the longest type of an error.
const LONGEST_TYPE: usize = 100;

fn begins_crash(line: &str) -> bool {
    BEGINS_OF_CRASHES
        .iter()
        .any(|begin| line.starts_with(begin))
}

/// Whether the stack of an exception in JavaScript follows it.
fn has_stack(lines: &[&str], at: usize) -> bool {
    lines
        .get(at + 1)
        .is_some_and(|line| line.starts_with("    at "))
}

/// How the message of a crash begins: of a panic in Go, which comes before its long trace, of one in Zig as
/// our module writes it, and of a failed `assert` in C. In other languages the message is at the end.
const BEGINS_OF_CRASHES: [&str; 3] = ["panic: ", "fatal error: ", "Assertion failed: "];

/// Returns the first of these lines that fit into an error, at least the beginning of one.
fn fitting<'a>(lines: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut room = limits::LOG_IN_ERROR_BYTES;
    let mut shown: Vec<&str> = Vec::new();
    for line in lines.map(str::trim) {
        if line.len() > room && !shown.is_empty() {
            break;
        }
        let end = line.floor_char_boundary(room);
        room -= end;
        shown.push(&line[..end]);
    }
    shown
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("no plugin with digest {} is loaded", .0.short())]
pub struct NotInstalled(pub Digest);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guest_log::readable;

    fn trapped(log: &[&str]) -> CallError {
        CallError::Trapped {
            message: "unreachable".to_owned(),
            log: readable(log.iter().map(|line| (*line).to_owned()).collect()),
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

    const OF_JAVASCRIPT: [&str; 7] = [
        "before",
        "TypeError: cannot read property 'a' of undefined",
        "    at read (src/converter.js:36)",
        "",
        "thread '<unnamed>' (1) panicked at crates/runtime/src/interpreter.rs:51:31:",
        "Exception { message: Some(\"cannot read\"), stack: Some(\"at\") })",
        ")",
    ];

    const OF_PYTHON: [&str; 5] = [
        "Traceback (most recent call last):",
        "  File \"converter.py\", line 7, in convert",
        "    raise NoPhone(\"Ana\")",
        "converter.NoPhone: Ana",
        "",
    ];

    #[test]
    fn an_exception_in_javascript_is_shown_with_its_stack_and_without_the_engine() {
        assert_eq!(
            shown(&OF_JAVASCRIPT),
            "the plugin call failed: unreachable; it wrote: TypeError: cannot read property 'a' of undefined | at read (src/converter.js:36)"
        );
    }

    #[test]
    fn an_error_shows_the_line_of_the_exception_or_its_type() {
        let check = |log: &[&str], line: Option<&str>, name: Option<&str>| {
            let error = trapped(log);
            let wrote = |what: Option<&str>| match what {
                Some(what) => format!("the plugin call failed: unreachable; it wrote: {what}"),
                None => "the plugin call failed: unreachable".to_owned(),
            };
            assert_eq!(error.with_exception(error.log()), wrote(line), "{log:?}");
            assert_eq!(error.with_type(), wrote(name), "{log:?}");
        };
        let of_javascript = "TypeError: cannot read property 'a' of undefined";
        check(&OF_JAVASCRIPT, Some(of_javascript), Some("TypeError"));
        // The name of the class ends in no usual way.
        check(&OF_PYTHON, Some("converter.NoPhone: Ana"), None);
        let usual = ["KeyError: 'a'"];
        check(&usual, Some("KeyError: 'a'"), Some("KeyError"));
        let of_go = ["panic: no phone", "goroutine 1 [running]:"];
        check(&of_go, Some("panic: no phone"), None);
        let of_zig = ["before", "panic: index out of bounds: index 3, len 3"];
        check(&of_zig, Some(of_zig[1]), None);
        let of_c = "Assertion failed: phone (converter.c: read_lead: 41)";
        check(&["before", of_c], Some(of_c), None);
        let of_rust = ["thread 'main' panicked at src/lib.rs:3:5:", "no phone"];
        check(&of_rust, Some("no phone"), None);
        check(&["a line", "Ana Error: no"], None, None);
        check(&[], None, None);
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

    #[test]
    fn the_guide_lists_every_outcome_of_a_call_and_no_other() {
        let guide = include_str!("../../../../docs/operators.md");
        let section = guide.split_once("\n### Outcomes of plugin calls\n");
        let (_, section) = section.expect("it has the table");
        let lines = section.lines().take_while(|line| !line.starts_with('#'));
        let listed = lines.filter_map(|line| line.strip_prefix("| `")?.split_once('`'));
        let listed: Vec<&str> = listed.map(|(outcome, _)| outcome).collect();
        let outcomes = CallOutcome::ALL.iter().map(|outcome| outcome.as_str());
        assert_eq!(listed, outcomes.collect::<Vec<_>>());
    }
}
