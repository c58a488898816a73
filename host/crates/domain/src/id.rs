//! Identifiers. Ids that the service creates are UUIDv7, so that they sort by time; but a contact's
//! is a random UUIDv4, because partners who share a contact must not see who knew the person first.
//! Ids that must not be guessed are 22 random base62 characters (131 bits). A malformed id does not
//! parse, and so cannot reach a query.

use std::cell::RefCell;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ObjectBuilder, Schema, SchemaFormat, Type};
use uuid::Uuid;

use super::time::Micros;

/// The text is not an id of the requested kind.
#[derive(Debug, thiserror::Error, Clone, PartialEq, Eq)]
#[error("`{0}` is not an id")]
pub struct NotAnId(pub String);

/// Returns a UUIDv7 for an event at `now`.
///
/// The sub-millisecond part is random, as RFC 9562 allows. The feed stamp, not the id, gives the
/// order within a millisecond.
pub fn uuid_at(now: Micros) -> Uuid {
    let micros = u64::try_from(now.0).unwrap_or(0);
    uuid::Builder::from_unix_timestamp_millis(micros / 1_000, &random()).into_uuid()
}

/// Returns the least UUIDv7 of the millisecond of `at`: ids of earlier milliseconds are less.
pub fn first_uuid_at(at: Micros) -> Uuid {
    let micros = u64::try_from(at.0).unwrap_or(0);
    uuid::Builder::from_unix_timestamp_millis(micros / 1_000, &[0; 10]).into_uuid()
}

/// Returns the time of a UUIDv7, to the millisecond.
pub fn time_of(id: Uuid) -> Micros {
    let millis = i64::try_from(id.as_u128() >> 80).unwrap_or(0);
    Micros(millis * 1_000)
}

/// Returns 8 random bytes that are not all zero.
pub fn random_bytes() -> [u8; 8] {
    let [.., a, b, c, d, e, f, g, h] = random();
    let bytes = [a, b, c, d, e, f, g, h];
    if bytes == [0; 8] {
        random_bytes()
    } else {
        bytes
    }
}

/// Returns random bytes for one id. They come from the operating system in blocks: a lead has a
/// few ids, and a system call for each would cost more than the rest of it.
fn random() -> [u8; 10] {
    thread_local! {
        static LEFT: RefCell<Vec<[u8; 10]>> = const { RefCell::new(Vec::new()) };
    }
    LEFT.with_borrow_mut(|left| {
        if left.is_empty() {
            left.resize(64, [0; 10]);
            getrandom::fill(left.as_flattened_mut())
                .expect("the operating system gives random bytes");
        }
        left.pop().expect("the bytes were just drawn")
    })
}

/// Returns `length` random base62 characters from the operating system, without bias.
pub fn base62(length: usize) -> String {
    const ALPHABET: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    // 248 is the greatest multiple of 62 in a byte: greater bytes would favour the first letters.
    const FAIR: u8 = 248;
    let mut text = String::with_capacity(length);
    let mut bytes = [0u8; 64];
    while text.len() < length {
        getrandom::fill(&mut bytes).expect("the operating system gives random bytes");
        for byte in bytes {
            if byte < FAIR && text.len() < length {
                text.push(char::from(ALPHABET[usize::from(byte % 62)]));
            }
        }
    }
    text
}

macro_rules! uuid_id {
    ($($(#[$doc:meta])* $name:ident),+ $(,)?) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub Uuid);

        impl From<Uuid> for $name {
            fn from(id: Uuid) -> Self {
                Self(id)
            }
        }

        impl From<$name> for Uuid {
            fn from(id: $name) -> Self {
                id.0
            }
        }

        impl utoipa::PartialSchema for $name {
            fn schema() -> RefOr<Schema> {
                let format = SchemaFormat::Custom("uuid".to_owned());
                ObjectBuilder::new()
                    .schema_type(Type::String)
                    .format(Some(format))
                    .into()
            }
        }

        impl utoipa::ToSchema for $name {}

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.0.as_hyphenated(), f)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }

        impl FromStr for $name {
            type Err = NotAnId;
            fn from_str(text: &str) -> Result<Self, NotAnId> {
                Uuid::try_parse(text)
                    .map(Self)
                    .map_err(|_| NotAnId(text.chars().take(64).collect()))
            }
        }
    )+};
}

