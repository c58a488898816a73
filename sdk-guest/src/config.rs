//! The configuration of a connection or instance as a plugin's own type.

use serde::{Deserialize, de::DeserializeOwned};

use crate::Problem;

/// The configuration of a plugin without settings. Accepts any object.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
pub struct NoConfig {}

/// Parses a configuration; empty text is the default. The error begins with `misfit`,
/// which says whose configuration is wrong.
///
/// # Errors
///
/// [`Problem`] if the text is no JSON, or does not fit the type.
pub(crate) fn parse_config<C: DeserializeOwned + Default>(
    text: &str,
    misfit: &str,
) -> Result<C, Problem> {
    if text.trim().is_empty() {
        return Ok(C::default());
    }
    serde_json::from_str(text).map_err(|error| {
        let said = error.to_string();
        // The host passes compact text: its lines and columns mean nothing to the author.
        let place = format!(" at line {} column {}", error.line(), error.column());
        let said = if error.is_data() {
            said.strip_suffix(&place).unwrap_or(&said)
        } else {
            &said
        };
        Problem::new(format!("{misfit}: {said}"))
    })
}
