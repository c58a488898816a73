use uuid::Uuid;

use crate::prelude::*;
use leadhost_domain::id::RepairId;
use leadhost_domain::repair::{RepairField, RepairState, RepairUndone, RepairedKind};

/// The repair to start.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RepairRequest {
    /// The version whose deliveries are replayed: `1.4.0`, or its digest; a prefix of at least 8 characters
    /// is enough if it is unique. Also after the plugin's name and an `@`.
    pub converted_by: String,
    /// The version's plugin. Needed only if several plugins have such a version.
    #[serde(default)]
    pub plugin: Option<String>,
    /// Only deliveries of this connection: its id, its name or `workspace/name`.
    #[serde(default)]
    pub connection: Option<String>,
    /// Only deliveries received since a date, or a time such as `2026-01-31T12:00:00Z`.
    #[serde(default)]
    pub since: Option<String>,
    /// Only deliveries received before this time.
    #[serde(default)]
    pub until: Option<String>,
    /// Only this field of existing leads is changed. Leads that do not exist yet are not created
    /// then, and the deliveries still count for the version that converted them.
    #[serde(default)]
    pub field: Option<RepairField>,
    /// Write the differences, except where a person has edited since. Without it they are only
    /// counted.
    #[serde(default)]
    pub apply: bool,
}

/// A page of repairs, newest first.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct RepairList {
    pub repairs: Vec<RepairFacts>,
    /// The `before` of the next page. Null on the last page.
    pub next: Option<RepairId>,
}

/// A repair and its progress.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RepairFacts {
    pub id: RepairId,
    pub plugin: String,
    /// The version whose deliveries are replayed.
    pub converted_by: Digest,
    /// The number that the version gives itself. Null if the store no longer has it.
    pub version: Option<String>,
    pub connection_id: Option<ConnectionId>,
    pub since: Option<Micros>,
    pub until: Option<Micros>,
    pub field: Option<RepairField>,
    /// Whether it writes the differences, or only counts them.
    pub apply: bool,
    pub state: RepairState,
    /// Why it ended before its last delivery, or its undo before the last change, or what it could not
    /// repair. Null if it did not.
    pub why: Option<String>,
    /// The label of the key that started it.
    pub started_by: String,
    pub started_at: Micros,
    /// When it ended, or its undo. Null while a host works on it.
    pub ended_at: Option<Micros>,
    /// Deliveries that it has to replay. Null until they were looked for.
    pub found: Option<u64>,
    pub deliveries: RepairedDeliveries,
    /// Fields that a person has edited, which stay as they are.
    pub kept: u64,
    /// Leads that stay joined with others of their contact, or whose wrong number may be somebody's: `why`
    /// names the contacts.
    #[serde(default)]
    pub unsplit: u64,
}

impl RepairFacts {
    /// Returns whether it repairs all that its version did: in all fields, of all connections and times.
    pub fn is_whole(&self) -> bool {
        let is_of_all_times = self.since.is_none() && self.until.is_none();
        is_of_all_times && self.connection_id.is_none() && self.field.is_none()
    }

    /// Returns what it has done with the deliveries of its version, in words that follow its name:
    /// `is running and has converted 3 of 141 deliveries again`.
    pub fn progress(&self) -> String {
        let replayed = self.deliveries.replayed;
        let deliveries = match self.found {
            Some(found) if found > replayed => {
                format!("{replayed} of {}", counted(found, "delivery", "deliveries"))
            }
            _ => counted(replayed, "delivery", "deliveries"),
        };
        let begin = match self.state {
            RepairState::Undoing => {
                return "is being undone: its deliveries count for this version again".to_owned();
            }
            RepairState::Running if !self.apply => {
                return format!(
                    "is running and only counts what it would change: it has looked at {deliveries}"
                );
            }
            RepairState::Running => "is running and has",
            RepairState::Cancelled => "ended early and has",
            RepairState::Done
            | RepairState::Incomplete
            | RepairState::Undone
            | RepairState::Expired => "has",
        };
        match self.field {
            Some(field) => format!(
                "{begin} written the field {field} of {deliveries}, which count for this version only until a full repair or a replay converts them"
            ),
            None => format!("{begin} converted {deliveries} again"),
        }
    }
}

