//! Why a call of a guest returned no answer.

use leadhost_golden::Case;

use leadhost_domain::plugin::PluginKind;

#[derive(Debug)]
pub enum Fault {
    Guest(wasmtime::Error),
    Rule(String),
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

pub fn missing_function(case: &Case, kind: PluginKind) -> Fault {
    Fault::Rule(format!(
        "the case calls `{}`, which {} does not have",
        case.call.name(),
        kind.with_article()
    ))
}
