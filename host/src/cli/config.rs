//! `leadhost config`: prints every key with its default and its purpose.

use super::failure::CommandFailure;
use super::output::say;

/// Prints the default configuration, with comments.
///
/// # Errors
///
/// Never fails; the type is that of every command.
pub fn run() -> Result<(), CommandFailure> {
    say(leadhost_config::DEFAULTS.trim_end());
    Ok(())
}
