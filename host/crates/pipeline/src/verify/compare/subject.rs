//! The delivery or send whose outcomes under both versions are compared.

use std::fmt;

use serde::{Deserialize, Serialize};

use leadhost_domain::id::{ConnectionId, DeliveryId, MessageId};

/// The delivery or send that is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Subject {
    Delivery(DeliveryId),
    /// A send.
    Message(MessageId),
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Delivery(id) => write!(f, "delivery {id}"),
            Self::Message(id) => write!(f, "message {id}"),
        }
    }
}

/// A delivery or a send whose outcomes under both versions are compared.
pub struct ComparedSubject<'a> {
    pub subject: Subject,
    pub connection: &'a ConnectionId,
    pub answered: AnsweredVersions,
}

/// The versions of whose pointers stored answers have completed some: their leads may be those of another
/// request than the other version makes.
#[derive(Clone, Copy, Debug, Default)]
pub struct AnsweredVersions {
    pub serving: bool,
    pub candidate: bool,
}
