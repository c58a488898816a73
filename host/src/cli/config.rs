//! `leadhost config`: prints every key with its default and its purpose.

use super::failure::CommandFailure;
use super::output::say;

/// Prints the default configuration, with comments.
pub fn run() -> Result<(), CommandFailure> {
    say(leadhost_config::DEFAULTS.trim_end());
    Ok(())
}
