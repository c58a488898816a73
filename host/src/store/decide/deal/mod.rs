//! Partners change, create and log deals. The deal is stamped once, its history gets a
//! row, and dependent rows follow: a deal that ends closes its conversations, and a deal
//! that is transferred is handed to people.

mod create;
mod log;
mod patch;

use serde_json::Value;

pub use create::create;
pub use log::log;
pub use patch::patch;

use super::DealRecord;
use super::idempotency;
use super::working_set::{NewHistory, WorkingSet};
use crate::domain::id::{DealId, WorkspaceId};
use crate::store::{ByPartner, ChangedBy, FieldChange, IdempotencyClaim, Notified, StoredAnswer};

/// Returns the deal if it exists and the partner may work on it.
fn own<'a>(set: &'a mut WorkingSet, by: &ByPartner, id: DealId) -> Option<&'a mut DealRecord> {
    set.deals
        .get_mut(&id)
        .filter(|deal| deal.workspace == by.workspace && deal.partner == Some(by.partner))
}

enum Before {
    Answered(StoredAnswer),
    Another,
}

/// Returns the earlier use of the request's key.
fn earlier_use(set: &WorkingSet, claim: Option<&IdempotencyClaim>) -> Option<Before> {
    Some(match idempotency::found(set, claim?)? {
        Notified::Replayed(answer) => Before::Answered(answer),
        // On these routes a key is stored together with its answer, so no request is ever
        // running.
        _ => Before::Another,
    })
}

/// Stores the answer under the request's key, if it has one.
fn answered(set: &mut WorkingSet, claim: Option<&IdempotencyClaim>, answer: &StoredAnswer) {
    if let Some(claim) = claim {
        idempotency::keep(set, claim, None, Some(answer.clone()));
    }
}

/// Marks the field as edited: sources do not change it any more.
fn edited(deal: &mut DealRecord, field: &str) {
    if !is_edited(deal, field) {
        deal.edited.push(field.to_owned());
    }
}

fn is_edited(deal: &DealRecord, field: &str) -> bool {
    deal.edited.iter().any(|set| set == field)
}

/// The changes of a deal, each field under its name in the export.
#[derive(Default)]
struct DealChanges(Vec<FieldChange>);

impl DealChanges {
    /// Notes a field. Returns whether it has changed.
    fn note(&mut self, field: &str, before: Value, after: Value) -> bool {
        let differs = before != after;
        if differs {
            self.0.push(FieldChange {
                field: field.to_owned(),
                before,
                after,
            });
        }
        differs
    }
}

/// Adds an entry with these changes to the deal's history.
pub(super) fn history(
    set: &mut WorkingSet,
    workspace: WorkspaceId,
    deal: DealId,
    by: ChangedBy,
    changes: Vec<FieldChange>,
) {
    set.new_history.push(NewHistory {
        workspace,
        deal,
        by,
        changes,
    });
}
