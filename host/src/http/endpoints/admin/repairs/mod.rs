//! Repairs: replays of all deliveries that a version converted, with their receipts.

pub mod changes;
pub mod start;

use std::collections::HashMap;
use std::sync::Arc;

use hyper::StatusCode;

use crate::admin_api::repairs::{
    RepairFacts, RepairList, RepairUndoView, RepairView, RepairedDeliveries, RepairedRows,
    StayingChange,
};
use crate::domain::id::RepairId;
use crate::domain::plugin::Digest;
use crate::domain::repair::{
    CREATED, MERGED, PERSON, Repair, RepairChange, RepairCounts, RepairOutcome, RepairReceipt,
    RepairState, RepairSum, RepairUndone,
};
use crate::http::call::Call;
use crate::http::endpoints::admin::{last_of_full, page_limit};
use crate::http::error::ApiError;
use crate::http::reply::{self, ApiResponse};
use crate::limits;
use crate::pipeline::repair::{RepairError, operate};
use crate::store::{Store, StoreError};

/// `GET /admin/v1/repairs?before=&limit=`: a page of the repairs, newest first.
///
/// # Errors
///
/// [`ApiError::BadRequest`] if `limit` is invalid, [`ApiError::NotFound`] if the repair of `before` is
/// unknown, and [`ApiError::Store`] if the store cannot be read.
pub async fn list(call: &Call<'_>) -> Result<ApiResponse, ApiError> {
    let query = call.query();
    let limit = page_limit(&query)?;
    let before = query.filled(&["before"]).map(parse_id).transpose()?;
    let store = &*call.http.core.store;
    let repairs = store.repairs(before, limit).await?;
    let next = last_of_full(&repairs, limit).map(|repair| repair.id);
    let versions = Versions::load(store).await?;
    let repairs = repairs.into_iter().map(|repair| versions.facts(repair));
    let answer = RepairList {
        repairs: repairs.collect(),
        next,
    };
    reply::json(StatusCode::OK, &answer)
}

/// `GET /admin/v1/repairs/{id}`: how far a repair is, and the sum of its receipt.
///
/// # Errors
///
/// [`ApiError::NotFound`] if there is no such repair, and [`ApiError::Store`] if the store cannot
/// be read.
pub async fn show(call: &Call<'_>, id: &str) -> Result<ApiResponse, ApiError> {
    let repair = find(call, id).await?;
    reply::json(StatusCode::OK, &to_view(call, repair).await?)
}

/// `POST /admin/v1/repairs/{id}/cancel`: ends a running repair or an undo. Changes that it has already
/// made, or not yet undone, stay.
///
/// # Errors
///
/// [`ApiError::NotFound`] if there is no such repair, [`ApiError::Conflict`] if it is not under way,
/// and [`ApiError::Store`] if the store fails.
pub async fn cancel(call: &Call<'_>, id: &str) -> Result<ApiResponse, ApiError> {
    let id = parse_id(id)?;
    let http = Arc::clone(call.http);
    let cancelled = async move { operate::cancel(&http.pipeline, id).await };
    let cancelled = call.http.core.spawn(cancelled).await;
    let repair = cancelled.map_err(ApiError::internal)?.map_err(refusal)?;
    reply::json(StatusCode::OK, &to_view(call, repair).await?)
}

/// `POST /admin/v1/repairs/{id}/undo`: undoes the changes of an ended repair, in the background.
/// The answer is the repair at the begin of its undo.
///
/// # Errors
///
/// [`ApiError::NotFound`] if there is no such repair, [`ApiError::Conflict`] if it wrote nothing, is
/// running or was undone, its receipt is being removed, or another repair is open, and
/// [`ApiError::Store`] if the store fails.
pub async fn undo(call: &Call<'_>, id: &str) -> Result<ApiResponse, ApiError> {
    let id = parse_id(id)?;
    let http = Arc::clone(call.http);
    let begun = async move { operate::undo(&http.pipeline, id).await };
    let begun = call.http.core.spawn(begun).await;
    let repair = begun.map_err(ApiError::internal)?.map_err(refusal)?;
    reply::json(StatusCode::OK, &to_view(call, repair).await?)
}

fn parse_id(text: &str) -> Result<RepairId, ApiError> {
    text.parse()
        .map_err(|_| refusal(RepairError::Unknown(text.to_owned())))
}

