//! Whether the version that a rollback would activate is one that was itself rolled back: a second
//! rollback would bring a wrong version back. The audit has every rollback, by operators and by guards.

use serde_json::Value;

use super::DeployError;
use super::concerns::{AcceptedWords, Concern};
use crate::domain::accept::AcceptWord;
use crate::domain::audit::{ActOutcome, AuditRow};
use crate::domain::plugin::Digest;
use crate::limits;
use crate::pipeline::state::Pipeline;
use crate::pipeline::versions::activation;
use crate::store::{AuditFilter, StoreError};

const ROLL_BACK: &str = "roll-back-plugin";

/// The acts after which a version is no longer the active one.
const ACTS: [&str; 5] = [
    ROLL_BACK,
    "activate-plugin",
    "upload-plugin",
    "roll-back-rollout",
    "end-rollout",
];

/// Refuses a rollback to a version that was rolled back, unless that is accepted.
///
/// # Errors
///
/// [`DeployError::Refused`], and [`DeployError::Store`] if the store cannot be read.
pub async fn check_rollback(
    pipeline: &Pipeline,
    name: &str,
    accept: &AcceptedWords,
) -> Result<(), DeployError> {
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
        row.at.text()
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
async fn last_left(pipeline: &Pipeline, version: &Digest) -> Result<Option<AuditRow>, StoreError> {
    let mut last: Option<AuditRow> = None;
    for act in ACTS {
        let filter = AuditFilter {
            act: Some(act.to_owned()),
            limit: limits::ROLLBACKS_LOOKED_AT,
            ..AuditFilter::default()
        };
        let rows = pipeline.core.store.audit(&filter).await?;
        let of_version = |row: &AuditRow| {
            row.outcome == ActOutcome::Done && ended(row).is_some_and(|digest| digest == version.0)
        };
        let newest = rows
            .into_iter()
            .filter(of_version)
            .max_by_key(|row| row.number);
        last = last.into_iter().chain(newest).max_by_key(|row| row.number);
    }
    Ok(last.filter(is_rollback))
}

/// Returns the version that the act made inactive.
fn ended(row: &AuditRow) -> Option<String> {
    let detail: Value = serde_json::from_str(&row.detail).ok()?;
    let key = match row.act.as_str() {
        "roll-back-rollout" | "end-rollout" => "candidate",
        _ => "previous",
    };
    detail[key].as_str().map(str::to_owned)
}

/// Returns whether the version was left because it was wrong. The way back from a version that was
/// restored on purpose needs no second acceptance.
fn is_rollback(row: &AuditRow) -> bool {
    let detail: Value = serde_json::from_str(&row.detail).unwrap_or_default();
    let restored = detail["accept"].as_array().is_some_and(|words| {
        words
            .iter()
            .any(|word| word == AcceptWord::RolledBack.as_str())
    });
    match row.act.as_str() {
        ROLL_BACK => !restored,
        "roll-back-rollout" => true,
        "end-rollout" => detail["stage"] == "aborted",
        _ => false,
    }
}

fn actor(row: &AuditRow) -> String {
    match row.key_id {
        Some(_) => format!("`{}`", row.label),
        None => "the service".to_owned(),
    }
}
