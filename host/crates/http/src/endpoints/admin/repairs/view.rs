use crate::endpoints::admin::prelude::*;
use leadhost_admin_api::repairs::{
    RepairFacts, RepairUndoView, RepairView, RepairedDeliveries, RepairedRows, StayingChange,
};
use leadhost_domain::id::RepairId;
use leadhost_domain::repair::{
    CREATED, MERGED, PERSON, Repair, RepairChange, RepairCounts, RepairOutcome, RepairReceipt,
    RepairState, RepairSum, RepairUndone,
};
use leadhost_pipeline::repair::RepairError;

/// Reads the id of a repair. A text that is not an id counts as unknown.
pub fn parse_id(text: &str) -> ApiResult<RepairId> {
    text.parse()
        .map_err(|_| refusal(RepairError::Unknown(text.to_owned())))
}

pub async fn find(call: &Call<'_>, id: &str) -> ApiResult<Repair> {
    let id = parse_id(id)?;
    let repair = call.http.core.store.repair(id).await?;
    repair.ok_or_else(|| refusal(RepairError::Unknown(id.to_string())))
}

pub fn refusal(error: RepairError) -> ApiError {
    match error {
        RepairError::Unknown(_) => ApiError::NotFound(error.to_string()),
        RepairError::Store(error) => error.into(),
        RepairError::NothingActive(_)
        | RepairError::Active { .. }
        | RepairError::Adapter(_)
        | RepairError::Open { .. }
        | RepairError::NotOpen { .. }
        | RepairError::Running(_)
        | RepairError::Undone { .. }
        | RepairError::Expired(_)
        | RepairError::WroteNothing(_)
        | RepairError::Changed(_) => ApiError::conflict(error.to_string()),
    }
}

/// The numbers that stored versions give themselves.
pub struct Versions(pub HashMap<Digest, String>);

impl Versions {
    pub async fn load(store: &Store) -> Result<Self, StoreError> {
        let records = store.plugins().await?.into_iter();
        let versions = records.map(|record| (record.digest, record.description.version));
        Ok(Self(versions.collect()))
    }

    pub fn facts(&self, repair: Repair) -> RepairFacts {
        let plan = repair.plan;
        view! { RepairFacts from repair: id, state, why, started_by, started_at, ended_at;
            plugin: plan.plugin,
            version: self.0.get(&plan.converted_by).cloned(),
            converted_by: plan.converted_by,
            connection_id: plan.connection,
            since: plan.since,
            until: plan.until,
            field: plan.field,
            apply: plan.apply,
            found: repair.counts.found,
            deliveries: deliveries(&repair.counts),
            kept: repair.counts.kept,
            unsplit: repair.counts.unsplit
        }
    }
}

fn deliveries(counts: &RepairCounts) -> RepairedDeliveries {
    let count = |outcome| counts.deliveries.get(&outcome).copied().unwrap_or_default();
    RepairedDeliveries {
        replayed: count(RepairOutcome::Replayed),
        failed: count(RepairOutcome::Failed),
        rejected: count(RepairOutcome::Rejected),
        quarantined: count(RepairOutcome::Quarantined),
        leased: count(RepairOutcome::Leased),
        emptied: count(RepairOutcome::Emptied),
        gone: count(RepairOutcome::Gone),
    }
}

pub async fn to_view(call: &Call<'_>, repair: Repair) -> ApiResult<RepairView> {
    let store = &call.http.core.store;
    let versions = Versions::load(store).await?;
    let receipt = store.repair_receipt(repair.id).await?;
    let counts = &repair.counts;
    // Without `apply` there is no receipt, and with it nothing that would change.
    let mut deals = rows(receipt.deals + counts.would_deals);
    let mut contacts = rows(receipt.contacts + counts.would_contacts);
    let (mut created, mut merged) = (counts.would_create, 0);
    let changed = receipt.fields.iter().map(|sum| (&sum.field, sum.changes));
    let would_change = counts
        .would_change
        .iter()
        .map(|(field, count)| (field, *count));
    for (field, changes) in changed.chain(would_change) {
        let (rows, name) = match (field.as_str(), field.split_once('.')) {
            (CREATED, _) => {
                created += changes;
                continue;
            }
            (MERGED, _) => {
                merged += changes;
                continue;
            }
            (_, Some(("contact", name))) => (&mut contacts, name),
            (_, Some((_, name))) => (&mut deals, name),
            (name, None) => (&mut deals, name),
        };
        *rows.fields.entry(name.to_owned()).or_default() += changes;
    }
    // An undo that ended early has left changes.
    let has_begun = receipt.fields.iter().any(|sum| sum.undone.is_some())
        || matches!(repair.state, RepairState::Undoing | RepairState::Undone);
    let stays = |sum: &RepairSum| sum.undone == Some(RepairUndone::Stays);
    let staying = if receipt.fields.iter().any(stays) {
        store
            .staying_changes(repair.id, limits::REPAIR_STAYING)
            .await?
    } else {
        Vec::new()
    };
    Ok(RepairView {
        staying: staying.into_iter().map(staying_change).collect(),
        undo: has_begun.then(|| undone(&receipt)),
        facts: versions.facts(repair),
        deals,
        contacts,
        created,
        merged,
    })
}

fn staying_change(change: RepairChange) -> StayingChange {
    let why = match change.field.as_str() {
        CREATED => {
            "an undo removes no deal, because people and messages may refer to it: look at it, and \
             remove it with `leadhost deal remove` if it is not needed"
        }
        MERGED => {
            "the contact no longer exists, and its match keys belong to another contact: it is not created again"
        }
        PERSON => "the deal's former contact was merged into the one that it has now",
        _ => "the match keys of a contact that was merged into this one",
    };
    StayingChange {
        number: change.number,
        workspace_id: change.workspace,
        kind: change.kind,
        row_id: change.row,
        field: change.field,
        why: why.to_owned(),
    }
}

fn rows(rows: u64) -> RepairedRows {
    RepairedRows {
        rows,
        ..RepairedRows::default()
    }
}

fn undone(receipt: &RepairReceipt) -> RepairUndoView {
    RepairUndoView {
        undone: receipt.changes(Some(RepairUndone::Undone)),
        changed_since: receipt.changes(Some(RepairUndone::ChangedSince)),
        stays: receipt.changes(Some(RepairUndone::Stays)),
        in_use: receipt.changes(Some(RepairUndone::InUse)),
        left: receipt.changes(None),
    }
}
