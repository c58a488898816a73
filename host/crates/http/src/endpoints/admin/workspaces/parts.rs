//! `GET` and `PUT /admin/v1/workspaces/{id}/owners` and `/agents`. A PUT takes a list and
//! creates or changes the entries that it names: owners by their e-mail addresses, agents by
//! their names. Other entries stay. `?dryRun=true` only reports the changes. 422 lists every
//! problem, and then nothing is changed.

use crate::endpoints::admin::apply::change_view;
use crate::endpoints::admin::prelude::*;

use super::find;
use crate::endpoints::admin::apply;
use leadhost_admin_api::workspaces::{
    AgentRequest, AgentView, Agents, OwnerRequest, OwnerView, Owners, PartApplied,
};
use leadhost_domain::workspace::{Agent, ChangeKind, Owner};
use leadhost_pipeline::apply::{DeclarationPart, apply_part};

describe!(owners, |operation| operation
    .summary("Lists the people who own deals and answer tickets")
    .answers::<Owners>(200, "The owners.")
    .refuses(&[404]));
pub async fn owners(call: &Call<'_>, which: &str) -> ApiResult {
    let store = &call.http.core.store;
    let workspace = find(store, which).await?;
    let owners = store.owners(workspace.id).await?;
    reply::ok(&Owners {
        workspace: workspace.slug,
        owners: owners.into_iter().map(owner).collect(),
    })
}

describe!(agents, |operation| operation
    .summary("Lists the agents of a workspace")
    .answers::<Agents>(200, "The agents.")
    .refuses(&[404]));
pub async fn agents(call: &Call<'_>, which: &str) -> ApiResult {
    let store = &call.http.core.store;
    let workspace = find(store, which).await?;
    let agents = store.agents(workspace.id).await?;
    reply::ok(&Agents {
        workspace: workspace.slug,
        agents: agents.into_iter().map(agent).collect(),
    })
}

describe!(put_owners, |operation| {
    let operation = operation.summary("Creates or renames owners").describe(
        "The e-mail address identifies an owner. Owners that the list does not name stay.",
    );
    applied::<OwnerRequest>(
        operation,
        "owner",
        json!([{"email": "nilda@example.com", "name": "Nilda Prado"}]),
    )
});
pub async fn put_owners(call: &Call<'_>, which: &str, body: UnreadBody) -> ApiResult {
    put(call, which, DeclarationPart::Owners, body).await
}

describe!(put_agents, |operation| {
    let operation = operation
        .summary("Creates or changes agents")
        .describe("The name identifies an agent. Agents that the list does not name stay. An agent keeps the channel and the adapter that the workspace file gave it.");
    applied::<AgentRequest>(
        operation,
        "agent",
        json!([{"name": "Rui", "kind": "human", "internal": true}]),
    )
});
pub async fn put_agents(call: &Call<'_>, which: &str, body: UnreadBody) -> ApiResult {
    put(call, which, DeclarationPart::Agents, body).await
}

fn applied<'s, T: ToSchema>(
    mut operation: Operation<'s>,
    kind: &str,
    example: Value,
) -> Operation<'s> {
    let list = json!({"type": "array", "items": operation.request::<T>()});
    operation
    .flag("dryRun", "Only reports the changes.")
    .takes_schema(&list, &[("one", &format!("One {kind}"), example)])
    .answers::<PartApplied>(200, "The changes that were made, or would be made in a dry run.")
    .refuses(&[404])
    .refuses_with(422, "The list has problems, and nothing was changed. `problems` has all of them, each with `path`, null for the whole list, and `message`.", &[(
        "problem",
        "A name is missing",
        json!({
            "code": "file_refused",
            "error": format!("nothing was applied, because of a problem: {kind}s[0].name: is missing: expected a text"),
            "problems": [{"path": format!("{kind}s[0].name"), "message": "is missing: expected a text"}],
        }),
    )])
}

async fn put(call: &Call<'_>, which: &str, part: DeclarationPart, body: UnreadBody) -> ApiResult {
    let dry_run = flag(call, "dryRun")?;
    let workspace = find(&call.http.core.store, which).await?;
    call.audit(json!({ "workspace": workspace.slug, "dryRun": dry_run }));
    let wanted: Value = read_json(call, body).await?;
    let slug = workspace.slug.clone();
    // Runs to its end even if the operator hangs up: the other hosts are notified after the
    // commit.
    let applied = call.to_end(|http| async move {
        apply_part(&http.pipeline, &workspace, part, &wanted, dry_run).await
    });
    let changes = applied.await?.map_err(apply::refused)?;
    let answer = PartApplied {
        workspace: slug,
        dry_run,
        changes: changes.into_iter().map(change_view).collect(),
    };
    call.audit(audited(&answer));
    reply::ok(&answer)
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
    view! { AgentView from agent: id, name, number, kind, channel, adapter, internal }
}
