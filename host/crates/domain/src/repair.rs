//! A repair: the replay of the deliveries that a version converted. Its receipt has a row for each
//! field that it changed, so that it can be undone.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use super::id::{ConnectionId, ContactId, DeliveryId, RepairId, WorkspaceId};
use super::plugin::Digest;
use super::time::Micros;
use super::word::words;

words! {
    /// The state of a repair.
    RepairState: "the state" {
        /// Deliveries are replayed.
        Running = "running",
        Done = "done",
        /// Its deliveries were replayed, and some contacts stay as the version made them: its reason names
        /// them.
        Incomplete = "incomplete",
        /// It ended before its last delivery, or its undo before the last change. Changes made by
        /// then, and not undone, stay.
        Cancelled = "cancelled",
        /// Its changes are undone.
        Undoing = "undoing",
        Undone = "undone",
        /// It ended longer ago than receipts are kept: its receipt is being removed, and it with it.
        Expired = "expired",
    }
}

impl RepairState {
    /// Returns whether a host works on it.
    pub fn is_open(self) -> bool {
        matches!(self, Self::Running | Self::Undoing)
    }

    /// Returns whether it has ended, and its changes stand.
    pub fn stands(self) -> bool {
        matches!(self, Self::Done | Self::Incomplete | Self::Cancelled)
    }

    /// Returns whether it has converted all of its deliveries again.
    pub fn has_replayed(self) -> bool {
        matches!(self, Self::Done | Self::Incomplete)
    }
}

words! {
    /// The field of leads that a repair is restricted to, named as in a verification.
    RepairField: "the field" {
        Name = "name",
        /// The number, and what follows from it: by its phone a lead finds its contact.
        Phone = "phone",
        /// The address, and what follows from it, as for the phone.
        Email = "email",
        Listing = "listing",
        Title = "title",
        Message = "message",
    }
}

/// The field of a change that gave a deal to another contact.
pub const PERSON: &str = "deal.person";

/// The field of the change that a new deal is.
pub const CREATED: &str = "deal.created";

/// The field of the change that a new message is.
pub const CREATED_MESSAGE: &str = "message.created";

/// The field of a change that gave a contact match keys.
pub const KEYS: &str = "contact.keys";

/// The field of a change by which a contact shares match keys of others.
pub const SHARED_KEYS: &str = "contact.shared_keys";

/// The field of a change that gave a contact the match keys of one that was merged into it.
pub const TAKEN_KEYS: &str = "contact.taken_keys";

/// The field of a change that merged a contact without deals into another one.
pub const MERGED: &str = "contact.merged";

/// The field of the change that a new contact is, which a deal got that was another person's. The row is
/// the new contact, and the value before is the former one.
pub const SPLIT: &str = "contact.split";

/// The field of a change that took match keys from a contact.
pub const LOST_KEYS: &str = "contact.lost_keys";

/// The field of a change by which a contact shares match keys of others no more.
pub const LOST_SHARED_KEYS: &str = "contact.lost_shared_keys";

/// The field of a change of the conversations about a deal that another contact got: they went with it, or
/// are about no deal now. The value before is the former contact, the value after their ids.
pub const CONVERSATIONS: &str = "deal.conversations";

/// The field of a change of what a deal's lead says of the person.
pub const SAID: &str = "deal.props.contact";

impl RepairField {
    /// Returns whether a difference belongs to this field. `field` has the name of its row:
    /// `contact.phone_number`.
    pub fn covers(self, field: &str) -> bool {
        let own: &[&str] = match self {
            Self::Name => &["contact.name", SAID],
            Self::Phone => &[
                "contact.phone_number",
                "deal.props.unreadPhones",
                PERSON,
                SAID,
            ],
            Self::Email => &["contact.email", "deal.props.unreadEmails", PERSON, SAID],
            Self::Listing => &["deal.product", "deal.props.listings"],
            Self::Title => &["deal.title"],
            Self::Message => &["deal.props.message"],
        };
        own.contains(&field)
    }

