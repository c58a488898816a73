//! Phones: raw text in, E.164 and a match key out, once, in the host.
//! Valid is not the same as being on a messaging channel.

use serde::{Deserialize, Serialize};

/// A phone as a source wrote it and as the service understands it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Phone {
    /// As it came, trimmed.
    pub raw: String,
    /// None: not a possible number.
    pub e164: Option<String>,
    /// Two numbers with the same key are one person's: E.164, and in Brazil
    /// country, area code and the last eight digits of a mobile.
    pub match_key: Option<String>,
}
