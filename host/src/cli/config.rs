use super::failure::CommandFailure;
use super::output::say;

pub fn run() -> Result<(), CommandFailure> {
    say(leadhost_config::DEFAULTS.trim_end());
    Ok(())
}
