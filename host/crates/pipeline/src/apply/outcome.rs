//! The result of an apply, and why one is refused.

use super::changed::ChangedConnection;

use crate::prelude::*;
use leadhost_domain::key::KeyKind;
use leadhost_egress::seal::OpenError;
use leadhost_store::AppliedChange;

#[derive(Debug, thiserror::Error)]
pub enum ApplyError {
    #[error("nothing was applied, because of {}: {}", count(.0), .0.iter().map(line).collect::<Vec<_>>().join("; "))]
    Problems(Vec<InputProblem>),
    /// A generated secret must be kept and cannot be decrypted.
    #[error("the secrets of connection `{connection}` cannot be opened: {source}")]
    Sealed {
        connection: String,
        source: OpenError,
    },
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl ApplyError {
    /// Adds the names of connections and instances to the problems of the file, whose paths have
    /// only their numbers.
    pub fn with_names(self, file: &Value) -> Self {
        let Self::Problems(problems) = self else {
            return self;
        };
        let named = |problem: InputProblem| match entry(file, &problem.path) {
            Some((kind, name)) if !problem.message.contains(&format!("`{name}`")) => InputProblem {
                message: format!("{} ({kind} `{name}`)", problem.message),
                path: problem.path,
            },
            _ => problem,
        };
        Self::Problems(problems.into_iter().map(named).collect())
    }
}

/// Returns the kind and the name of the connection or instance in which a path is.
pub fn entry<'a>(file: &'a Value, path: &str) -> Option<(&'static str, &'a str)> {
    let (list, rest) = path.split_once('[')?;
    let kind = match list {
        "connections" => "connection",
        "instances" => "instance",
        _ => return None,
    };
    let (index, _) = rest.split_once(']')?;
    let index: usize = index.parse().ok()?;
    let name = file.get(list)?.get(index)?.get("name")?.as_str()?;
    (!name.trim().is_empty()).then_some((kind, name))
}

/// The effect of a declaration on the connections that it leaves out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileExtent {
    /// It is the file of the workspace: a connection that it leaves out may have been forgotten.
    Whole,
    /// It adds to the workspace. The others are as they should be.
    Part,
}

#[derive(Debug)]
pub struct ApplyOutcome {
    pub dry_run: bool,
    pub workspace: String,
    pub workspace_id: WorkspaceId,
    pub changes: Vec<AppliedChange>,
    pub changed_connections: Vec<ChangedConnection>,
    pub connections: BTreeMap<String, ConnectionId>,
    pub instances: BTreeMap<String, AgentId>,
    /// For instances with an adapter: the address to which its provider sends webhooks.
    pub channels: BTreeMap<String, String>,
    pub partners: BTreeMap<String, PartnerId>,
    /// Keys that were created by this apply, with their text; without it in a dry run.
    pub keys: Vec<MadeKey>,
    pub generated: BTreeMap<String, BTreeMap<String, String>>,
    pub generated_of_instances: BTreeMap<String, BTreeMap<String, String>>,
    /// Declarations that are valid but may not be intended.
    pub warnings: Vec<InputProblem>,
}

#[derive(Debug)]
pub struct MadeKey {
    pub kind: KeyKind,
    pub label: String,
    pub partner: Option<String>,
    pub key: Option<String>,
}

fn count(problems: &[InputProblem]) -> String {
    match problems.len() {
        1 => "a problem".to_owned(),
        many => format!("{many} problems"),
    }
}

fn line(problem: &InputProblem) -> String {
    format!("{}: {}", problem.path, problem.message)
}
