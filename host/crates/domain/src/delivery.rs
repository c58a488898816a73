//! The body of a delivery, and the statuses of a delivery and its items, with how the one
//! follows from the other.

use std::fmt;
use std::ops::Deref;
use std::sync::OnceLock;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::id::{ContactId, DealId};
use super::json;
use super::repair::CREATED;
use super::word::words;

/// The body of a delivery. All holders share the same bytes, from the socket to the store,
/// and the nesting depth is computed once.
#[derive(Clone, Default)]
pub struct DeliveryBody {
    bytes: Bytes,
    /// Computed on first use.
    depth: OnceLock<usize>,
}

impl DeliveryBody {
    pub fn shared(&self) -> Bytes {
        self.bytes.clone()
    }

    /// Returns the nesting depth; see `json::depth`.
    pub fn depth(&self) -> usize {
        *self.depth.get_or_init(|| json::depth(&self.bytes))
    }
}

impl From<Bytes> for DeliveryBody {
    fn from(bytes: Bytes) -> Self {
        Self {
            bytes,
            depth: OnceLock::new(),
        }
    }
}

impl From<Vec<u8>> for DeliveryBody {
    fn from(bytes: Vec<u8>) -> Self {
        Self::from(Bytes::from(bytes))
    }
}

/// Copies only if the bytes are shared.
impl From<DeliveryBody> for Vec<u8> {
    fn from(body: DeliveryBody) -> Self {
        body.bytes.into()
    }
}

impl Deref for DeliveryBody {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

impl AsRef<[u8]> for DeliveryBody {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl<T: AsRef<[u8]> + ?Sized> PartialEq<T> for DeliveryBody {
    fn eq(&self, other: &T) -> bool {
        self.bytes[..] == *other.as_ref()
    }
}

impl Eq for DeliveryBody {}

impl fmt::Debug for DeliveryBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.bytes, f)
    }
}

words! {
    /// The status of a delivery. The ingest answer, the store and the commands use the same words.
    DeliveryStatus: "the status of a delivery" {
        /// At least one item waits for conversion or for a fetch.
        Queued = "queued",
        /// It gave leads.
        Converted = "converted",
        /// All its items were known.
        Duplicate = "duplicate",
        /// The body was refused as a whole, or all items are invalid.
        Rejected = "rejected",
        /// No item is meant for this service.
        Ignored = "ignored",
        /// The plugin failed; the delivery will be retried.
        Failed = "failed",
        /// It failed three times on one version, or one of its items failed for good. It waits for another
        /// version or an operator.
        Parked = "parked",
        /// No connection of the workspace answers to its route.
        Unrouted = "unrouted",
        /// The sender check failed; kept for a limited time.
        Quarantined = "quarantined",
    }
}

impl DeliveryStatus {
    /// Returns whether a replay is another try, which counts also without `apply`.
    pub fn is_tried_again(self) -> bool {
        match self {
            Self::Failed | Self::Parked => true,
            Self::Queued
            | Self::Converted
            | Self::Duplicate
            | Self::Rejected
            | Self::Ignored
            | Self::Unrouted
            | Self::Quarantined => false,
        }
    }

    /// Returns whether it has made nothing yet, so that a replay has nothing to compare.
    pub fn has_made_nothing(self) -> bool {
        match self {
            Self::Rejected
            | Self::Ignored
            | Self::Failed
            | Self::Parked
            | Self::Unrouted
            | Self::Quarantined => true,
            Self::Queued | Self::Converted | Self::Duplicate => false,
        }
    }

    /// Returns the status that the sender gets: a plugin's failure is shown as a delivery
    /// that waits.
    pub fn answered(self) -> Self {
        match self {
            Self::Failed | Self::Parked | Self::Unrouted => Self::Queued,
            other => other,
        }
    }
}

words! {
    /// The status of one item.
    ItemStatus: "the status of an item" {
        /// Its fetch is still to be made.
        Waiting = "waiting",
        /// It became a deal.
        Converted = "converted",
        /// A repeated lead.
        Duplicate = "duplicate",
        /// Its source changed a known lead.
        Updated = "updated",
        Ignored = "ignored",
        Invalid = "invalid",
        Unrouted = "unrouted",
        /// Its fetch failed permanently.
        Failed = "failed",
    }
}

impl ItemStatus {
    /// Returns whether it created or changed a deal.
    pub fn is_finished(self) -> bool {
        matches!(self, Self::Converted | Self::Updated)
    }
}

