//! `leadhost config`: prints every key with its default and its purpose.

use super::failure::Failure;
use super::output::say;

/// Prints the default configuration, with comments.
///
/// # Errors
///
/// None at present.
pub fn run() -> Result<(), Failure> {
    say(crate::config::DEFAULTS.trim_end());
    Ok(())
}