/// The deliveries that a repair has dealt with, by their outcomes.
#[derive(Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct RepairedDeliveries {
    /// They were converted again.
    pub replayed: u64,
    /// The active version failed on them. They are as they were.
    pub failed: u64,
    /// The active version refuses their bodies. They are as they were.
    pub rejected: u64,
    /// Their senders are not proven.
    pub quarantined: u64,
    /// A host worked on them for longer than a lease.
    pub leased: u64,
    /// An erasure had emptied them.
    pub emptied: u64,
    /// They were removed meanwhile.
    pub gone: u64,
}

/// The outcome of deliveries on which the active version failed.
pub const FAILED: &str = "failed";

impl RepairedDeliveries {
    pub fn sum(&self) -> u64 {
        let others = self.others().map(|(count, _)| count);
        self.replayed + others.sum::<u64>()
    }

    pub fn others(&self) -> impl Iterator<Item = (u64, &'static str)> {
        let Self {
            replayed: _,
            failed,
            rejected,
            quarantined,
            leased,
            emptied,
            gone,
        } = *self;
        let all = [
            (failed, FAILED),
            (rejected, "refused by the active version"),
            (quarantined, "in quarantine"),
            (leased, "held by a host"),
            (emptied, "emptied by an erasure"),
            (gone, "gone"),
        ];
        all.into_iter().filter(|(count, _)| *count > 0)
    }
}

/// A repair with the sum of its receipt. Without `apply` these are the changes that it would make:
/// then each lead counts, also if two of them are of one contact.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RepairView {
    #[serde(flatten)]
    pub facts: RepairFacts,
    /// Existing deals that were changed.
    pub deals: RepairedRows,
    pub contacts: RepairedRows,
    /// Deals that were created.
    pub created: u64,
    /// Contacts without deals that were merged into the ones to which their deals moved.
    pub merged: u64,
    /// The result of an undo. Null if there was none.
    pub undo: Option<RepairUndoView>,
    /// The changes that could not be undone, with the reason: the first 50.
    pub staying: Vec<StayingChange>,
}

/// A change that could not be undone.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct StayingChange {
    /// The number of the change in the receipt.
    pub number: i64,
    pub workspace_id: WorkspaceId,
    pub kind: RepairedKind,
    /// The id of the deal or contact.
    #[schema(value_type = String, format = "uuid")]
    pub row_id: Uuid,
    /// `deal.created`, `deal.person`, `contact.merged` or `contact.taken_keys`.
    pub field: String,
    pub why: String,
}

/// Rows of a kind that a repair changed.
#[derive(Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct RepairedRows {
    /// The number of rows.
    pub rows: u64,
    /// The number of changes of each field: `phone_number`, `props.message`; or `keys` for the match
    /// keys of a contact, `shared_keys` for those that it shares with others, `lost_keys` and
    /// `lost_shared_keys` for keys that it lost, and `taken_keys` for the keys of a contact merged into it.
    pub fields: BTreeMap<String, u64>,
}

/// The result of an undo of a repair's changes.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RepairUndoView {
    /// Fields that have their former value again.
    pub undone: u64,
    /// Fields that were changed since, or whose row is gone. They stay as they are.
    pub changed_since: u64,
    /// Changes that cannot be undone: created deals, and new contacts that have leads of their own.
    pub stays: u64,
    /// Changes of match keys that leads of the contact have named since: these keys stay.
    pub in_use: u64,
    /// Changes that it has not dealt with yet, or with which the store failed.
    pub left: u64,
}

/// A page of a receipt, in the order of the changes.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct RepairChanges {
    pub changes: Vec<RepairChangeView>,
    /// The `after` of the next page. Null on the last page.
    pub next: Option<i64>,
}

