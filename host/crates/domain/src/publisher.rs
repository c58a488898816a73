//! The origin of a component. The first version of a name that is activated ties the name
//! to its publisher: a key if the component is signed, otherwise the way it arrived.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ObjectBuilder, Schema, Type};

use super::id::KeyId;

/// The owner of a plugin's name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Publisher {
    /// Signed by the owner of this public key.
    Signer(PublicKey),
    /// Uploaded by an operator with this admin key.
    AdminKey(KeyId),
    /// Uploaded by an operator; the key was not recorded.
    Operator,
    /// Found in the inbox.
    Inbox,
}

/// An Ed25519 public key.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct PublicKey(pub [u8; 32]);

impl PublicKey {
    /// Reads `ed25519:` and 64 hexadecimal digits. `None` if the text has another form.
    pub fn parse(text: &str) -> Option<Self> {
        let bytes = super::hex::decode(text.strip_prefix(PREFIX)?)?;
        Some(Self(bytes.try_into().ok()?))
    }
}

const PREFIX: &str = "ed25519:";

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PREFIX}{}", super::hex::encode(&self.0))
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// The keys whose components may serve, as an operator writes them: a comma-separated list. An
/// empty one trusts every component.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct TrustedKeys(Vec<PublicKey>);

impl TrustedKeys {
    /// Returns whether every component is trusted, signed or not.
    pub fn are_all(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns whether a component of this signer may serve. `None`: it is not signed.
    pub fn trust(&self, signer: Option<PublicKey>) -> bool {
        self.are_all() || signer.is_some_and(|key| self.0.contains(&key))
    }
}

impl TryFrom<String> for TrustedKeys {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let key = |text| {
            PublicKey::parse(text).ok_or_else(|| {
                format!(
                    "`{text}` is not a public key: expected `{PREFIX}` and 64 hexadecimal digits, as `leadhost plugin keygen` prints it, and a comma between two keys, without brackets or quotes"
                )
            })
        };
        let parts = text.split(',').map(str::trim);
        let keys = parts.filter(|part| !part.is_empty()).map(key);
        keys.collect::<Result<_, _>>().map(Self)
    }
}

impl Publisher {
    /// The publisher of a component that has no other record than its origin: a file in the inbox, or an
    /// operator.
    pub fn from_origin(origin: &str) -> Self {
        if origin.ends_with(".wasm") {
            Self::Inbox
        } else {
            Self::Operator
        }
    }

    /// Returns the form in the store and in answers: a public key, `admin-key:` and an id,
    /// `operator` or `inbox`.
    pub fn text(&self) -> String {
        match self {
            Self::Signer(key) => key.to_string(),
            Self::AdminKey(id) => format!("admin-key:{id}"),
            Self::Operator => "operator".to_owned(),
            Self::Inbox => "inbox".to_owned(),
        }
    }

    /// Reads the form of [`Self::text`]. `None` if the text has another form.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "operator" => Some(Self::Operator),
            "inbox" => Some(Self::Inbox),
            _ => match text.strip_prefix("admin-key:") {
                Some(id) => id.parse().ok().map(Self::AdminKey),
                None => PublicKey::parse(text).map(Self::Signer),
            },
        }
    }

    /// Returns whether this publisher may use a name that belongs to `owner`.
    pub fn is(&self, owner: &Self) -> bool {
        self == owner || matches!((self, owner), (Self::AdminKey(_), Self::Operator))
    }
}

impl fmt::Display for Publisher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Signer(key) => write!(f, "the signing key {key}"),
            Self::AdminKey(id) => write!(f, "the admin key {id}"),
            Self::Operator => f.write_str("an operator"),
            Self::Inbox => f.write_str("the inbox"),
        }
    }
}

impl Serialize for Publisher {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text())
    }
}

impl<'de> Deserialize<'de> for Publisher {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| serde::de::Error::custom("expected a publisher"))
    }
}

impl utoipa::PartialSchema for Publisher {
    fn schema() -> RefOr<Schema> {
        ObjectBuilder::new().schema_type(Type::String).into()
    }
}

impl utoipa::ToSchema for Publisher {}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> [Publisher; 4] {
        [
            Publisher::Signer(PublicKey([7; 32])),
            Publisher::AdminKey(KeyId::new(crate::time::Micros(0))),
            Publisher::Operator,
            Publisher::Inbox,
        ]
    }

    #[test]
    fn a_publisher_is_read_as_it_was_written() {
        for one in all() {
            assert_eq!(Publisher::parse(&one.text()), Some(one));
        }
        assert_eq!(Publisher::parse("ed25519:00"), None);
        assert_eq!(Publisher::parse("somebody"), None);
    }

    #[test]
    fn only_the_listed_keys_are_trusted_and_an_empty_list_trusts_all() {
        let (ours, theirs) = (PublicKey([7; 32]), PublicKey([8; 32]));
        let keys = |text: String| TrustedKeys::try_from(text);
        let none = keys(" , ".to_owned()).expect("an empty list");
        assert!(none.are_all() && none.trust(None) && none.trust(Some(theirs)));
        let one = keys(format!(" {ours},")).expect("a list of one");
        assert!(one.trust(Some(ours)) && !one.trust(Some(theirs)) && !one.trust(None));
        let both = keys(format!("{theirs}, {ours}")).expect("a list of two");
        assert!(both.trust(Some(ours)) && both.trust(Some(theirs)) && !both.trust(None));
        let wrong = keys("ed25519:00".to_owned()).expect_err("too short");
        assert!(
            wrong.contains("`ed25519:00` is not a public key"),
            "{wrong}"
        );
    }

    #[test]
    fn only_the_owner_may_use_a_name() {
        let [signer, key, operator, inbox] = all();
        for (one, owner) in [
            (&signer, &inbox),
            (&inbox, &signer),
            (&operator, &key),
            (&inbox, &key),
            (&key, &inbox),
            (&key, &signer),
        ] {
            assert!(!one.is(owner), "{one} {owner}");
        }
        assert!(key.is(&key) && key.is(&operator));
    }
}
