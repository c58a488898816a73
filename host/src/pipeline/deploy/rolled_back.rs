//! Whether the version that a rollback would activate is one that was itself rolled back: a second
//! rollback would bring a wrong version back. The audit has every rollback, by operators and by guards.

use serde_json::Value;

use super::concerns::{AcceptedWords, Concern};
use super::{DeployError, no_canary};
use crate::domain::accept::AcceptWord;
use crate::domain::audit::{ActOutcome, AuditRow};
use crate::domain::plugin::Digest;
use crate::limits;
use crate::pipeline::state::Pipeline;
use crate::pipeline::versions::activation;
use crate::store::{AuditFilter, StoreError};

/// Refuses a rollback during a canary, and one to a version that was rolled back unless that is accepted.
///
/// # Errors
///
/// [`DeployError::CanaryOpen`], [`DeployError::Refused`], and [`DeployError::Store`] if the store cannot be read.
pub async fn check_rollback(
    pipeline: &Pipeline,
    name: &str,
    accept: &AcceptedWords,
) -> Result<(), DeployError> {
    // A rollback is refused during a canary, whatever is accepted.
    no_canary(pipeline, name).await?;
    let Some(previous) = activation(pipeline, name)
        .await?
        .and_then(|one| one.previous)
    else {
        return Ok(());
    };
    let Some(row) = last_left(pipeline, &previous).await? else {
        return Ok(());
    };
    let what = format!(
        "it was itself rolled back by {} at {}: a rollback would bring it back",
        actor(&row),
        row.at.to_the_second()
    );
    let concern = Concern::new(AcceptWord::RolledBack, what);
    if accept.has(&concern) {
        return Ok(());
    }
    let record = pipeline.core.store.plugin(&previous).await?;
    let version = record.map(|record| record.description);
    Err(DeployError::Refused {
        name: name.to_owned(),
        version: version.map_or_else(|| previous.short().to_owned(), |one| one.version),
        command: super::ACTIVATE,
        concerns: vec![concern],
        verified: None,
    })
}

/// Returns the rollback by which this version ceased to be active, if the last such act was one.
///
/// # Errors
///
/// [`StoreError`] if the store fails.
pub(super) async fn last_left(
    pipeline: &Pipeline,
    version: &Digest,
) -> Result<Option<AuditRow>, StoreError> {
    let mut filter = AuditFilter {
        limit: limits::ROLLBACK_AUDIT_PAGE,
        ..AuditFilter::default()
    };
    for _ in 0..limits::ROLLBACK_AUDIT_PAGES {
        let rows = pipeline.core.store.audit(&filter).await?;
        filter.before = rows.last().map(|row| row.number);
        let is_last = rows.len() < limits::ROLLBACK_AUDIT_PAGE as usize;
        if let Some((row, as_wrong)) = newest_left(&rows, version) {
            return Ok(as_wrong.then(|| row.clone()));
        }
        if is_last {
            break;
        }
    }
    Ok(None)
}

/// Returns the rollback by which this version ceased to be active, if the last such act among these rows
/// was one. The rows begin with the newest.
pub fn rollback_of<'a>(rows: &'a [AuditRow], version: &Digest) -> Option<&'a AuditRow> {
    let (row, as_wrong) = newest_left(rows, version)?;
    as_wrong.then_some(row)
}

/// Returns the first row whose act made this version inactive, and whether it was wrong.
fn newest_left<'a>(rows: &'a [AuditRow], version: &Digest) -> Option<(&'a AuditRow, bool)> {
    rows.iter().find_map(|row| {
        let left = left(row).filter(|left| left.version == version.0)?;
        Some((row, left.as_wrong))
    })
}

/// A version that an act made inactive.
struct LeftVersion {
    version: String,
    /// It was rolled back. The way back from one that was restored on purpose does not count.
    as_wrong: bool,
}

/// Returns the version that the act of this row made inactive, if it was such an act.
fn left(row: &AuditRow) -> Option<LeftVersion> {
    if row.outcome != ActOutcome::Done {
        return None;
    }
    let (key, as_wrong) = match row.act.as_str() {
        "activate-plugin" | "upload-plugin" => ("previous", false),
        "promote-rollout" => ("stable", false),
        "roll-back-plugin" => ("previous", true),
        "roll-back-rollout" => ("candidate", true),
        // One that the service ended gave way to another version.
        "end-rollout" if row.key_id.is_some() => ("candidate", true),
        _ => return None,
    };
    let detail: Value = serde_json::from_str(&row.detail).ok()?;
    let was_restored = detail["accept"].as_array().is_some_and(|words| {
        words
            .iter()
            .any(|word| word == AcceptWord::RolledBack.as_str())
    });
    Some(LeftVersion {
        version: detail[key].as_str()?.to_owned(),
        as_wrong: as_wrong && !was_restored,
    })
}

fn actor(row: &AuditRow) -> String {
    match row.key_id {
        Some(_) => format!("`{}`", row.label),
        None => "the service".to_owned(),
    }
}
