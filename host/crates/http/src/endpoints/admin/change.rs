use crate::endpoints::admin::apply::file_problem;
use crate::endpoints::admin::prelude::*;

use super::{apply, connections, instances};
use leadhost_admin_api::connections::{ChangeRequest, Changed};
use leadhost_domain::audit::{ActOutcome, AuditRow, OperatorAct};
use leadhost_domain::connection::{Connection, ConnectionKind};
use leadhost_pipeline as pipeline;
use leadhost_pipeline::apply::{ApplyError, ConnectionChange};
use leadhost_store::AuditFilter;

describe!(connection, |operation| describe_change(
    operation.summary("Changes the configuration or the secrets of a connection"),
    "connection"
));
pub async fn connection(call: &Call<'_>, which: &str, body: UnreadBody) -> ApiResult {
    let request: ChangeRequest = read_json(call, body).await?;
    let connection = connections::find(&call.http.core.store, which).await?;
    change(call, connection, request).await
}

describe!(instance, |operation| describe_change(
    operation.summary("Changes the configuration or the secrets of an instance with an adapter"),
    "instance"
));
pub async fn instance(call: &Call<'_>, which: &str, body: UnreadBody) -> ApiResult {
    let request: ChangeRequest = read_json(call, body).await?;
    let instance = instances::find(&call.http.core.store, which).await?;
    change(call, instance.channel()?.clone(), request).await
}

async fn change(call: &Call<'_>, known: Connection, request: ChangeRequest) -> ApiResult {
    let workspaces = call.http.core.store.workspaces().await?;
    let workspace = workspaces
        .into_iter()
        .find(|workspace| workspace.id == known.workspace)
        .ok_or_else(|| {
            ApiError::NotFound(
                "The workspace of this connection or instance no longer exists.".to_owned(),
            )
        })?;
    let ChangeRequest {
        version,
        config,
        secrets,
        generate,
    } = request;
    // Never a value: neither of the configuration nor of a secret.
    call.audit(json!({
        "workspace": workspace.slug,
        "connection": known.name,
        "before": { "configVersion": known.config_version },
    }));
    let change = ConnectionChange {
        based_on: version,
        config,
        secrets,
        generate,
    };
    let (at, connection) = (workspace.clone(), known.clone());
    // Runs to its end even if the operator hangs up: the other hosts learn of it after the commit.
    let work = call.to_end(|http| async move {
        pipeline::apply::change(&http.pipeline, &at, &connection, change).await
    });
    let outcome = match work.await? {
        Ok(outcome) => outcome,
        Err(ApplyError::Store(StoreError::Outdated)) => {
            return Err(outdated(call, &workspace, &known).await?);
        }
        Err(error) => return Err(apply::refused(error)),
    };
    call.audit(json!({
        "fields": outcome.fields,
        "secrets": outcome.secrets,
        "after": { "configVersion": outcome.version },
    }));
    reply::ok(&Changed {
        name: known.name,
        workspace: workspace.slug,
        config_version: outcome.version,
        fields: outcome.fields.into_iter().map(str::to_owned).collect(),
        secrets: outcome.secrets,
        generated: outcome.generated,
        warnings: outcome.warnings.into_iter().map(file_problem).collect(),
    })
}

/// Returns the refusal of a change that is based on an earlier version: it names who has changed it since.
async fn outdated(
    call: &Call<'_>,
    workspace: &Workspace,
    known: &Connection,
) -> Result<ApiError, StoreError> {
    let store = &call.http.core.store;
    let newest = store.connection(&known.id).await?;
    let version = newest.map_or(known.config_version, |newest| newest.config_version);
    let who = match last_change(store, workspace, known).await? {
        Some(row) => {
            let at = row.at.text();
            let at = at.get(..19).unwrap_or(&at).replace('T', " ");
            let what = fields_of(&row, workspace, known).unwrap_or_default();
            let what = if what.is_empty() {
                String::new()
            } else {
                format!(" ({})", what.join(", "))
            };
            format!(" `{}` changed it at {at} UTC{what}.", row.label)
        }
        None => String::new(),
    };
    Ok(ApiError::conflict(format!(
        "`{}/{}` was changed since you read it: its configuration has version {version} now.{who} Nothing was changed. Read it again, then repeat your change.",
        workspace.slug, known.name
    )))
}

