use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::id::ConnectionId;
use super::time::Micros;
use crate::words;

words! {
    /// What does not work for a connection.
    TroubleKind: "what does not work" {
        /// Its fetches fail and are repeated.
        Fetch = "fetch",
        /// Its version gives one phone to leads of several names, which become one contact.
        SharedPhone = "shared-phone",
        /// Its leads get no greeting.
        Greeting = "greeting",
    }
}

/// Something that has failed for a connection on this host since it last worked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = TroubleView)]
pub struct Trouble {
    pub connection_id: ConnectionId,
    pub kind: TroubleKind,
    pub times: u64,
    pub since: Micros,
    pub last_at: Micros,
    /// Why it failed the last time.
    pub why: String,
}
