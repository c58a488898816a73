use super::registry::RegistryAddress;
use crate::cli::prelude::*;

/// Splits `NAME@DIGEST`, which names a stored version. A file of this name, and one in a registry, come
/// first.
pub fn stored(what: &str) -> Option<(&str, &str)> {
    let is_unstored = RegistryAddress::is_meant(what) || Path::new(what).exists();
    what.rsplit_once('@').filter(|_| !is_unstored)
}

/// Splits `NAME@DIGEST` where only a stored version can be named.
pub fn stored_only<'a>(what: &'a str, flags: &ServiceFlags) -> CommandResult<(&'a str, &'a str)> {
    stored(what).ok_or_else(|| {
        CommandFailure::usage(format!(
            "`{what}` names no stored version: expected NAME@DIGEST, as `{}` shows them",
            flags.command("plugin list")
        ))
    })
}
