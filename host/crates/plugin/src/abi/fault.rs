//! Why a call of a guest returned no answer.

use leadhost_golden::Case;

use leadhost_domain::plugin::PluginKind;

#[derive(Debug)]
pub enum Fault {
    /// The guest failed, or the engine ended it.
    Guest(wasmtime::Error),
    /// The answer breaks a rule of the host.
    Rule(String),
    /// A plugin of this kind has no such function.
    Lacks {
        kind: PluginKind,
        function: &'static str,
    },
}

impl From<wasmtime::Error> for Fault {
    fn from(error: wasmtime::Error) -> Self {
        Self::Guest(error)
    }
}

/// Returns the fault of a golden case that calls a function which plugins of that kind do not have.
pub fn missing_function(case: &Case, kind: PluginKind) -> Fault {
    Fault::Rule(format!(
        "the case calls `{}`, which {} does not have",
        case.call.name(),
        kind.with_article()
    ))
}
