//! `GET` and `PUT /admin/v1/workspaces/{id}/owners` and `/agents`. A PUT takes a list and
//! creates or changes the entries that it names: owners by their e-mail addresses, agents by
//! their names. Other entries stay. `?dryRun=true` only reports the changes. 422 lists every
//! problem, and then nothing is changed.

use crate::endpoints::admin::apply::change_view;
use std::sync::Arc;

use hyper::StatusCode;
use serde_json::{Value, json};

use super::find;
use crate::body::UnreadBody;
use crate::call::Call;
use crate::endpoints::admin::{
    apply,
    request::{flag, read_json},
};
use crate::error::ApiError;
use crate::reply::{self, ApiResponse};
use leadhost_admin_api::workspaces::{AgentView, Agents, OwnerView, Owners, PartApplied};
use leadhost_domain::workspace::{Agent, ChangeKind, Owner};
use leadhost_pipeline::apply::{DeclarationPart, apply_part};

/// Returns the owners or agents of a workspace.
pub async fn get(
    call: &Call<'_>,
    which: &str,
    part: DeclarationPart,
) -> Result<ApiResponse, ApiError> {
    let store = &call.http.core.store;
    let workspace = find(store, which).await?;
    match part {
        DeclarationPart::Owners => {
            let owners = store.owners(workspace.id).await?;
            let answer = Owners {
                workspace: workspace.slug,
                owners: owners.into_iter().map(owner).collect(),
            };
            reply::json(StatusCode::OK, &answer)
        }
        DeclarationPart::Agents => {
            let agents = store.agents(workspace.id).await?;
            let answer = Agents {
                workspace: workspace.slug,
                agents: agents.into_iter().map(agent).collect(),
            };
            reply::json(StatusCode::OK, &answer)
        }
    }
}

/// Applies a list of owners or agents, or reports in a dry run what it would change.
pub async fn put(
    call: &Call<'_>,
    which: &str,
    part: DeclarationPart,
    body: UnreadBody,
) -> Result<ApiResponse, ApiError> {
    let dry_run = flag(call, "dryRun")?;
    let workspace = find(&call.http.core.store, which).await?;
    call.audit(json!({ "workspace": workspace.slug, "dryRun": dry_run }));
    let wanted: Value = read_json(call, body).await?;
    let slug = workspace.slug.clone();
    let http = Arc::clone(call.http);
    // Runs to its end even if the operator hangs up: the other hosts are notified after the
    // commit.
    let applied = call
        .http
        .core
        .spawn(async move { apply_part(&http.pipeline, &workspace, part, &wanted, dry_run).await });
    let changes = applied
        .await
        .map_err(ApiError::internal)?
        .map_err(apply::refused)?;
    let answer = PartApplied {
        workspace: slug,
        dry_run,
        changes: changes.into_iter().map(change_view).collect(),
    };
    call.audit(audited(&answer));
    reply::json(StatusCode::OK, &answer)
}

/// Returns what the audit shows of the changes. Owners and agents may be persons: only their numbers
/// are shown.
fn audited(answer: &PartApplied) -> Value {
    let count = |what: ChangeKind| {
        let changes = answer.changes.iter();
        changes.filter(|change| change.what == what).count()
    };
    json!({
        "created": count(ChangeKind::Created),
        "changed": count(ChangeKind::Changed),
    })
}

fn owner(owner: Owner) -> OwnerView {
    OwnerView {
        id: owner.id,
        name: owner.name,
        email: owner.email,
    }
}

fn agent(agent: Agent) -> AgentView {
    AgentView {
        id: agent.id,
        name: agent.name,
        number: agent.number,
        kind: agent.kind,
        channel: agent.channel,
        adapter: agent.adapter,
        internal: agent.internal,
    }
}
