use crate::endpoints::admin::prelude::*;
use crate::error::UnprocessableDetails;
use leadhost_admin_api::apply::{
    ApplyReport, ChangeView, ChangedConnectionView, FileProblem, NewKey, RefusedFile,
};
use leadhost_domain::audit_text;
use leadhost_domain::exchange::InputProblem;
use leadhost_domain::workspace::PartKind;
use leadhost_domain::zone;
use leadhost_pipeline as pipeline;
use leadhost_pipeline::apply::{
    ApplyError, ApplyOutcome, ChangedConnection, ChangedValue, DEFAULT_RATE_LIMIT, DEFAULT_REGION,
    FileExtent, MadeKey, RATE_LIMIT_MOST,
};
use leadhost_store::AppliedChange;

describe!(apply, |operation| {
    operation
        .id("applyWorkspace")
        .summary("Makes a workspace match its declaration")
        .describe("Entries of the declaration are created or changed, by name. Entries that it leaves out stay. \
             Applying the same declaration again changes nothing.")
        .flag("dryRun", "Whether to report what would change, and to change nothing.")
        .flag("part", "Whether the declaration only adds to the workspace: then no warning names the connections and \
             instances that it leaves out.")
        .takes_written("WorkspaceFile", file(), &[("small", "A workspace with one source", declared())])
        .answers::<ApplyReport>(200, "The workspace is as declared, or would be.")
        .refuses_with(409, "A generated secret of a connection must be kept, and its seal cannot be opened.", &[])
        .refuses_with(422, "The declaration has problems. `problems` lists all of them, each with its `path` and `message`. Nothing was changed.", &[(
            "plugin",
            "A problem of one field",
            json!({
                "code": "file_refused", "error": "nothing was applied, because of a problem: workspace.slug: `A B`: expected lower-case letters, digits and hyphens, at most 64",
                "problems": [{
                    "path": "workspace.slug",
                    "message": "`A B`: expected lower-case letters, digits and hyphens, at most 64",
                }],
            }),
        )])
});
pub async fn apply(call: &Call<'_>, body: UnreadBody) -> ApiResult {
    let dry_run = flag(call, "dryRun")?;
    let extent = if flag(call, "part")? {
        FileExtent::Part
    } else {
        FileExtent::Whole
    };
    let file: Value = read_json(call, body).await?;
    // Runs to its end even if the operator hangs up: keys are made after the commit.
    let applied = call.to_end(|http| async move {
        pipeline::apply::apply(&http.pipeline, &file, extent, dry_run).await
    });
    let report = applied.await?.map_err(refused)?;
    let before_and_after = changed_values(&report.changed_connections);
    let report = to_view(report);
    call.audit(audited(&report));
    call.audit(json!({ "changedConnections": before_and_after }));
    reply::ok(&report)
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
        let most = if index < limits::AUDITED_CONNECTIONS {
            limits::AUDITED_VALUES
        } else {
            0
        };
        let values = one.values.iter().take(most);
        let values = values.map(
            |ChangedValue {
                 path,
                 before,
                 after,
             }| {
                let hidden = is_secret_place(path);
                let shown = |value: Option<&Value>| {
                    if value.is_some() && hidden {
                        json!("…")
                    } else {
                        audit_text::value(value)
                    }
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

/// Returns whether a place in a configuration sounds like a secret's, which a user may have put there instead
/// of among the secrets.
fn is_secret_place(path: &str) -> bool {
    let path = path.to_ascii_lowercase();
    let is_configured = path.starts_with("config.");
    let words = ["secret", "token", "passw", "senha", "key", "auth"];
    is_configured && words.iter().any(|word| path.contains(word))
}

fn to_view(report: ApplyOutcome) -> ApplyReport {
    view! { ApplyReport of ApplyOutcome [changes, changed_connections, keys, warnings]
        from report: dry_run, workspace, workspace_id, connections, instances,
        channels, partners, generated, generated_of_instances;
        changes: changes.into_iter().map(change_view).collect(),
        changed_connections: changed_connections.into_iter().map(changed_connection_view).collect(),
        keys: keys.into_iter().map(new_key).collect(),
        warnings: warnings.into_iter().map(file_problem).collect()
    }
}

pub fn change_view(change: AppliedChange) -> ChangeView {
    view! { ChangeView of AppliedChange [] from change: kind, name, what }
}

fn changed_connection_view(changed: ChangedConnection) -> ChangedConnectionView {
    view! { ChangedConnectionView of ChangedConnection
        [fields, version: _, new_version: _, values: _] from changed: kind, name, removed_secrets;
        fields: fields.into_iter().map(str::to_owned).collect()
    }
}

pub fn new_key(made: MadeKey) -> NewKey {
    view! { NewKey of MadeKey [] from made: kind, label, partner, key }
}

pub fn file_problem(problem: InputProblem) -> FileProblem {
    let InputProblem { message, path } = problem;
    FileProblem {
        path: (!path.is_empty()).then_some(path),
        message,
    }
}

pub fn refused(error: ApplyError) -> ApiError {
    let message = error.to_string();
    match error {
        ApplyError::Problems(problems) => ApiError::Unprocessable {
            message,
            details: Some(UnprocessableDetails::File(RefusedFile {
                problems: problems.into_iter().map(file_problem).collect(),
            })),
        },
        ApplyError::Sealed { .. } => ApiError::conflict(message),
        ApplyError::Store(error) => error.into(),
    }
}

/// The lists of a workspace file. Their entries are described for operators, with the file.
fn file() -> Value {
    let entries = |description: &str| {
        json!({
            "type": "array",
            "items": {"type": "object"},
            "description": description,
        })
    };
    json!({
        "type": "object",
        "description": "A workspace file as JSON. Its tables are objects, and its arrays of tables are arrays of objects. A secret is the value, or `{\"generate\": \"prefix\"}` for a value that the service generates once.",
        "required": ["workspace"],
        "additionalProperties": false,
        "properties": {
            "workspace": {
                "type": "object",
                "required": ["slug", "name"],
                "additionalProperties": false,
                "properties": {
                    "slug": {"type": "string", "description": "Its permanent name in commands: lower-case letters, digits and hyphens, at most 64."},
                    "name": {"type": "string"},
                    "region": {"type": "string", "default": DEFAULT_REGION, "description": "ISO 3166 alpha-2: the region of phone numbers without a country code."},
                    "time_zone": {"type": "string", "default": zone::DEFAULT, "description": "A name of the IANA database."},
                    "rate_limit": {"type": "integer", "minimum": 1, "maximum": RATE_LIMIT_MOST, "default": DEFAULT_RATE_LIMIT, "description": "Requests per minute on the data API."},
                    "language": {"type": "string", "description": "The language of a template that exists in several, if a request names none."},
                },
            },
            "partners": entries("The systems that call the gateway."),
            "instances": entries("Messaging bots, with the channels of those that have an adapter."),
            "owners": entries("The people who own deals and take tickets, by e-mail address."),
            "connections": entries("Sources of leads, each with its partner and its converter."),
            "products": entries("Products by external id."),
            "keys": entries("Keys that the workspace should have, by kind and label."),
        },
    })
}

fn declared() -> Value {
    json!({
        "workspace": {"slug": "acme", "name": "Acme Homes"},
        "partners": [{"name": "crm"}],
        "instances": [{"name": "assistant"}],
        "connections": [{
            "name": "portal",
            "partner": "crm",
            "instance": "assistant",
            "plugin": "portal",
            "secrets": {"token": {"generate": ""}},
        }],
        "keys": [{"kind": "workspace", "label": "export"}],
    })
}