    /// Returns the name of the field among the lead's values for the person. `None`: it is none of
    /// them.
    pub fn said(self) -> Option<&'static str> {
        match self {
            Self::Name => Some("name"),
            Self::Phone => Some("phones"),
            Self::Email => Some("emails"),
            Self::Listing | Self::Title | Self::Message => None,
        }
    }

    /// Returns the beginning of the match keys that the field gives a contact. `None`: it gives
    /// none.
    pub fn keys(self) -> Option<&'static str> {
        match self {
            Self::Phone => Some("phone:"),
            Self::Email => Some("email:"),
            Self::Name | Self::Listing | Self::Title | Self::Message => None,
        }
    }
}

/// The deliveries that a repair replays, and the changes that it writes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RepairPlan {
    /// The name of the version's plugin.
    pub plugin: String,
    /// The version that converted the deliveries last.
    pub converted_by: Digest,
    /// Only deliveries of this connection.
    pub connection: Option<ConnectionId>,
    /// Only deliveries received since then.
    pub since: Option<Micros>,
    /// Only deliveries received before.
    pub until: Option<Micros>,
    /// Only this field of existing leads. No lead is created then.
    pub field: Option<RepairField>,
    /// Whether it writes the differences, or only counts them.
    pub apply: bool,
}

words! {
    /// The outcome of a delivery of a repair.
    RepairOutcome: "the outcome" {
        /// It was converted again.
        Replayed = "replayed",
        /// The active version failed on it. Nothing was changed.
        Failed = "failed",
        /// The active version refuses its body. Nothing was changed.
        Rejected = "rejected",
        /// Its sender is not proven. Nothing was changed.
        Quarantined = "quarantined",
        /// A host worked on it for longer than a lease.
        Leased = "leased",
        /// An erasure had emptied it.
        Emptied = "emptied",
        /// It was removed.
        Gone = "gone",
    }
}

/// The counts of a repair. The receipt has its changes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RepairCounts {
    /// Deliveries that it has to replay. `None` until they were looked for.
    pub found: Option<u64>,
    /// The deliveries that it has dealt with.
    pub deliveries: BTreeMap<RepairOutcome, u64>,
    /// Fields that a person edited, which stay as they are.
    pub kept: u64,
    /// Contacts from which a lead could not be parted, or whose wrong keys may be somebody's: the first
    /// ones, and how many leads they are.
    pub unsplit: u64,
    pub unsplit_contacts: BTreeSet<ContactId>,
    /// Without `apply`: the fields that would change, each once for a lead.
    pub would_change: BTreeMap<String, u64>,
    /// Without `apply`: leads whose deal would change.
    pub would_deals: u64,
    /// Without `apply`: leads whose contact would change.
    pub would_contacts: u64,
    /// Without `apply`: deals that would be created.
    pub would_create: u64,
}

impl RepairCounts {
    pub fn add(&mut self, outcome: RepairOutcome) {
        *self.deliveries.entry(outcome).or_default() += 1;
    }

    /// Counts so many deliveries.
    pub fn add_many(&mut self, outcome: RepairOutcome, many: u64) {
        if many > 0 {
            *self.deliveries.entry(outcome).or_default() += many;
        }
    }

    /// Returns the number of deliveries that were dealt with.
    pub fn dealt(&self) -> u64 {
        self.deliveries.values().sum()
    }
}

/// A repair.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repair {
    pub id: RepairId,
    pub plan: RepairPlan,
    pub state: RepairState,
    /// Grows with each change of the state, and whenever a host takes the repair: what a host
    /// commits for an older generation has no effect.
    pub generation: i64,
    /// The last delivery that it has dealt with. They are replayed in the order of their ids.
    pub cursor: Option<DeliveryId>,
    pub counts: RepairCounts,
    /// The label of the key that started it.
    pub started_by: String,
    pub started_at: Micros,
    /// When it came into a state that is not open. `None` while it is open.
    pub ended_at: Option<Micros>,
    /// Why it ended before its last delivery, or its undo before the last change.
    pub why: Option<String>,
}

impl Repair {
    /// Returns the repair in another state, from this time on.
    #[must_use]
    pub fn in_state(&self, state: RepairState, now: Micros, why: Option<String>) -> Self {
        Self {
            state,
            ended_at: (!state.is_open()).then_some(now),
            why: why.or_else(|| self.why.clone()),
            ..self.clone()
        }
    }
}