/// Returns the newest repairs of a version that are running, are being undone, or wrote changes that are not
/// undone, at most [`limits::IMPACT_REPAIRS`], out of the newest [`limits::IMPACT_REPAIRS_READ`] repairs.
///
/// # Errors
///
/// [`ApiError::Store`] if the store fails.
pub async fn relevant(
    call: &Call<'_>,
    converted_by: &Digest,
) -> Result<Vec<RepairFacts>, ApiError> {
    let store = &*call.http.core.store;
    let newest = store.repairs(None, limits::IMPACT_REPAIRS_READ).await?;
    let relevant: Vec<Repair> = newest
        .into_iter()
        .filter(|repair| repair.plan.converted_by == *converted_by)
        .filter(|repair| match repair.state {
            RepairState::Running | RepairState::Undoing => true,
            RepairState::Done | RepairState::Cancelled => repair.plan.apply,
            RepairState::Undone | RepairState::Expired => false,
        })
        .take(limits::IMPACT_REPAIRS)
        .collect();
    if relevant.is_empty() {
        return Ok(Vec::new());
    }
    let versions = Versions::load(store).await?;
    Ok(relevant
        .into_iter()
        .map(|repair| versions.facts(repair))
        .collect())
}

/// Returns the repair with this id.
async fn find(call: &Call<'_>, id: &str) -> Result<Repair, ApiError> {
    let id = parse_id(id)?;
    let repair = call.http.core.store.repair(id).await?;
    repair.ok_or_else(|| refusal(RepairError::Unknown(id.to_string())))
}

fn refusal(error: RepairError) -> ApiError {
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
struct Versions(HashMap<Digest, String>);

impl Versions {
    async fn load(store: &dyn Store) -> Result<Self, StoreError> {
        let records = store.plugins().await?.into_iter();
        let versions = records.map(|record| (record.digest, record.description.version));
        Ok(Self(versions.collect()))
    }

    /// Returns what a list and a single answer say about a repair.
    fn facts(&self, repair: Repair) -> RepairFacts {
        let plan = repair.plan;
        RepairFacts {
            id: repair.id,
            plugin: plan.plugin,
            version: self.0.get(&plan.converted_by).cloned(),
            converted_by: plan.converted_by,
            connection_id: plan.connection,
            since: plan.since,
            until: plan.until,
            field: plan.field,
            apply: plan.apply,
            state: repair.state,
            why: repair.why,
            started_by: repair.started_by,
            started_at: repair.started_at,
            ended_at: repair.ended_at,
            found: repair.counts.found,
            deliveries: deliveries(&repair.counts),
            kept: repair.counts.kept,
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

/// Returns a repair with the sum of its receipt.
async fn to_view(call: &Call<'_>, repair: Repair) -> Result<RepairView, ApiError> {
    let store = &*call.http.core.store;
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
    let staying = match receipt.fields.iter().any(stays) {
        true => {
            store
                .staying_changes(repair.id, limits::REPAIR_STAYING)
                .await?
        }
        false => Vec::new(),
    };
    Ok(RepairView {
        staying: staying.into_iter().map(Into::into).collect(),
        undo: has_begun.then(|| undone(&receipt)),
        facts: versions.facts(repair),
        deals,
        contacts,
        created,
        merged,
    })
}

impl From<RepairChange> for StayingChange {
    fn from(change: RepairChange) -> Self {
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
        Self {
            number: change.number,
            workspace_id: change.workspace,
            kind: change.kind,
            row_id: change.row,
            field: change.field,
            why: why.to_owned(),
        }
    }
}

fn rows(rows: u64) -> RepairedRows {
    RepairedRows {
        rows,
        ..RepairedRows::default()
    }
}

fn undone(receipt: &RepairReceipt) -> RepairUndoView {
    let count = |undone: Option<RepairUndone>| -> u64 {
        let sums = receipt.fields.iter();
        let sums = sums.filter(|sum| sum.undone == undone);
        sums.map(|sum| sum.changes).sum()
    };
    RepairUndoView {
        undone: count(Some(RepairUndone::Undone)),
        changed_since: count(Some(RepairUndone::ChangedSince)),
        stays: count(Some(RepairUndone::Stays)),
        in_use: count(Some(RepairUndone::InUse)),
        left: count(None),
    }
}
