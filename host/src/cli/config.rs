use crate::cli::prelude::*;

pub fn run() -> CommandResult {
    say(leadhost_config::DEFAULTS.trim_end());
    Ok(())
}