words! {
    /// The kind of a row that a repair changed.
    RepairedKind: "the kind of a row" {
        Deal = "deal",
        Contact = "contact",
    }
}

words! {
    /// The result of an undo for a change.
    RepairUndone: "what became of a change" {
        /// The field has its former value again.
        Undone = "undone",
        /// The field was changed since, or its row is gone: it stays as it is.
        ChangedSince = "changed-since",
        /// It cannot be undone: a deal that was created, or a contact that was merged.
        Stays = "stays",
        /// Match keys that stay, because a lead of the contact has named one since.
        InUse = "in-use",
    }
}

/// A field that a repair changed.
#[derive(Clone, Debug, PartialEq)]
pub struct RepairChange {
    /// Distinguishes changes, in the order in which they were made.
    pub number: i64,
    pub repair: RepairId,
    pub workspace: WorkspaceId,
    /// The delivery that was replayed, and the place of the lead in it.
    pub delivery: DeliveryId,
    pub item: u32,
    pub kind: RepairedKind,
    /// The id of the deal or contact.
    pub row: Uuid,
    /// The contact whose data the values are: an erasure removes them. For a moved deal, the former
    /// contact, whose erasure removes the values of that deal too.
    pub contact: ContactId,
    /// `contact.phone_number`, `deal.props.message`; or one of [`CREATED`], [`KEYS`],
    /// [`SHARED_KEYS`], [`TAKEN_KEYS`] and [`MERGED`].
    pub field: String,
    /// The values before and after. `None`: they were erased with their person, or their deal was
    /// removed.
    pub values: Option<(Value, Value)>,
    /// `None`: it was not undone.
    pub undone: Option<RepairUndone>,
}

/// The sum of a receipt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RepairReceipt {
    /// Existing deals that were changed.
    pub deals: u64,
    /// Contacts that were changed.
    pub contacts: u64,
    pub fields: Vec<RepairSum>,
}

impl RepairReceipt {
    /// Returns the number of changes with this result of an undo; `None`: those that none has dealt with.
    pub fn changes(&self, undone: Option<RepairUndone>) -> u64 {
        let sums = self.fields.iter();
        let sums = sums.filter(|sum| sum.undone == undone);
        sums.map(|sum| sum.changes).sum()
    }
}

/// The number of changes of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RepairSum {
    pub field: String,
    /// Those of them that an undo has dealt with are counted apart.
    pub undone: Option<RepairUndone>,
    pub changes: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_covers_its_own_columns_and_no_other_ones() {
        let check = |field: RepairField, name: &str, expect: bool| {
            assert_eq!(field.covers(name), expect, "{field} {name}");
        };
        check(RepairField::Phone, "contact.phone_number", true);
        check(RepairField::Phone, "deal.person", true);
        check(RepairField::Phone, "contact.email", false);
        check(RepairField::Name, "deal.person", false);
        check(RepairField::Name, "deal.props.contact", true);
        check(RepairField::Listing, "deal.product", true);
        check(RepairField::Message, "deal.props.message", true);
        check(RepairField::Title, "deal.props.contact", false);
    }

    #[test]
    fn an_ended_repair_has_replayed_its_deliveries_also_if_some_contacts_stay() {
        let replayed = RepairState::ALL.iter().filter(|state| state.has_replayed());
        let expect = [RepairState::Done, RepairState::Incomplete];
        assert!(replayed.eq(expect.iter()));
    }

    #[test]
    fn counts_come_back_as_they_were_written() {
        let mut counts = RepairCounts::default();
        counts.add(RepairOutcome::Replayed);
        counts.add(RepairOutcome::Replayed);
        counts.add(RepairOutcome::Gone);
        counts.add_many(RepairOutcome::Leased, 0);
        assert_eq!(counts.dealt(), 3);
        let text = serde_json::to_string(&counts).expect("JSON");
        assert!(
            text.contains(r#""deliveries":{"replayed":2,"gone":1}"#),
            "{text}"
        );
        let read: RepairCounts = serde_json::from_str(&text).expect("JSON");
        assert_eq!(read, counts);
    }
}
