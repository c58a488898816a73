//! The audit: acts of operators, in rows that are never changed and only removed from the beginning, after
//! their retention. Each row has a hash of itself and of the row before it, so a row that was changed or removed
//! shows. A checkpoint has the hash of the last row that was removed.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::accept::AcceptWord;
use super::id::KeyId;
use super::key::Role;
use super::plugin::Digest;
use super::rollout::RolloutMode;
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

words! {
    /// What is done, of what the code names: operations of the admin API, and, at the end, what the service itself
    /// does with a rollout and a repair. A row has the word of any operation that viewers may not call.
    OperatorAct: "the act" {
        Apply = "apply",
        UploadPlugin = "upload-plugin",
        ActivatePlugin = "activate-plugin",
        RollBackPlugin = "roll-back-plugin",
        RemovePlugin = "remove-plugin",
        StartRollout = "start-rollout",
        ChangeRollout = "change-rollout",
        ChangeConnection = "change-connection",
        ChangeInstance = "change-instance",
        NextRolloutStep = "next-rollout-step",
        PromoteRollout = "promote-rollout",
        RollBackRollout = "roll-back-rollout",
        EndRollout = "end-rollout",
        EndRepair = "end-repair",
        RemoveAudit = "remove-audit",
    }
}

/// The label of acts of the service itself.
pub const SERVICE: &str = "service";

/// The label of activations from the inbox.
pub const INBOX: &str = "inbox";

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
    /// The service itself, with the name of the part that acts: [`SERVICE`] or [`INBOX`].
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
    /// The word of an [`OperatorAct`].
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
    pub fn done(
        by: AuditActor,
        at: Micros,
        (act, target): (OperatorAct, &str),
        detail: &Value,
    ) -> Self {
        Self {
            at,
            key_id: by.key,
            label: by.label,
            role: by.role,
            address: by.address,
            act: act.as_str().to_owned(),
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
        let hash = row.hash_after(before.map_or("", |before| &before.hash));
        Self { hash, ..row }
    }

    /// Returns whether the row is unchanged and follows this row.
    pub fn follows(&self, before: Option<&Self>) -> bool {
        self.continues(&before.map(Self::place).unwrap_or_default())
    }

    /// Returns whether the row is unchanged and follows the row of this place.
    pub fn continues(&self, before: &AuditCheckpoint) -> bool {
        self.number == before.number + 1 && self.hash == self.hash_after(&before.hash)
    }

    pub fn place(&self) -> AuditCheckpoint {
        AuditCheckpoint {
            number: self.number,
            hash: self.hash.clone(),
        }
    }

    /// Returns the last row whose removal this row records, if it records one.
    pub fn removed(&self) -> Option<AuditCheckpoint> {
        if self.act != OperatorAct::RemoveAudit.as_str() {
            return None;
        }
        serde_json::from_str(&self.detail).ok()
    }

    /// Returns the version that the act made inactive, if it was done and made one inactive.
    pub fn left_version(&self) -> Option<LeftVersion> {
        if self.outcome != ActOutcome::Done {
            return None;
        }
        let act: OperatorAct = self.act.parse().ok()?;
        let key = match act {
            OperatorAct::ActivatePlugin
            | OperatorAct::UploadPlugin
            | OperatorAct::RollBackPlugin => "previous",
            OperatorAct::PromoteRollout => "stable",
            OperatorAct::RollBackRollout | OperatorAct::EndRollout => "candidate",
            _ => return None,
        };
        let detail: Value = serde_json::from_str(&self.detail).ok()?;
        // The candidate of a shadow was never active.
        if act == OperatorAct::EndRollout && detail["mode"] == RolloutMode::Shadow.as_str() {
            return None;
        }
        let mut accepted = detail["accept"].as_array().into_iter().flatten();
        Some(LeftVersion {
            digest: Digest(detail[key].as_str()?.to_owned()),
            act,
            by_service: self.key_id.is_none(),
            was_restored: accepted.any(|word| word == AcceptWord::RolledBack.as_str()),
        })
    }

    fn hash_after(&self, before: &str) -> String {
        let values = serde_json::json!([
            before,
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

/// A place in the chain: a row's number and its hash. Before the first row both are empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AuditCheckpoint {
    pub number: i64,
    pub hash: String,
}

/// A version that an act made inactive.
#[derive(Debug, PartialEq, Eq)]
pub struct LeftVersion {
    pub digest: Digest,
    pub act: OperatorAct,
    /// The service acted, such as by a guard.
    pub by_service: bool,
    /// The operator accepted that the version which became active had itself been rolled back.
    pub was_restored: bool,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

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

    #[test]
    fn the_version_that_an_act_made_inactive_is_read_from_its_row() {
        let left = |act_name: OperatorAct, detail: Value| {
            let act = Act {
                act: act_name.as_str().to_owned(),
                detail: detail.to_string(),
                ..act("portal")
            };
            let refused = Act {
                outcome: ActOutcome::Refused,
                ..act.clone()
            };
            assert_eq!(AuditRow::new(None, refused).left_version(), None);
            AuditRow::new(None, act).left_version()
        };
        let version = |act, was_restored| {
            Some(LeftVersion {
                digest: Digest("bb".to_owned()),
                act,
                by_service: true,
                was_restored,
            })
        };
        use OperatorAct::{EndRollout, PromoteRollout, RollBackPlugin, RollBackRollout};
        let detail = json!({"digest": "aa", "previous": "bb", "accept": ["older"]});
        assert_eq!(left(RollBackPlugin, detail), version(RollBackPlugin, false));
        let detail = json!({"previous": "bb", "accept": ["rolled-back"]});
        assert_eq!(left(RollBackPlugin, detail), version(RollBackPlugin, true));
        let detail = json!({"stable": "bb", "candidate": "aa"});
        assert_eq!(left(PromoteRollout, detail), version(PromoteRollout, false));
        for (mode, is_left) in [("canary", true), ("shadow", false)] {
            let detail = json!({"candidate": "bb", "mode": mode});
            let expect = version(EndRollout, false).filter(|_| is_left);
            assert_eq!(left(EndRollout, detail), expect, "{mode}");
        }
        let detail = json!({"candidate": "bb", "mode": "canary"});
        assert_eq!(
            left(RollBackRollout, detail),
            version(RollBackRollout, false)
        );
        assert_eq!(left(OperatorAct::Apply, json!({"previous": "bb"})), None);
        // The first activation made nothing inactive.
        assert_eq!(
            left(OperatorAct::ActivatePlugin, json!({"previous": null})),
            None
        );
    }
}
