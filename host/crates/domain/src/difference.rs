//! Differences between the results of two versions of a plugin: as hosts report them about a rollout, and as
//! the admin API shows them.

use std::fmt;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::id::{ConnectionId, DeliveryId, MessageId};
use super::limits;
use super::size;
use super::word::words;

words! {
    /// The change of a field from the version that serves to the candidate.
    DifferenceKind: "the change" {
        /// The field had a value, and has none with the candidate.
        Lost = "lost",
        /// The field had no value, and has one with the candidate.
        Gained = "gained",
        Changed = "changed",
    }
}

words! {
    /// The kind of an item, or of what a version makes of a send.
    ItemKind: "the kind of an item" {
        Lead = "lead",
        Fetch = "fetch",
        Event = "event",
        Ignored = "ignored",
        Invalid = "invalid",
        Unrouted = "unrouted",
        /// The request of a send.
        Send = "send",
        /// The reading of a provider's answer to a send.
        Answer = "answer",
    }
}

impl ItemKind {
    /// Returns whether it is a lead, or a pointer to one that is to be fetched.
    pub fn is_lead(self) -> bool {
        matches!(self, Self::Lead | Self::Fetch)
    }
}

/// The delivery or send that is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    Delivery(DeliveryId),
    /// A send.
    Message(MessageId),
}

/// One difference. Its values are masked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Example {
    /// Null if it is a send.
    pub delivery_id: Option<DeliveryId>,
    /// The message of a send. Null if it is a delivery.
    pub message_id: Option<MessageId>,
    pub connection_id: ConnectionId,
    /// With the other version. Null for no value.
    pub before: Option<String>,
    /// With the candidate. If the masks look alike, the places at which the values differ follow it. Null
    /// for no value.
    pub after: Option<String>,
}

impl fmt::Display for Example {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.delivery_id, self.message_id) {
            (Some(id), _) => write!(f, "delivery {id}"),
            (None, Some(id)) => write!(f, "message {id}"),
            (None, None) => f.write_str("a delivery"),
        }
    }
}

/// Differences of one kind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DifferenceGroup {
    pub count: u64,
    /// The first few of them.
    pub examples: Vec<Example>,
}

impl DifferenceGroup {
    /// Counts a difference, with an example as long as there are few. The values are masked.
    pub fn add(
        &mut self,
        (subject, connection): (Subject, &ConnectionId),
        before: Option<String>,
        after: Option<String>,
    ) {
        let (delivery_id, message_id) = match subject {
            Subject::Delivery(id) => (Some(id), None),
            Subject::Message(id) => (None, Some(id)),
        };
        self.count += 1;
        if self.examples.len() < limits::VERIFY_EXAMPLES {
            self.examples.push(Example {
                delivery_id,
                message_id,
                connection_id: connection.clone(),
                before,
                after,
            });
        }
    }

    pub fn merge(&mut self, other: Self) {
        self.count += other.count;
        let room = limits::VERIFY_EXAMPLES.saturating_sub(self.examples.len());
        self.examples.extend(other.examples.into_iter().take(room));
    }
}

/// Differences in one field.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FieldDifference {
    /// `name`, `phone`, `email`, `externalId`, `listing`, another field of the lead, or the name
    /// of one of its attributes; of a send, a part of its request or its answer.
    pub field: String,
    pub change: DifferenceKind,
    #[serde(flatten)]
    pub differences: DifferenceGroup,
}

/// How two versions differ on the same deliveries, or on the same sends.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Differences {
    /// Deliveries that both versions converted, refused or failed on.
    pub compared: u64,
    /// Compared deliveries that both versions convert alike.
    pub same: u64,
    /// Leads that the other version makes of the compared deliveries.
    pub leads: u64,
    /// Leads that the candidate makes of them.
    pub candidate_leads: u64,
    /// Deliveries that the other version converts, and the candidate refuses or fails on.
    pub newly_failing: DifferenceGroup,
    /// Deliveries that the other version refuses or fails on, and the candidate converts.
    pub no_longer_failing: DifferenceGroup,
    /// Leads that only the candidate makes.
    pub appeared: DifferenceGroup,
    /// Leads that only the other version makes.
    pub vanished: DifferenceGroup,
    /// Items other than leads that appear, vanish or become another kind.
    pub items: DifferenceGroup,
    /// Differences of fields of leads and events, by field and change.
    pub fields: Vec<FieldDifference>,
}

/// The name under which fields are counted that exceed [`limits::VERIFY_FIELDS`].
pub const OTHER_FIELDS: &str = "(other fields)";

impl Differences {
    pub fn merge(&mut self, other: Self) {
        self.compared += other.compared;
        self.same += other.same;
        self.leads += other.leads;
        self.candidate_leads += other.candidate_leads;
        self.newly_failing.merge(other.newly_failing);
        self.no_longer_failing.merge(other.no_longer_failing);
        self.appeared.merge(other.appeared);
        self.vanished.merge(other.vanished);
        self.items.merge(other.items);
        for one in other.fields {
            self.group_of(one.field, one.change).merge(one.differences);
        }
    }

