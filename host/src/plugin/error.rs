//! What goes wrong with plugins, split by who has to do something: the engine
//! cannot start (the operator), a component is refused (its author), a call
//! gave no answer (the pipeline: retry, wait, or hold it against the version).

use crate::domain::plugin::{Digest, PluginKind};
use crate::domain::text::kept;
use crate::domain::time::Micros;
use crate::limits;

/// As much as is repeated of a text that holds what a component says: it goes into
/// logs, answers and the list of refusals, and a component's words may be megabytes.
pub fn shortened(text: String) -> String {
    let mut text = kept(text);
    if text.len() > limits::REFUSAL_BYTES {
        text.truncate(text.floor_char_boundary(limits::REFUSAL_BYTES));
        text.push_str("...");
    }
    text
}

/// The first of these names, each cut, and how many more there are.
pub fn first_of<'a>(names: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let mut names = names.into_iter();
    let mut told: Vec<String> = names
        .by_ref()
        .take(limits::REFUSAL_NAMES)
        .map(|name| name[..name.floor_char_boundary(limits::REFUSAL_NAME_BYTES)].to_owned())
        .collect();
    let more = names.count();
    if more > 0 {
        told.push(format!("{more} more"));
    }
    told
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

/// A component is refused. The text tells its author what to change.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    #[error("the file is empty")]
    Empty,
    #[error("the component has {bytes} bytes; at most {limit} are taken (plugins.component_mib)")]
    TooLarge { bytes: usize, limit: usize },
    #[error(
        "the file is compiled machine code; only portable components (.wasm) are taken: upload the file that it was compiled from"
    )]
    Precompiled,
    #[error(
        "the file is a core WebAssembly module, not a component: build with `cargo xtask plugins`, or turn it into one with `wasm-tools component new`"
    )]
    CoreModule,
    #[error("the file is not WebAssembly: it does not begin with the magic bytes")]
    NotWasm,
    #[error("the component does not compile: {0}")]
    Invalid(String),
    #[error("compiling took longer than {seconds} seconds (plugins.compile_seconds)")]
    CompileTimeout { seconds: u64 },
    #[error("the compiler process failed: {0}")]
    Compiler(String),
    #[error("the component wants the contract {wants}; this host offers {}", offered.join(", "))]
    Incompatible { wants: String, offered: Vec<String> },
    #[error(
        "the component claims the contract {contract} but does not keep it: {detail}; build it against the published WIT files"
    )]
    Mismatch { contract: String, detail: String },
    #[error(
        "the component claims the contracts {}: a plugin is one of them, so make a component for each",
        contracts.join(" and ")
    )]
    SeveralKinds { contracts: Vec<String> },
    #[error(
        "the component imports {}, which a plugin does not get: it computes, and the host does the rest",
        imports.join(", ")
    )]
    RefusedImport { imports: Vec<String> },
    #[error("the component needs more before it runs than a plugin is given: {what}")]
    NeedsTooMuch { what: String },
    #[error("`describe` says something that cannot be: {0}")]
    Description(String),
    #[error("the configuration schema that `describe` gives cannot be used: {0}")]
    Schema(String),
    #[error("`{function}` gave no answer when the plugin was tried: {source}")]
    Tried {
        function: &'static str,
        #[source]
        source: CallError,
    },
    #[error(
        "trying the component took longer than {seconds} seconds beside compiling it (plugins.trial_seconds): `describe`, its schema, its checks and its golden cases have that together"
    )]
    TrialTimeout { seconds: u64 },
    #[error("{waiting} components wait to be tried already: try again when they are done")]
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
    #[error("a golden case that the component carries shows what the host would not do: {0}")]
    Answer(String),
    #[error("the component's signature does not hold: {0}")]
    Signature(String),
    /// Not the component's fault: try again.
    #[error("the host could not prepare the component: {0}")]
    Host(String),
}

impl LoadError {
    /// For metrics and for machines that read a refusal.
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

    /// The host's trouble rather than the component's: the same file may be
    /// taken later.
    pub fn is_passing(&self) -> bool {
        match self {
            Self::Host(_) | Self::Compiler(_) | Self::Busy { .. } => true,
            Self::Tried { source, .. } => !source.is_fault(),
            _ => false,
        }
    }
}

/// A call gave no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    #[error("the plugin broke off: {message}")]
    Trapped {
        message: String,
        /// What it wrote to its standard output and error.
        log: Vec<String>,
    },
    #[error("the plugin computed for more than {budget_ms} ms")]
    OutOfTime {
        budget_ms: u64,
        /// The short budget inside a request: no fault, the worker tries again.
        inline: bool,
    },
    #[error("the plugin wanted more than {limit} bytes of memory")]
    OutOfMemory { limit: usize },
    #[error("the plugin's answer is larger than {limit} bytes")]
    TooMuchOutput { limit: usize },
    #[error("the plugin's answer breaks a rule of the host: {what}")]
    Refused { what: String },
    #[error(
        "the plugin is {}, which has no `{function}`; whatever names it there means another one",
        kind.with_article()
    )]
    Lacks {
        kind: PluginKind,
        function: &'static str,
    },
    #[error("the plugins are busy: this call did not get enough of the processor in time")]
    Busy,
    /// The version failed several times in a row for this connection.
    #[error("the plugin is not tried for this connection for now: {reason}")]
    CircuitOpen {
        reason: String,
        /// When it is worth asking again.
        until: Micros,
    },
    #[error("the service is shutting down")]
    ShuttingDown,
}

impl CallError {
    /// For metrics.
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

    /// Whether it counts against the version that ran. What does not is tried
    /// again as if it had not been tried.
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

    /// What the plugin wrote before it broke off.
    pub fn log(&self) -> &[String] {
        match self {
            Self::Trapped { log, .. } => log,
            _ => &[],
        }
    }
}

/// A digest was to serve that is not installed here.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("no plugin with digest {} is loaded", .0.short())]
pub struct NotInstalled(pub Digest);
