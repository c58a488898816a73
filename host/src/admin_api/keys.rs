//! Keys of partners, data clients and operators.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::domain::id::KeyId;
use crate::domain::key::{KeyKind, Role};
use crate::domain::time::Micros;
use crate::domain::word::words;

/// All keys, including revoked and expired ones.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct Keys {
    pub keys: Vec<KeyView>,
}

/// A key as its operator sees it: everything but its text.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct KeyView {
    pub id: KeyId,
    /// Which API the key opens: the gateway, the data API, deal log and desk, or the admin API.
    pub kind: KeyKind,
    /// The workspace's slug. Null for admin keys only.
    pub workspace: Option<String>,
    /// The partner's name. Null for workspace keys and admin keys.
    pub partner: Option<String>,
    /// What an admin key may do. Null for all other keys.
    pub role: Option<Role>,
    /// The purpose of the key.
    pub label: String,
    /// The prefix and the last four characters of the key.
    pub hint: String,
    pub state: KeyState,
    pub created_at: Micros,
    /// Null: the key does not expire.
    pub expires_at: Option<Micros>,
    /// Null: the key was not revoked.
    pub revoked_at: Option<Micros>,
    /// Rounded to the minute. Null: the key was never used.
    pub last_used_at: Option<Micros>,
}

words! {
    /// Whether a key opens anything.
    KeyState: "the state of a key" {
        Live = "live",
        Revoked = "revoked",
        Expired = "expired",
    }
}

/// A new key with its text, which no other answer shows.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct CreatedKey {
    #[serde(flatten)]
    pub view: KeyView,
    /// The text of the key.
    pub key: String,
}

/// A key to create.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CreateKeyRequest {
    /// Which API the key opens.
    #[schema(value_type = KeyKind)]
    pub kind: String,
    /// The workspace's slug. Required for all kinds except `admin`, which takes none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    /// The partner's name. Required for `partner` and `access-token`; other kinds take none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partner: Option<String>,
    /// What an admin key may do: `viewer`, `operator`, or `admin`, which is the default. Other kinds
    /// take none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<Role>,
    /// The purpose of the key, which lists show.
    #[serde(default)]
    pub label: String,
    /// Days after which the key expires. Without it the key does not expire.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_days: Option<u32>,
}

/// A key that was revoked.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct KeyRevoked {
    pub id: KeyId,
    /// Always true.
    pub revoked: bool,
}