/// Defines ids that sort by time.
macro_rules! timed_id {
    ($($(#[$doc:meta])* $name:ident),+ $(,)?) => {
        uuid_id! { $($(#[$doc])* $name),+ }

        $(impl $name {
            pub fn new(now: Micros) -> Self {
                Self(uuid_at(now))
            }
        })+
    };
}

uuid_id! {
    /// A person who was in contact.
    ContactId,
}

impl ContactId {
    pub fn random() -> Self {
        let mut bytes = [0; 16];
        let (first, last) = bytes.split_at_mut(8);
        first.copy_from_slice(&random_bytes());
        last.copy_from_slice(&random_bytes());
        Self(uuid::Builder::from_random_bytes(bytes).into_uuid())
    }
}

timed_id! {
    /// A tenant.
    WorkspaceId,
    /// A system that calls the gateway for a workspace.
    PartnerId,
    /// A contact's interest.
    DealId,
    /// A partner's note on a deal.
    DealLogId,
    ConversationId,
    MessageId,
    /// A failure on the channel: a hash of the failed message and the code.
    MessageErrorId,
    /// One inbound request of a source or provider.
    DeliveryId,
    ProductId,
    /// A person of the workspace who owns deals and answers tickets.
    OwnerId,
    /// A conversation that people handle.
    TicketId,
    /// A credential of a partner, workspace or operator.
    KeyId,
    /// One run of the service: a new id at every start.
    HostId,
    /// The record of an erasure.
    ErasureId,
    /// The replay of what a version converted, with its receipt.
    RepairId,
}

/// The id of a connection. It is random, because it is the address to which a source posts.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ConnectionId(String);

impl ConnectionId {
    /// Characters of an id: 131 bits.
    pub const LENGTH: usize = 22;

    pub fn generate() -> Self {
        Self(base62(Self::LENGTH))
    }

    /// Returns the 22 characters of the id.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl utoipa::PartialSchema for ConnectionId {
    fn schema() -> RefOr<Schema> {
        ObjectBuilder::new()
            .schema_type(Type::String)
            .pattern(Some(format!("^[0-9A-Za-z]{{{}}}$", Self::LENGTH)))
            .into()
    }
}

impl utoipa::ToSchema for ConnectionId {}

impl fmt::Display for ConnectionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for ConnectionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for ConnectionId {
    type Err = NotAnId;
    fn from_str(text: &str) -> Result<Self, NotAnId> {
        if text.len() == Self::LENGTH && text.bytes().all(|b| b.is_ascii_alphanumeric()) {
            Ok(Self(text.to_owned()))
        } else {
            Err(NotAnId(text.chars().take(64).collect()))
        }
    }
}

/// An agent, which the interface also calls an instance: an integer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct AgentId(pub i64);

impl utoipa::PartialSchema for AgentId {
    fn schema() -> RefOr<Schema> {
        i64::schema()
    }
}

impl utoipa::ToSchema for AgentId {}

impl fmt::Display for AgentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_sort_by_the_time_they_were_made_at() {
        let early = DealId::new(Micros(1_700_000_000_000_000));
        let late = DealId::new(Micros(1_700_000_000_001_000));
        assert!(early < late);
        assert_eq!(early.0.get_version_num(), 7);
    }

    #[test]
    fn the_id_of_a_contact_does_not_show_its_age() {
        assert_eq!(ContactId::random().0.get_version_num(), 4);
        assert_ne!(ContactId::random(), ContactId::random());
    }

    #[test]
    fn a_connection_id_is_22_base62_characters_and_nothing_else() {
        let id = ConnectionId::generate();
        assert_eq!(id.to_string().parse::<ConnectionId>(), Ok(id));
        for wrong in [
            "",
            "short",
            "0123456789012345678901/",
            "éééééééééééééééééééééé",
        ] {
            assert!(wrong.parse::<ConnectionId>().is_err(), "{wrong}");
        }
    }
}
