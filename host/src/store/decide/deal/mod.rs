//! What partners do to deals: change, make, note. The deal is stamped once, its
//! history gets a row, and what hangs on it follows: a deal that ends closes its
//! conversations, one that is transferred is handed to people.

mod create;
mod log;
mod patch;

use serde_json::Value;

pub use create::create;
pub use log::log;
pub use patch::patch;

use super::Deal;
use super::idempotency;
use super::known::{Known, NewHistory};
use crate::domain::id::{DealId, WorkspaceId};
use crate::store::{ByPartner, ChangedBy, FieldChange, IdempotencyClaim, Notified, StoredAnswer};

/// The deal, when it is there and the partner's to work on.
fn own<'a>(known: &'a mut Known, by: &ByPartner, id: DealId) -> Option<&'a mut Deal> {
    known
        .deals
        .get_mut(&id)
        .filter(|deal| deal.workspace == by.workspace && deal.partner == Some(by.partner))
}

enum Before {
    Answered(StoredAnswer),
    Another,
}

/// What the request's key was met with before.
fn heard_before(known: &Known, claim: Option<&IdempotencyClaim>) -> Option<Before> {
    Some(match idempotency::found(known, claim?)? {
        Notified::Replayed(answer) => Before::Answered(answer),
        // A key of these routes is stored with its answer, so nothing is ever running.
        _ => Before::Another,
    })
}

/// What a request became, kept under its key if it has one.
fn answered(known: &mut Known, claim: Option<&IdempotencyClaim>, answer: &StoredAnswer) {
    if let Some(claim) = claim {
        idempotency::keep(known, claim, None, Some(answer.clone()));
    }
}

/// A source leaves the field as it is from now on.
fn edited(deal: &mut Deal, field: &str) {
    if !is_edited(deal, field) {
        deal.edited.push(field.to_owned());
    }
}

fn is_edited(deal: &Deal, field: &str) -> bool {
    deal.edited.iter().any(|known| known == field)
}

/// What changes of a deal, each field under the name that it is exported by.
#[derive(Default)]
struct Changes(Vec<FieldChange>);

impl Changes {
    /// Whether it is a change.
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

pub(super) fn history(
    known: &mut Known,
    workspace: WorkspaceId,
    deal: DealId,
    by: ChangedBy,
    changes: Vec<FieldChange>,
) {
    known.new_history.push(NewHistory {
        workspace,
        deal,
        by,
        changes,
    });
}
