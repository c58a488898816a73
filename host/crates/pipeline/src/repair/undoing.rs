//! Undoes the changes of a repair, newest first, a few in a commit. Each commit marks its
//! changes, so an undo that was cut off continues with the others. A change with which the store
//! itself fails is left, so that it blocks neither the others nor the end of the undo.

use super::pass::RepairPass;
use crate::prelude::*;
use leadhost_domain::repair::{RepairChange, RepairState, SPLIT};
use leadhost_store::{ConvertedBy, RepairUndo};

/// Attempts for a change with which the store fails, and the time between them.
const ATTEMPTS: u32 = 3;
const AGAIN: Duration = Duration::from_millis(500);

/// The numbers of changes that the reason of an end names.
const NAMED: usize = 10;

/// Undoes the remaining changes of the repair, until none is left or the work of this host on it
/// ends.
pub(super) async fn run(pass: &mut RepairPass<'_>) -> Result<(), StoreError> {
    let mut before = i64::MAX;
    let mut left = Vec::new();
    let version = converted_by(pass).await?;
    loop {
        if !pass.goes_on().await? {
            return Ok(());
        }
        let began = Instant::now();
        let (id, store) = (pass.repair.id, &pass.pipeline.store);
        let changes = store
            .changes_to_undo(id, before, limits::REPAIR_UNDONE_AT_ONCE)
            .await?;
        let last = changes.last().map(|last| last.number);
        let Some(last) = last.filter(|_| left.len() < limits::REPAIR_LEFT) else {
            return match is_left(&left) {
                None => pass.end(RepairState::Undone, None).await,
                why => pass.end(RepairState::Cancelled, why).await,
            };
        };
        before = last;
        let goes_on = match take_back(pass, changes.clone(), version.as_ref()).await {
            // One of them may be at fault: the others are undone.
            Err(error) if !error.is_temporary() => {
                apart(pass, changes, version.as_ref(), &mut left).await?
            }
            taken => taken?,
        };
        if !goes_on {
            return Ok(());
        }
        pass.give_way(began).await;
    }
}

async fn converted_by(pass: &RepairPass<'_>) -> Result<Option<ConvertedBy>, StoreError> {
    let digest = &pass.repair.plan.converted_by;
    let record = pass.pipeline.store.plugin(digest).await?;
    Ok(record.map(|record| ConvertedBy {
        plugin: record.description.name,
        version: record.description.version,
        digest: record.digest,
        contract: record.contract,
    }))
}

/// Undoes changes in one commit. Returns false if another host has taken the repair, or it was
/// ended.
async fn take_back(
    pass: &RepairPass<'_>,
    changes: Vec<RepairChange>,
    version: Option<&ConvertedBy>,
) -> Result<bool, StoreError> {
    let new: Vec<_> = changes.iter().filter_map(new_contact).collect();
    let undo = Write::UndoRepair(Box::new(RepairUndo {
        repair: pass.repair.id,
        generation: pass.repair.generation,
        changes,
        converted_by: version.cloned(),
    }));
    let written = pass.pipeline.writer.submit_background(undo).await?;
    if !matches!(written, WriteOutcome::RepairUndone) {
        return Ok(false);
    }
    for (workspace, new, former) in new {
        // It stays if something has come to belong to it.
        let store = &pass.pipeline.store;
        store.merge_contact(workspace, new, former, None).await?;
    }
    Ok(true)
}

fn new_contact(change: &RepairChange) -> Option<(WorkspaceId, ContactId, ContactId)> {
    let (before, _) = change.values.as_ref().filter(|_| change.field == SPLIT)?;
    let former = before.as_str()?.parse().ok()?;
    Some((change.workspace, ContactId(change.row), former))
}

/// Undoes changes one by one. The numbers of those with which the store fails go to `left`.
/// Returns whether the work of this host goes on.
async fn apart(
    pass: &mut RepairPass<'_>,
    changes: Vec<RepairChange>,
    version: Option<&ConvertedBy>,
    left: &mut Vec<i64>,
) -> Result<bool, StoreError> {
    for change in changes {
        let mut attempt = 1;
        loop {
            if !pass.goes_on().await? {
                return Ok(false);
            }
            match take_back(pass, vec![change.clone()], version).await {
                Ok(true) => break,
                Ok(false) => return Ok(false),
                Err(error) if error.is_temporary() => return Err(error),
                Err(error) if attempt == ATTEMPTS => {
                    tracing::warn!(repair = %pass.repair.id, change = change.number, %error, "change of a repair not undone");
                    left.push(change.number);
                    break;
                }
                Err(_) => attempt += 1,
            }
            pass.wait(AGAIN).await;
        }
    }
    Ok(true)
}

/// Returns why an undo ends before its last change. `None`: no change is left.
fn is_left(left: &[i64]) -> Option<String> {
    if left.is_empty() {
        return None;
    }
    let named: Vec<String> = left.iter().take(NAMED).map(i64::to_string).collect();
    let more = if left.len() > NAMED {
        " and others"
    } else {
        ""
    };
    Some(format!(
        "the store failed with {} of the changes to undo (number {}{more}), which are left: see the log of the service, and undo the repair again after a correction",
        left.len(),
        named.join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_names_the_first_changes_that_are_left() {
        assert_eq!(is_left(&[]), None);
        let two = is_left(&[21, 17]).expect("a reason");
        assert!(two.contains("with 2 of the changes"), "{two}");
        assert!(two.contains("(number 21, 17)"), "{two}");
        let all: Vec<i64> = (1..=100).collect();
        let many = is_left(&all).expect("a reason");
        assert!(many.contains("9, 10 and others)"), "{many}");
    }
}
