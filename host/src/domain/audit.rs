//! The audit: acts of operators, in rows that are never changed or removed. Each row has a hash of
//! itself and of the row before it, so a row that was changed or removed shows.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::id::KeyId;
use super::key::Role;
use super::plugin::Digest;
use super::time::Micros;
use super::word::words;

words! {
    /// The outcome of an act.
    ActOutcome: "the outcome" {
        /// It is about to be done. A later row with this one as `begun` has its outcome;
        /// without one, the service stopped or the client left before its end.
        Begun = "begun",
        Done = "done",
        /// It stopped on the way: the detail counts what was changed by then.
        PartlyDone = "partly-done",
        /// Nothing was changed: the request was wrong, or something spoke against it.
        Refused = "refused",
        /// The service failed. A part may have been done.
        Failed = "failed",
    }
}

/// The actor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditActor {
    /// The admin key, or `None` for the service itself.
    pub key: Option<KeyId>,
    /// The key's label, or the part of the service.
    pub label: String,
    pub role: Option<Role>,
    /// The address of the client; empty for the service itself.
    pub address: String,
}

impl AuditActor {
    /// The service itself, with the name of the part that acts.
    pub fn service(part: &str) -> Self {
        Self {
            key: None,
            label: part.to_owned(),
            role: None,
            address: String::new(),
        }
    }
}

/// An act, before it has its place in the chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Act {
    pub at: Micros,
    /// The admin key, or `None` for the service itself.
    pub key_id: Option<KeyId>,
    /// The key's label, or the part of the service.
    pub label: String,
    pub role: Option<Role>,
    /// The address of the client; empty for the service itself.
    pub address: String,
    /// The operation, such as `activate-plugin`.
    pub act: String,
    /// The object of the act: a name or an id.
    pub target: String,
    pub outcome: ActOutcome,
    /// The number of the row with which it began.
    pub begun: Option<i64>,
    /// More about it: JSON text without secrets and personal data.
    pub detail: String,
}

impl Act {
    /// Returns an act that was done, without a row of its beginning. Detail: JSON without secrets and
    /// personal data.
    pub fn done(by: AuditActor, at: Micros, (act, target): (&str, &str), detail: &Value) -> Self {
        Self {
            at,
            key_id: by.key,
            label: by.label,
            role: by.role,
            address: by.address,
            act: act.to_owned(),
            target: target.to_owned(),
            outcome: ActOutcome::Done,
            begun: None,
            detail: detail.to_string(),
        }
    }
}

/// A row of the audit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AuditRow {
    /// Counts up from 1 without gaps.
    pub number: i64,
    pub at: Micros,
    /// The id of the admin key. Null for an act of the service itself, such as of its inbox.
    pub key_id: Option<KeyId>,
    /// The label of the key, or the part of the service.
    pub label: String,
    /// The role of the key. Null for an act of the service itself.
    pub role: Option<Role>,
    /// The address of the client. Empty for an act of the service itself.
    pub address: String,
    /// The operation, such as `activate-plugin`.
    pub act: String,
    /// The object of the act: a name or an id. Empty if the operation has no such part.
    pub target: String,
    pub outcome: ActOutcome,
    /// The number of the row with which the act began. Null in that row.
    pub begun: Option<i64>,
    /// More about the act: JSON text.
    pub detail: String,
    /// SHA-256 of the JSON array of the hash of the row before (empty for the first row) and this
    /// row's other values in their order, in hexadecimal.
    pub hash: String,
}

impl AuditRow {
    /// Returns the row of an act that comes after this row.
    pub fn new(before: Option<&Self>, act: Act) -> Self {
        let row = Self {
            number: before.map_or(0, |before| before.number) + 1,
            at: act.at,
            key_id: act.key_id,
            label: act.label,
            role: act.role,
            address: act.address,
            act: act.act,
            target: act.target,
            outcome: act.outcome,
            begun: act.begun,
            detail: act.detail,
            hash: String::new(),
        };
        let hash = row.hash_after(before);
        Self { hash, ..row }
    }

    /// Returns whether the row is unchanged and follows this row.
    pub fn follows(&self, before: Option<&Self>) -> bool {
        let number = before.map_or(0, |before| before.number);
        self.number == number + 1 && self.hash == self.hash_after(before)
    }

    fn hash_after(&self, before: Option<&Self>) -> String {
        let values = serde_json::json!([
            before.map_or("", |before| before.hash.as_str()),
            self.number,
            self.at,
            self.key_id,
            self.label,
            self.role,
            self.address,
            self.act,
            self.target,
            self.outcome,
            self.begun,
            self.detail,
        ]);
        Digest::compute(values.to_string().as_bytes()).0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn act(target: &str) -> Act {
        Act {
            at: Micros(1),
            key_id: None,
            label: "inbox".to_owned(),
            role: None,
            address: String::new(),
            act: "activate-plugin".to_owned(),
            target: target.to_owned(),
            outcome: ActOutcome::Done,
            begun: None,
            detail: "{}".to_owned(),
        }
    }

    #[test]
    fn a_changed_a_removed_and_an_inserted_row_break_the_chain() {
        let first = AuditRow::new(None, act("one"));
        let second = AuditRow::new(Some(&first), act("two"));
        let third = AuditRow::new(Some(&second), act("three"));
        let after = |row: &AuditRow, next: &AuditRow| next.follows(Some(row));
        assert!(first.follows(None) && after(&first, &second) && after(&second, &third));
        assert!(!after(&first, &third), "the second is removed");
        let changed = AuditRow {
            target: "other".to_owned(),
            ..second.clone()
        };
        assert!(!after(&first, &changed));
        let inserted = AuditRow::new(Some(&first), act("inserted"));
        assert!(after(&first, &inserted) && !after(&inserted, &third));
    }
}
