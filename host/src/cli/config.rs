//! `leadhost config`: every key with its default and what it is for.

use super::failure::Failure;
use super::output::say;

pub fn run() -> Result<(), Failure> {
    say(crate::config::DEFAULTS.trim_end());
    Ok(())
}
