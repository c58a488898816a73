use serde::Deserializer;
use serde::de::Error as _;

use crate::prelude::*;
use leadhost_domain::key::{KeyKind, Role};

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
    /// The API that the key opens: the gateway, the data API, deal log and desk, or the admin API.
    pub kind: KeyKind,
    /// The workspace's slug. Null for admin keys only.
    pub workspace: Option<String>,
    /// The partner's name. Null for workspace keys and admin keys.
    pub partner: Option<String>,
    /// The role of an admin key. Null for all other keys.
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
    /// The API that the key opens.
    #[serde(deserialize_with = "kind_of_key")]
    pub kind: KeyKind,
    /// The workspace's slug. Required for all kinds except `admin`, which takes none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    /// The partner's name. Required for `partner` and `access-token`; other kinds take none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partner: Option<String>,
    /// The role of an admin key: `viewer`, `operator`, or `admin`, which is the default. Other kinds
    /// take none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<Role>,
    /// The purpose of the key, which lists show.
    #[serde(default)]
    pub label: String,
    /// Days after which the key expires, at most 36500. Without it the key does not expire.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_days: Option<u32>,
}

/// Reads the kind of a key. The error names the word and those that are known.
fn kind_of_key<'de, D: Deserializer<'de>>(from: D) -> Result<KeyKind, D::Error> {
    let word = String::deserialize(from)?;
    KeyKind::from_text(&word).ok_or_else(|| {
        D::Error::custom(format!(
            "`{word}` is not a kind of key: expected partner, workspace, access-token or admin"
        ))
    })
}

/// A key that was revoked.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct KeyRevoked {
    pub id: KeyId,
    /// Always true.
    pub revoked: bool,
}

columns! {
    KeyView as key {
        "Id" commands => Cell::id(key.id),
        "Kind" main => key.kind.as_str(),
        "Workspace" => &key.workspace,
        "Partner" => &key.partner,
        "Role" => key.role.map(|role| role.to_string()),
        "Label" => &key.label,
        "Key" => Cell::id(&key.hint),
        "State" => Cell::word(key.state),
        "Expires" named => key.expires_at,
        "Last used" named => Cell::from(key.last_used_at).or("never"),
        "Created" named pages => key.created_at,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_kind_is_read_by_its_word_and_another_word_is_refused_with_those_that_are_known() {
        let read = |kind| serde_json::from_value::<CreateKeyRequest>(json!({ "kind": kind }));
        for kind in KeyKind::ALL {
            let request = read(kind.as_str()).expect("it is a kind");
            assert_eq!(request.kind, kind);
            let written = serde_json::to_value(&request).expect("it is JSON");
            assert_eq!(written["kind"], kind.as_str());
        }
        for wrong in ["root", "Admin", ""] {
            let error = read(wrong).expect_err("it is none").to_string();
            let expect = format!(
                "`{wrong}` is not a kind of key: expected partner, workspace, access-token or admin"
            );
            assert_eq!(error, expect);
        }
    }
}
