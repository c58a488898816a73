//! Replays of many deliveries, and releases of many from quarantine: what the filters of a list name.

use std::collections::BTreeSet;

use crate::prelude::*;
use leadhost_domain::delivery::ItemOutcome;
use leadhost_domain::repair::CREATED_MESSAGE;

/// How to convert many deliveries again, or to release them from quarantine.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ReplayManyRequest {
    /// Write what changes. Without it, nothing is changed: a replay shows what it would change, and a
    /// release counts what it would release.
    #[serde(default)]
    pub apply: bool,
    /// Release those in quarantine whose sender check passes now. Others are left out. Without it,
    /// those in quarantine are left out.
    #[serde(default)]
    pub release: bool,
    /// Only deliveries after this one: the `after` of the answer before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<DeliveryId>,
}

/// The outcomes of many replays, oldest first.
#[derive(Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReplayedMany {
    /// Deliveries that the filters name and that this request or a later one handles, by connection,
    /// when it began.
    pub connections: Vec<NamedDeliveries>,
    /// The number of deliveries that this request handled.
    pub handled: u64,
    /// The outcomes by status. Without `apply`, those that the replays would have.
    #[schema(inline)]
    pub statuses: BTreeMap<String, u64>,
    /// Without `apply`: deliveries that have made nothing yet, because they failed, are parked, were
    /// refused or ignored, or are unrouted. `apply` converts them.
    pub unconverted: u64,
    /// With `apply` or `release`: the number of deals of the leads that were found in deliveries that
    /// had made nothing before. A message counts with the deal of its conversation.
    pub made_deals: u64,
    pub changes: ReplayChanges,
    /// The number of deliveries that could not be converted or released.
    pub refused: u64,
    /// The first of them, each with its reason.
    pub refusals: Vec<RefusedDelivery>,
    /// The number of deliveries that are left, because a request handles a bounded number in a bounded
    /// time.
    pub left: u64,
    /// The `after` of the next request. Null if nothing is left.
    pub after: Option<DeliveryId>,
    /// Only deliveries received before this time were looked at: the request's time, or its `until`.
    pub until: Micros,
}

/// The deliveries of one connection.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct NamedDeliveries {
    pub connection_id: ConnectionId,
    /// `workspace/name`.
    pub connection: String,
    pub deliveries: u64,
}

/// A delivery that stays as it is.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct RefusedDelivery {
    pub id: DeliveryId,
    pub reason: String,
}

/// The changes that a replay of many deliveries made, or would make.
#[derive(Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct ReplayChanges {
    pub deals: ChangedRows,
    pub contacts: ChangedRows,
    /// Without `apply`: incoming messages that are not stored yet. `apply` stores them.
    pub messages: u64,
    /// Their providers' ids, to count each once.
    #[serde(skip)]
    message_ids: BTreeSet<String>,
    /// Fields that a person edited, which stay as they are.
    pub kept: u64,
}

/// Rows of one kind that change.
#[derive(Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct ChangedRows {
    /// The number of rows.
    pub rows: u64,
    /// How often each field changes.
    #[schema(inline)]
    pub fields: BTreeMap<String, u64>,
    /// The ids of the rows, to count each once.
    #[serde(skip)]
    ids: BTreeSet<String>,
}

impl ReplayedMany {
    pub fn count(&mut self, status: DeliveryStatus, items: &[ItemOutcome]) {
        *self.statuses.entry(status.as_str().to_owned()).or_default() += 1;
        self.changes.add(items);
    }

    /// Counts a delivery that stays as it is. `most` reasons are kept.
    pub fn refuse(&mut self, id: DeliveryId, reason: String, most: usize) {
        self.refused += 1;
        if self.refusals.len() < most {
            self.refusals.push(RefusedDelivery { id, reason });
        }
    }

    pub fn found(&self) -> u64 {
        self.connections.iter().map(|one| one.deliveries).sum()
    }
}

impl ReplayChanges {
    pub fn add(&mut self, items: &[ItemOutcome]) {
        for item in items {
            for diff in &item.diff {
                if diff.edited_by_person {
                    self.kept += 1;
                    continue;
                }
                if diff.field == CREATED_MESSAGE {
                    // A provider may send a message again, in another webhook.
                    let id = item.external_id.clone().unwrap_or_default();
                    self.messages += u64::from(self.message_ids.insert(id));
                    continue;
                }
                let deal = item.deal_id.map(|id| id.to_string());
                let contact = item.contact_id.map(|id| id.to_string());
                let (rows, id, field) = match diff.field.split_once('.') {
                    Some(("contact", field)) => (&mut self.contacts, contact, field),
                    Some((_, field)) => (&mut self.deals, deal, field),
                    None => (&mut self.deals, deal, diff.field.as_str()),
                };
                // A deal that would be created has no id yet.
                let id = id.unwrap_or_else(|| format!("new {}", rows.rows));
                rows.add(id, field);
            }
        }
    }

    pub fn is_empty(&self) -> bool {
        self.deals.rows + self.contacts.rows + self.messages == 0
    }
}

impl ChangedRows {
    fn add(&mut self, id: String, field: &str) {
        if self.ids.insert(id) {
            self.rows += 1;
        }
        *self.fields.entry(field.to_owned()).or_default() += 1;
    }
}
