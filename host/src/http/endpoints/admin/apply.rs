//! `POST /admin/v1/apply?dryRun=&part=`: applies a workspace file, sent as JSON. 422 lists every
//! problem, and then nothing is changed.

use std::sync::Arc;

use hyper::StatusCode;
use serde_json::{Value, json};

use super::request::{flag, read_json};
use crate::admin_api::apply::{
    ApplyReport, ChangeView, ChangedConnectionView, FileProblem, NewKey, RefusedFile,
};
use crate::domain::audit_text;
use crate::domain::exchange::InputProblem;
use crate::domain::workspace::PartKind;
use crate::http::body::UnreadBody;
use crate::http::call::Call;
use crate::http::error::{ApiError, UnprocessableDetails};
use crate::http::reply::{self, ApiResponse};
use crate::limits;
use crate::pipeline;
use crate::pipeline::apply::{
    ApplyError, ApplyOutcome, ChangedConnection, ChangedValue, FileExtent, MadeKey,
};
use crate::store::AppliedChange;

/// Applies a workspace file, or reports in a dry run what it would change.
///
/// # Errors
///
/// [`ApiError::BadRequest`] if a parameter is invalid or the body is not JSON,
/// [`ApiError::Unprocessable`] with all problems of the file, [`ApiError::Conflict`] if a stored secret
/// that the apply needs cannot be decrypted, and [`ApiError::Store`] if the store fails.
pub async fn apply(call: &Call<'_>, body: UnreadBody) -> Result<ApiResponse, ApiError> {
    let dry_run = flag(call, "dryRun")?;
    let extent = match flag(call, "part")? {
        true => FileExtent::Part,
        false => FileExtent::Whole,
    };
    let file: Value = read_json(call, body).await?;
    let http = Arc::clone(call.http);
    // Runs to its end even if the operator hangs up: keys are made after the commit.
    let applied = call
        .http
        .core
        .spawn(async move { pipeline::apply::apply(&http.pipeline, &file, extent, dry_run).await });
    let report = applied
        .await
        .map_err(ApiError::internal)?
        .map_err(refused)?;
    let before_and_after = changed_values(&report.changed_connections);
    let report = to_view(report);
    call.audit(audited(&report));
    call.audit(json!({ "changedConnections": before_and_after }));
    reply::json(StatusCode::OK, &report)
}

/// Returns what the audit shows of an apply. Owners are persons, and products are many: only their
/// numbers are shown.
fn audited(report: &ApplyReport) -> Value {
    let count = |kind: PartKind| {
        let changes = report.changes.iter();
        changes.filter(|change| change.kind == kind).count()
    };
    let named = report.changes.iter();
    let named = named.filter(|one| !matches!(one.kind, PartKind::Owner | PartKind::Product));
    let keys = report.keys.iter();
    let keys = keys.map(|key| json!({ "kind": key.kind, "label": key.label }));
    json!({
        "workspace": report.workspace,
        "dryRun": report.dry_run,
        "changes": named.collect::<Vec<_>>(),
        "owners": count(PartKind::Owner),
        "products": count(PartKind::Product),
        "keys": keys.collect::<Value>(),
    })
}

/// Returns what the audit shows of the connections that differ: the versions of their configurations, and
/// the values before and after that are neither secrets nor may be a person.
fn changed_values(changed: &[ChangedConnection]) -> Value {
    let connections = changed.iter().enumerate().map(|(index, one)| {
        let most = match index < limits::AUDITED_CONNECTIONS {
            true => limits::AUDITED_VALUES,
            false => 0,
        };
        let values = one.values.iter().take(most);
        let values = values.map(
            |ChangedValue {
                 path,
                 before,
                 after,
             }| {
                let hidden = is_secret_place(path);
                let shown = |value: Option<&Value>| match value.is_some() && hidden {
                    true => json!("…"),
                    false => audit_text::value(value),
                };
                json!({
                    "path": audit_text::place(path),
                    "before": shown(before.as_ref()),
                    "after": shown(after.as_ref()),
                })
            },
        );
        json!({
            "kind": one.kind,
            "name": one.name,
            "fields": one.fields,
            "removedSecrets": one.removed_secrets,
            "configVersion": { "before": one.version, "after": one.new_version },
            "values": values.collect::<Value>(),
            "moreValues": one.values.len().saturating_sub(most),
        })
    });
    connections.collect()
}

/// Returns whether a place in a configuration sounds like that of a secret, which a user may have put
/// there instead of among the secrets.
fn is_secret_place(path: &str) -> bool {
    let path = path.to_ascii_lowercase();
    let is_configured = path.starts_with("config.");
    let words = ["secret", "token", "passw", "senha", "key", "auth"];
    is_configured && words.iter().any(|word| path.contains(word))
}

fn to_view(report: ApplyOutcome) -> ApplyReport {
    let ApplyOutcome {
        dry_run,
        workspace,
        workspace_id,
        changes,
        changed_connections,
        connections,
        instances,
        channels,
        partners,
        keys,
        generated,
        generated_of_instances,
        warnings,
    } = report;
    ApplyReport {
        dry_run,
        workspace,
        workspace_id,
        changes: changes.into_iter().map(Into::into).collect(),
        changed_connections: changed_connections.into_iter().map(Into::into).collect(),
        connections,
        instances,
        channels,
        partners,
        keys: keys.into_iter().map(Into::into).collect(),
        generated,
        generated_of_instances,
        warnings: warnings.into_iter().map(Into::into).collect(),
    }
}

impl From<AppliedChange> for ChangeView {
    fn from(change: AppliedChange) -> Self {
        let AppliedChange { kind, name, what } = change;
        Self { kind, name, what }
    }
}

impl From<ChangedConnection> for ChangedConnectionView {
    fn from(changed: ChangedConnection) -> Self {
        let ChangedConnection {
            kind,
            name,
            fields,
            removed_secrets,
            version: _,
            new_version: _,
            values: _,
        } = changed;
        Self {
            kind,
            name,
            fields: fields.into_iter().map(str::to_owned).collect(),
            removed_secrets,
        }
    }
}

impl From<MadeKey> for NewKey {
    fn from(made: MadeKey) -> Self {
        let MadeKey {
            kind,
            label,
            partner,
            key,
        } = made;
        Self {
            kind,
            label,
            partner,
            key,
        }
    }
}

impl From<InputProblem> for FileProblem {
    fn from(problem: InputProblem) -> Self {
        let InputProblem { message, path } = problem;
        Self {
            path: (!path.is_empty()).then_some(path),
            message,
        }
    }
}

/// Returns the error for declarations that were not applied.
pub fn refused(error: ApplyError) -> ApiError {
    let message = error.to_string();
    match error {
        ApplyError::Problems(problems) => ApiError::Unprocessable {
            message,
            details: Some(UnprocessableDetails::File(RefusedFile {
                problems: problems.into_iter().map(Into::into).collect(),
            })),
        },
        ApplyError::Sealed { .. } => ApiError::conflict(message),
        ApplyError::Store(error) => error.into(),
    }
}