    /// Returns the differences of a field and change, if there are any.
    pub fn field(&self, field: &str, change: DifferenceKind) -> Option<&DifferenceGroup> {
        let place = self.place_of(field, change).ok()?;
        Some(&self.fields[place].differences)
    }

    /// Returns the differences of a field and change, to add to them. Past the bound they are counted under
    /// [`OTHER_FIELDS`], because a source chooses the names of attributes.
    pub fn group_of(&mut self, field: String, change: DifferenceKind) -> &mut DifferenceGroup {
        let place = match self.place_of(&field, change) {
            Ok(place) => place,
            Err(_) if field != OTHER_FIELDS && self.is_full() => {
                return self.group_of(OTHER_FIELDS.to_owned(), change);
            }
            Err(place) => {
                let differences = DifferenceGroup::default();
                let new = FieldDifference {
                    field,
                    change,
                    differences,
                };
                self.fields.insert(place, new);
                place
            }
        };
        &mut self.fields[place].differences
    }

    fn is_full(&self) -> bool {
        let own = |one: &&FieldDifference| one.field != OTHER_FIELDS;
        self.fields.len() >= limits::VERIFY_FIELDS
            && self.fields.iter().filter(own).count() >= limits::VERIFY_FIELDS
    }

    fn place_of(&self, field: &str, change: DifferenceKind) -> Result<usize, usize> {
        let of = |one: &FieldDifference| (one.field.as_str(), one.change).cmp(&(field, change));
        self.fields.binary_search_by(of)
    }
}

/// The numbers by which a candidate is judged. Each delivery or send counts once for a kind of
/// harm, however many leads and fields it has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ComparisonCounts {
    /// Deliveries that both versions converted, refused or failed on.
    pub compared: u64,
    /// Deliveries that only the candidate refuses or fails on.
    pub failing: u64,
    /// Deliveries in which a lead or an event loses a guarded field, or a field that identifies it
    /// changes; sends for which the versions read different results in the answer, or the candidate
    /// misses an id of the provider.
    pub lost: u64,
    /// Deliveries in which a lead changes its name, a phone, e-mail address or listing, or gains a value that
    /// leads of other people gain too.
    pub altered: u64,
    /// Deliveries in which a lead, a pointer or an event vanishes; sends whose request vanishes.
    pub vanished: u64,
    /// Deliveries in which one appears.
    pub appeared: u64,
    /// Sends whose request differs; deliveries with a fetched lead that the candidate fetches by another
    /// request.
    pub changed: u64,
}

impl ComparisonCounts {
    /// Returns how often the candidate does harm: it fails, a lead or an event loses a guarded field,
    /// vanishes or appears, a lead is altered, or the result of a send differs. A different request is no
    /// harm in itself.
    pub fn harm(self) -> u64 {
        self.failing + self.lost + self.altered + self.vanished + self.appeared
    }

    /// Returns what came after an earlier moment.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        self.with(earlier, u64::saturating_sub)
    }

    /// Returns the sum with another comparison.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        self.with(other, u64::saturating_add)
    }

    fn with(self, other: Self, both: fn(u64, u64) -> u64) -> Self {
        Self {
            compared: both(self.compared, other.compared),
            failing: both(self.failing, other.failing),
            lost: both(self.lost, other.lost),
            altered: both(self.altered, other.altered),
            vanished: both(self.vanished, other.vanished),
            appeared: both(self.appeared, other.appeared),
            changed: both(self.changed, other.changed),
        }
    }
}

/// Which stored deliveries a verification has compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Coverage {
    /// Deliveries that were chosen: those that failed, and the newest of each connection and
    /// outcome.
    pub chosen: u64,
    /// Stored deliveries from which they were chosen. For an impact: those that the version converted
    /// last.
    pub total: u64,
    /// Whether there may be more than `total`: connections or old deliveries were not counted.
    pub total_is_least: bool,
    /// Connections that use the plugin.
    pub connections: usize,
    /// Connections without a chosen delivery, because there are too many or the time was up.
    pub connections_not_covered: usize,
    /// Chosen deliveries whose body has been erased or has expired.
    pub emptied: u64,
    /// Chosen deliveries that the host could not convert just now.
    pub not_tried: u64,
    /// Chosen deliveries that were not reached in time.
    pub not_reached: u64,
}

/// The cost of one version for a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Needed {
    /// The mean processor time, in microseconds.
    pub mean_us: u64,
    /// The processor time that 95 of a hundred conversions did not exceed.
    pub p95_us: u64,
    /// The mean memory, in bytes.
    pub memory_bytes: u64,
}

impl Needed {
    /// Returns the cost in words.
    pub fn text(&self) -> String {
        format!(
            "{} ms (95 % within {} ms) and {}",
            milliseconds(self.mean_us),
            milliseconds(self.p95_us),
            size::readable(self.memory_bytes),
        )
    }
}

/// Returns a time in milliseconds with one digit behind the point.
pub fn milliseconds(micros: u64) -> String {
    format!("{:.1}", micros as f64 / 1_000.0)
}