/// Derives a delivery's status from the statuses of its items: waiting before converted, duplicate,
/// unrouted, failed, invalid, ignored.
pub fn status_of(items: &[ItemStatus]) -> DeliveryStatus {
    let has = |wanted: &[ItemStatus]| items.iter().any(|status| wanted.contains(status));
    if has(&[ItemStatus::Waiting]) {
        DeliveryStatus::Queued
    } else if has(&[ItemStatus::Converted, ItemStatus::Updated]) {
        DeliveryStatus::Converted
    } else if has(&[ItemStatus::Duplicate]) {
        DeliveryStatus::Duplicate
    } else if has(&[ItemStatus::Unrouted]) {
        DeliveryStatus::Unrouted
    } else if has(&[ItemStatus::Failed]) {
        DeliveryStatus::Parked
    } else if has(&[ItemStatus::Invalid]) {
        DeliveryStatus::Rejected
    } else {
        DeliveryStatus::Ignored
    }
}

/// One item of a delivery and its result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = ItemView)]
pub struct ItemOutcome {
    /// Its place in the delivery, from 0.
    #[serde(rename = "item")]
    pub index: u32,
    pub status: ItemStatus,
    /// The id of the item at its source.
    pub external_id: Option<String>,
    /// The deal that it became or belongs to.
    pub deal_id: Option<DealId>,
    pub contact_id: Option<ContactId>,
    /// Why the item is ignored, invalid, unrouted or failed.
    pub message: Option<String>,
    /// In a replay: the fields that would change, or did. Empty otherwise.
    pub diff: Vec<FieldDiff>,
}

impl ItemOutcome {
    /// Returns whether a replay with `apply` would make a new deal of it.
    pub fn is_created(&self) -> bool {
        self.diff.iter().any(|diff| diff.field == CREATED)
    }

    /// Returns whether it waits for an answer of its source, or would.
    pub fn is_fetched(&self) -> bool {
        self.status == ItemStatus::Waiting
    }
}

/// A field that a replay would change, or did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = DiffView)]
pub struct FieldDiff {
    /// The row's name, then the field's: `deal.title`, `deal.props.message`,
    /// `contact.name`.
    pub field: String,
    pub before: Value,
    pub after: Value,
    /// Whether the change was written.
    pub applied: bool,
    /// A person has edited the field since, so it was left unchanged.
    pub edited_by_person: bool,
}

impl FieldDiff {
    /// Returns a difference that is not written.
    pub fn unwritten(field: impl Into<String>, before: Value, after: Value) -> Self {
        Self {
            field: field.into(),
            before,
            after,
            applied: false,
            edited_by_person: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_is_copied_only_while_it_is_shared() {
        let body = DeliveryBody::from(b"[[1]]".to_vec());
        let place = body.as_ptr();
        let other = body.clone();
        assert_eq!((other.as_ptr(), body.shared().as_ptr()), (place, place));
        assert_eq!((body.depth(), other.depth()), (2, 2));
        assert_eq!(other, body);
        drop(other);
        let bytes: Vec<u8> = body.into();
        assert_eq!((bytes.as_ptr(), &bytes[..]), (place, &b"[[1]]"[..]));
    }

    #[test]
    fn only_a_delivery_that_made_nothing_is_tried_again_at_once() {
        let words = |is: fn(DeliveryStatus) -> bool| {
            let all = DeliveryStatus::ALL.into_iter();
            let those: Vec<_> = all.filter(|status| is(*status)).collect();
            those.into_iter().map(DeliveryStatus::as_str).collect()
        };
        let tried: Vec<&str> = words(DeliveryStatus::is_tried_again);
        assert_eq!(tried, ["failed", "parked"]);
        let made_nothing = words(DeliveryStatus::has_made_nothing);
        let expect = [
            "rejected",
            "ignored",
            "failed",
            "parked",
            "unrouted",
            "quarantined",
        ];
        assert_eq!(made_nothing, expect);
    }

    #[test]
    fn the_strongest_item_determines_the_status_of_the_delivery() {
        use ItemStatus as I;
        let check = |items: &[I], expect| assert_eq!(status_of(items), expect, "{items:?}");
        check(&[], DeliveryStatus::Ignored);
        check(&[I::Ignored, I::Invalid], DeliveryStatus::Rejected);
        check(&[I::Invalid, I::Duplicate], DeliveryStatus::Duplicate);
        check(&[I::Duplicate, I::Converted], DeliveryStatus::Converted);
        check(&[I::Converted, I::Waiting], DeliveryStatus::Queued);
    }
}