/// The acts that change a configuration or a secret.
const CHANGES: [&str; 3] = ["apply", "change-connection", "change-instance"];

async fn last_change(
    store: &Store,
    workspace: &Workspace,
    known: &Connection,
) -> Result<Option<AuditRow>, StoreError> {
    let mut newest: Option<AuditRow> = None;
    for act in CHANGES {
        let filter = AuditFilter {
            act: Some(act.to_owned()),
            limit: limits::DELIVERIES_PER_PAGE,
            ..AuditFilter::default()
        };
        let rows = store.audit(&filter).await?;
        let found = rows.into_iter().find(|row| {
            row.outcome == ActOutcome::Done && fields_of(row, workspace, known).is_some()
        });
        if let Some(row) = found
            && newest.as_ref().is_none_or(|one| one.number < row.number)
        {
            newest = Some(row);
        }
    }
    Ok(newest)
}

/// Returns the fields of the connection that an act changed. `None` if it did not change it.
fn fields_of(row: &AuditRow, workspace: &Workspace, known: &Connection) -> Option<Vec<String>> {
    let detail: Value = serde_json::from_str(&row.detail).ok()?;
    if detail["workspace"] != workspace.slug.as_str() || detail["dryRun"] == true {
        return None;
    }
    let kind = match known.kind {
        ConnectionKind::Source => "connection",
        ConnectionKind::Channel => "channel",
    };
    let fields = match row.act.parse().ok()? {
        OperatorAct::Apply => {
            let changed = detail["changedConnections"].as_array()?;
            let is_it = |one: &&Value| one["name"] == known.name.as_str() && one["kind"] == kind;
            &changed.iter().find(is_it)?["fields"]
        }
        OperatorAct::ChangeConnection if known.kind == ConnectionKind::Channel => return None,
        OperatorAct::ChangeInstance if known.kind == ConnectionKind::Source => return None,
        _ if detail["connection"] == known.name.as_str() => &detail["fields"],
        _ => return None,
    };
    let fields = fields.as_array()?.iter();
    Some(
        fields
            .filter_map(|one| one.as_str().map(str::to_owned))
            .collect(),
    )
}

/// Describes what both changes have in common. `what` is changed.
fn describe_change<'s>(operation: Operation<'s>, what: &str) -> Operation<'s> {
    operation
        .describe("The service keeps everything that the request leaves out: other secrets, the allow-list, sender checks, settings and a pause. The result is checked like a workspace file. A later apply of the workspace file sets what the file declares again, so copy the change into it.")
        .takes::<ChangeRequest>(&[
            ("secret", "A new value of a secret", json!({"version": 3, "secrets": {"token": "s3cr3t"}})),
            ("config", "Another configuration", json!({"version": 3, "config": {"fields": {"name": "nome"}}})),
        ])
        .answers::<Changed>(200, "It is changed, and in force.")
        .refuses_with(404, &format!("There is no such {what}."), &[])
        .refuses_with(409, "The name is in several workspaces, the configuration has another version than the request is based on (the text names who changed what), or the secrets that stay cannot be opened.", &[])
        .refuses_with(422, "The change does not fit the plugin. `problems` lists what is wrong, each with its `path` and `message`. Nothing was changed.", &[(
            "config",
            "A value of the configuration",
            json!({
                "code": "file_refused",
                "error": "nothing was applied, because of a problem: config.fields.name: expected a text",
                "problems": [{"path": "config.fields.name", "message": "expected a text"}],
            }),
        )])
}
