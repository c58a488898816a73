//! The changes of a deal by a partner: its history, and the answer to a repeated request.

use super::super::idempotency;
use super::super::working_set::NewHistory;
use crate::decide::prelude::*;
use crate::{ByPartner, ChangedBy, FieldChange, IdempotencyClaim, Notified, StoredAnswer};

/// Returns the deal if it exists and the partner may work on it.
pub fn own<'a>(set: &'a mut WorkingSet, by: &ByPartner, id: DealId) -> Option<&'a mut DealRecord> {
    set.deals
        .get_mut(&id)
        .filter(|deal| deal.workspace == by.workspace && deal.partner == Some(by.partner))
}

pub enum Before {
    Answered(StoredAnswer),
    Another,
}

pub fn earlier_use(set: &WorkingSet, claim: Option<&IdempotencyClaim>) -> Option<Before> {
    Some(match idempotency::found(set, claim?)? {
        Notified::Replayed(answer) => Before::Answered(answer),
        // On these routes a key is stored together with its answer, so no request is ever
        // running.
        _ => Before::Another,
    })
}

/// Stores the answer under the request's key, if it has one.
pub fn answered(set: &mut WorkingSet, claim: Option<&IdempotencyClaim>, answer: &StoredAnswer) {
    if let Some(claim) = claim {
        idempotency::keep(set, claim, None, Some(answer.clone()));
    }
}

/// Notes that somebody chose the value of a field. Returns whether that was new.
pub fn edited(deal: &mut DealRecord, field: &str) -> bool {
    let is_new = !is_edited(deal, field);
    if is_new {
        deal.edited.push(field.to_owned());
    }
    is_new
}

pub fn is_edited(deal: &DealRecord, field: &str) -> bool {
    deal.edited.iter().any(|set| set == field)
}

/// The changes of a deal, each field under its name in the export.
#[derive(Default)]
pub struct DealChanges(pub Vec<FieldChange>);

impl DealChanges {
    /// Notes a field. Returns whether it has changed.
    pub fn note(&mut self, field: &str, before: Value, after: Value) -> bool {
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
pub fn history(
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
