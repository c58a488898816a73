//! Keys: a prefix that names their kind, 32 random base62 characters, and a checksum of
//! six, so that a typo is refused without a query. The store holds only the SHA-256 of a
//! key.

use std::fmt;

use sha2::{Digest as _, Sha256};

use super::id::{KeyId, PartnerId, WorkspaceId, base62};
use super::time::Micros;
use super::word::words;

words! {
    /// The rights of an admin key. Each role includes the rights of those before it.
    Role: "the role of a key" {
        /// Reads, and compares stored versions.
        Viewer = "viewer",
        /// Also activates versions, replays, pauses, and erases.
        Operator = "operator",
        /// Also applies workspace files, creates and revokes keys, and accepts a version that may do
        /// more than the one before it.
        Admin = "admin",
    }
}

/// The label of the admin key that the service makes at its start, and the file that it writes it to.
pub const FIRST_KEY: &str = "admin.key";

words! {
    /// The API that a key opens.
    KeyKind: "the kind of a key" {
        /// The gateway, by `x-service-api-key`.
        Partner = "partner",
        /// The data API of one workspace, by bearer.
        Workspace = "workspace",
        /// Deal log and desk, by bearer.
        AccessToken = "access-token",
        /// The admin API.
        Admin = "admin",
    }
}

impl KeyKind {
    /// Returns the prefix of the keys of this kind, such as `pk_`.
    pub fn prefix(self) -> &'static str {
        match self {
            Self::Partner => "pk_",
            Self::Workspace => "mk_",
            Self::AccessToken => "at_",
            Self::Admin => "ak_",
        }
    }
}

/// A key in clear text. It is shown once when it is created, and not stored.
#[derive(Clone)]
pub struct PlainKey {
    kind: KeyKind,
    text: String,
}

/// Why a text is not a key of a kind. It never repeats the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoKey {
    #[error("it does not begin with {prefix}")]
    Prefix { prefix: &'static str },
    #[error(
        "{prefix} is not followed by {length} letters and digits: the key is cut off, or has extra characters"
    )]
    Form { prefix: &'static str, length: usize },
    #[error("its checksum is wrong: at least one character differs from the issued key")]
    Checksum,
}

const RANDOM: usize = 32;
const CHECKSUM: usize = 6;

impl PlainKey {
    /// Creates a random key of this kind.
    pub fn generate(kind: KeyKind) -> Self {
        let random = base62(RANDOM);
        let text = format!("{}{random}{}", kind.prefix(), checksum(kind, &random));
        Self { kind, text }
    }

    /// Returns `None` if the text cannot be a key of any kind: wrong prefix, length or
    /// checksum.
    pub fn parse(text: &str) -> Option<Self> {
        KeyKind::ALL
            .into_iter()
            .find_map(|kind| Self::parse_as(kind, text).ok())
    }

    /// Reads a key of this kind.
    pub fn parse_as(kind: KeyKind, text: &str) -> Result<Self, NoKey> {
        let prefix = kind.prefix();
        let rest = text.strip_prefix(prefix).ok_or(NoKey::Prefix { prefix })?;
        if rest.len() != RANDOM + CHECKSUM || !rest.bytes().all(|b| b.is_ascii_alphanumeric()) {
            return Err(NoKey::Form {
                prefix,
                length: RANDOM + CHECKSUM,
            });
        }
        let (random, sum) = rest.split_at(RANDOM);
        if checksum(kind, random) != sum {
            return Err(NoKey::Checksum);
        }
        Ok(Self {
            kind,
            text: text.to_owned(),
        })
    }

    pub fn kind(&self) -> KeyKind {
        self.kind
    }

    /// Returns the digest that the store holds.
    pub fn digest(&self) -> [u8; 32] {
        Sha256::digest(self.text.as_bytes()).into()
    }

    /// Returns the prefix and the last four characters, for lists.
    pub fn hint(&self) -> String {
        format!(
            "{}…{}",
            self.kind.prefix(),
            &self.text[self.text.len() - 4..]
        )
    }

    /// Returns the key itself, for the one answer that shows it.
    pub fn reveal(&self) -> &str {
        &self.text
    }
}

impl fmt::Debug for PlainKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.hint())
    }
}

fn checksum(kind: KeyKind, random: &str) -> String {
    const ALPHABET: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    let hash = Sha256::digest(format!("leadhost-key:{}{random}", kind.prefix()));
    let mut number = hash[..8]
        .iter()
        .fold(0u64, |sum, byte| (sum << 8) | u64::from(*byte));
    (0..CHECKSUM)
        .map(|_| {
            let digit = usize::try_from(number % 62).expect("below 62");
            number /= 62;
            char::from(ALPHABET[digit])
        })
        .collect()
}

/// A key as the store holds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyRecord {
    pub id: KeyId,
    pub kind: KeyKind,
    /// `None` for admin keys only.
    pub workspace: Option<WorkspaceId>,
    /// Set for partner keys and access tokens.
    pub partner: Option<PartnerId>,
    /// Set for admin keys only.
    pub role: Option<Role>,
    pub label: String,
    pub hint: String,
    pub created_at: Micros,
    pub expires_at: Option<Micros>,
    pub revoked_at: Option<Micros>,
    /// Rounded to the minute.
    pub last_used_at: Option<Micros>,
}

impl KeyRecord {
    /// Returns whether the key is neither revoked nor expired.
    pub fn is_live(&self, now: Micros) -> bool {
        self.revoked_at.is_none() && self.expires_at.is_none_or(|end| now < end)
    }

    /// Returns the label, or the id of a key without one: what names the key wherever an act has an
    /// actor.
    pub fn shown(&self) -> String {
        match self.label.trim() {
            "" => self.id.to_string(),
            _ => self.label.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_generated_key_parses_and_a_typo_does_not() {
        for kind in KeyKind::ALL {
            let key = PlainKey::generate(kind);
            let text = key.reveal().to_owned();
            assert_eq!(PlainKey::parse(&text).map(|k| k.kind()), Some(kind));
            let mut wrong = text.into_bytes();
            wrong[10] = if wrong[10] == b'a' { b'b' } else { b'a' };
            assert!(PlainKey::parse(&String::from_utf8(wrong).expect("ascii")).is_none());
        }
        assert!(PlainKey::parse("mk_é").is_none());
        assert!(PlainKey::parse("").is_none());
    }

    #[test]
    fn an_invalid_key_is_refused_with_a_reason() {
        let key = PlainKey::generate(KeyKind::Admin);
        let check = |text: &str, expect: &str| {
            let error = PlainKey::parse_as(KeyKind::Admin, text).expect_err("no key");
            assert!(error.to_string().contains(expect), "{error}");
        };
        check(&key.reveal()[1..], "begin with ak_");
        check(
            PlainKey::generate(KeyKind::Partner).reveal(),
            "begin with ak_",
        );
        check("ak_bad", "38 letters and digits");
        let end = key.reveal().ends_with('0');
        let typo = format!("{}{}", &key.reveal()[..40], if end { '1' } else { '0' });
        check(&typo, "checksum");
    }

    #[test]
    fn debug_does_not_show_the_key() {
        let key = PlainKey::generate(KeyKind::Workspace);
        assert!(!format!("{key:?}").contains(&key.reveal()[3..20]));
    }
}
