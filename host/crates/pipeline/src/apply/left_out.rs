//! The connections that a workspace has and its file leaves out. No apply removes them, so sources
//! can still send leads to them, and instances still send and receive messages.

use super::declaration::Declaration;
use crate::prelude::*;

/// Returns a warning for each connection in `before` that the declaration leaves out. A retired source
/// and a paused channel give none, because that is what the warning advises.
pub(super) fn left_out(declaration: &Declaration, before: &[Connection]) -> Vec<InputProblem> {
    let declared = &declaration.connections;
    let is_declared = |known: &Connection| {
        let mut same = declared.iter().filter(|one| one.kind == known.kind);
        same.any(|one| one.name == known.name)
    };
    let absent = before.iter().filter(|known| !is_declared(known));
    absent
        .filter_map(|known| match known.kind {
            ConnectionKind::Source if known.settings.retired => None,
            ConnectionKind::Source => Some(source(known)),
            ConnectionKind::Channel if known.paused.is_some() => None,
            ConnectionKind::Channel => Some(channel(declaration, known)),
        })
        .collect()
}

fn source(known: &Connection) -> InputProblem {
    InputProblem {
        path: "connections".to_owned(),
        message: format!(
            "connection `{}` is not in this file and stays as it is, with its configuration and secrets: it still accepts leads. Nothing removes a connection: declare it here, or retire it (`retired = true` here, or on its page of the console)",
            known.name
        ),
    }
}

fn channel(declaration: &Declaration, known: &Connection) -> InputProblem {
    let name = &known.name;
    let at = declaration.agents.iter().position(|one| one.name == *name);
    let (path, why) = match at {
        Some(at) => (
            format!("instances[{at}].adapter"),
            "has no adapter in this file",
        ),
        None => ("instances".to_owned(), "is not in this file"),
    };
    InputProblem {
        path,
        message: format!(
            "instance `{name}` {why}, and its channel `{}` stays as it is, with the configuration and secrets of the adapter `{}`: it still sends and receives messages. Nothing removes a channel: declare its adapter here, or run `leadhost instance pause {}/{name}` and revoke its credentials at the provider",
            known.settings.channel, known.plugin, declaration.slug
        ),
    }
}