/// A field that a repair changed.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RepairChangeView {
    pub number: i64,
    pub workspace_id: WorkspaceId,
    /// The delivery that was replayed.
    pub delivery_id: DeliveryId,
    /// The place of the lead in it, from 0.
    pub item: u32,
    pub kind: RepairedKind,
    /// The id of the deal or contact.
    #[schema(value_type = String, format = "uuid")]
    pub row_id: Uuid,
    /// The row's name, then the field's: `deal.title`, `contact.phone_number`; or
    /// `deal.created`, `contact.keys`, `contact.shared_keys`, `contact.taken_keys`, `contact.merged`.
    pub field: String,
    /// Null if there was no value, or if the values were erased.
    pub before: Value,
    pub after: Value,
    /// Whether the values were erased with their person, or with their deal.
    pub erased: bool,
    /// The result of an undo. Null if no undo has processed this change.
    pub undone: Option<RepairUndone>,
}

columns! {
    RepairFacts as repair {
        "Id" commands => Cell::id(repair.id),
        "Started" => repair.started_at,
        "By" => &repair.started_by,
        "Converted by" => Cell::from(repair.version_named())
            .link(format!("/plugins/{}", repair.plugin)),
        "Field" named => Cell::from(repair.field.map(|field| field.to_string())).or("all"),
        "Apply" named => repair.apply,
        "State" => Cell::word(repair.state),
        "Deliveries" number named => match repair.found {
            Some(found) => format!("{} of {found}", repair.deliveries.sum()),
            None => format!("{} of -", repair.deliveries.sum()),
        },
        "Failed" number named => repair.deliveries.failed,
        "Repair" pages => Cell::id(repair.id).link(format!("/repairs/{}", repair.id)),
    }

    RepairChangeView as change {
        "Change" number pages => change.number,
        "Delivery" => Cell::id(change.delivery_id).link(format!("/deliveries/{}", change.delivery_id)),
        "Row" => Cell::from(format!("{} {}", change.kind, change.row_id)).link(match change.kind {
            RepairedKind::Deal => format!("/deals/{}", change.row_id),
            RepairedKind::Contact => format!("/contacts/{}", change.row_id),
        }),
        "Field" => &change.field,
        "Before" => change.value(&change.before),
        "After" => change.value(&change.after),
        "Undo" => change.undone.map(|undone| undone.to_string()),
    }
}

impl RepairFacts {
    pub fn version_named(&self) -> String {
        let version = self.version.as_deref().unwrap_or("-");
        format!("{} {version} ({})", self.plugin, self.converted_by.short())
    }
}

impl RepairChangeView {
    fn value(&self, value: &Value) -> Cell {
        if self.erased {
            Cell::from("(erased)")
        } else {
            Cell::from(value).mono().or("-")
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_progress_of_a_repair_says_whether_it_runs_and_whether_it_writes() {
        let check = |state: RepairState,
                     apply: bool,
                     field: Option<RepairField>,
                     (replayed, found): (u64, Option<u64>),
                     expect: &str| {
            let facts: RepairFacts = serde_json::from_value(json!({
                "id": Uuid::nil(), "plugin": "portal", "convertedBy": "0123456789abcdef",
                "field": field, "apply": apply, "state": state, "startedBy": "ana",
                "startedAt": Micros(0), "found": found, "kept": 0,
                "deliveries": RepairedDeliveries { replayed, ..RepairedDeliveries::default() },
            }))
            .expect("a repair");
            assert_eq!(facts.progress(), expect);
        };
        let (running, done) = (RepairState::Running, RepairState::Done);
        check(
            running,
            true,
            None,
            (3, Some(141)),
            "is running and has converted 3 of 141 deliveries again",
        );
        check(
            running,
            false,
            None,
            (0, None),
            "is running and only counts what it would change: it has looked at 0 deliveries",
        );
        check(
            done,
            true,
            None,
            (1, Some(1)),
            "has converted 1 delivery again",
        );
        check(
            done,
            true,
            Some(RepairField::Phone),
            (2, Some(2)),
            "has written the field phone of 2 deliveries, which count for this version only until a full repair or a replay converts them",
        );
        check(
            RepairState::Cancelled,
            true,
            None,
            (2, Some(9)),
            "ended early and has converted 2 of 9 deliveries again",
        );
        check(
            RepairState::Undoing,
            true,
            None,
            (2, Some(2)),
            "is being undone: its deliveries count for this version again",
        );
    }
}
