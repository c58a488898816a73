//! Why a call has no answer.

use std::net::IpAddr;

use super::slots::SlotError;
use leadhost_domain::exchange::UrlScheme;

/// Why a call has no answer, split by what the caller does about it.
#[derive(Debug, thiserror::Error)]
pub enum EgressError {
    /// An operator must allow the host first.
    #[error(
        "{scheme}://{authority} is not on the allow-list (`allow`); add it there if the plugin may call it"
    )]
    NotAllowed {
        scheme: UrlScheme,
        authority: String,
    },
    /// An operator must allow private addresses for the host first.
    #[error(
        "{authority} resolves to {address}, which is not a public address; to allow it, write {scheme}://{authority}!private in `allow`"
    )]
    NotPublic {
        scheme: UrlScheme,
        authority: String,
        address: IpAddr,
    },
    #[error(transparent)]
    Slot(#[from] SlotError),
    /// The plugin composed a request that cannot be sent.
    #[error("the request that the plugin composed cannot be sent: {0}")]
    Malformed(String),
    /// Nothing was sent. A later attempt may succeed.
    #[error("{authority} cannot be reached: {reason}")]
    Unreachable { authority: String, reason: String },
    /// The request was sent, or may have been; its outcome is not known.
    #[error("no answer from {authority}, which may have received the request: {reason}")]
    NoAnswer { authority: String, reason: String },
    /// Nothing was sent: the caller no longer wanted the call, for example because its
    /// lease had ended.
    #[error("the request was not sent: it timed out before its first byte")]
    TooLate,
}

impl EgressError {
    /// Returns whether a retry can help without a correction by an operator or author, for
    /// a request that may be made twice.
    pub fn is_transient(&self) -> bool {
        matches!(
            self,
            Self::Unreachable { .. } | Self::NoAnswer { .. } | Self::TooLate
        )
    }

    /// Returns the class of the error, which names no remote server and no person.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::NotAllowed { .. } => "not_allowed",
            Self::NotPublic { .. } => "not_public",
            Self::Slot(_) => "slot",
            Self::Malformed(_) => "malformed",
            Self::Unreachable { .. } => "unreachable",
            Self::NoAnswer { .. } => "no_answer",
            Self::TooLate => "too_late",
        }
    }

    /// Returns whether the remote server may have received the request.
    pub fn may_be_sent(&self) -> bool {
        matches!(self, Self::NoAnswer { .. })
    }
}
