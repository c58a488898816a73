//! The configuration of a connection or instance as a plugin's own type.

use serde::{Deserialize, de::DeserializeOwned};

use crate::Problem;

/// The configuration of a plugin that takes none. Accepts any object.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
pub struct NoConfig {}

/// The error begins with `misfit`, which says whose configuration does not fit
/// what.
pub(crate) fn parse_config<C: DeserializeOwned + Default>(
    text: &str,
    misfit: &str,
) -> Result<C, Problem> {
    if text.trim().is_empty() {
        return Ok(C::default());
    }
    serde_json::from_str(text).map_err(|error| Problem::new(format!("{misfit}: {error}")))
}
