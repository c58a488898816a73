//! Applies a declared workspace: creates and changes what the plan names, removes nothing, and
//! returns only the differences.

pub mod resolved;
mod statements;

use self::resolved::ResolvedConnection;
use self::statements::Declare;
pub use self::statements::SQL;
use crate::operations::prelude::*;
use crate::plan::RowEffect;
use crate::sqlite::threads::End;
use crate::{Applied, AppliedChange, Plan, PlannedAgent, PlannedConnection, PlannedOwner};
use leadhost_domain::connection::ConnectionKind;
use leadhost_domain::workspace::{ChangeKind, PartKind};

#[leadhost_boxed::boxed]
impl Store {
    /// Brings the workspace in line with its declaration: creates and changes what the plan names,
    /// and removes nothing. Runs in one transaction. With `dry_run` it is rolled back at the end,
    /// so the answer shows what would change.
    pub async fn apply(
        &self,
        plan: &Plan,
        now: Micros,
        dry_run: bool,
    ) -> Result<Applied, StoreError> {
        let plan = plan.clone();
        steps!(self.database.write_or_undo(Exempt), |tx| {
            let applied = in_transaction(tx, &plan, now).await?;
            let end = if dry_run { End::Undo } else { End::Commit };
            Ok((applied, end))
        })
        .await
    }
}

async fn in_transaction(tx: &mut Tx, plan: &Plan, now: Micros) -> Result<Applied, StoreError> {
    statements::alone(tx).await?;
    let mut changes = PlanChanges(Vec::new());
    let workspace = workspace(tx, plan, now, &mut changes).await?;
    let statements = &mut Declare::enter(tx, workspace).await?;
    let mut partners = BTreeMap::new();
    for name in &plan.partners {
        let id = partner(statements, name, now, &mut changes).await?;
        partners.insert(name.clone(), id);
    }
    let mut instances = BTreeMap::new();
    for planned in &plan.agents {
        let id = agent(statements, planned, &mut changes).await?;
        instances.insert(planned.name.clone(), id);
    }
    for planned in &plan.owners {
        owner(statements, planned, now, &mut changes).await?;
    }
    for (name, effect) in statements.products(&plan.products, now).await? {
        changes.note(PartKind::Product, name, effect);
    }
    let mut connections = BTreeMap::new();
    let mut channels = BTreeMap::new();
    for planned in &plan.connections {
        // A partner or an agent from an earlier plan may be named too.
        let partner = match &planned.partner {
            None => None,
            Some(name) => Some(match partners.get(name) {
                Some(id) => *id,
                None => statements
                    .partner(name)
                    .await?
                    .ok_or_else(|| unknown(planned, "partner", name))?,
            }),
        };
        let agent = match &planned.agent {
            None => None,
            Some(name) => Some(match instances.get(name) {
                Some(id) => *id,
                None => {
                    let known = statements.agent(name).await?;
                    let id = known.ok_or_else(|| unknown(planned, "agent", name))?;
                    instances.insert(name.clone(), id);
                    id
                }
            }),
        };
        let wanted = ResolvedConnection {
            planned,
            partner,
            agent,
            region: planned.region.as_ref().unwrap_or(&plan.region),
            time_zone: planned.time_zone.as_ref().unwrap_or(&plan.time_zone),
        };
        let id = connection(statements, &wanted, &mut changes).await?;
        match planned.kind {
            ConnectionKind::Source => connections.insert(planned.name.clone(), id),
            ConnectionKind::Channel => channels.insert(planned.name.clone(), id),
        };
    }
    Ok(Applied {
        workspace_id: workspace,
        changes: changes.0,
        connections,
        channels,
        instances,
        partners,
    })
}

struct PlanChanges(Vec<AppliedChange>);

impl PlanChanges {
    fn note(&mut self, kind: PartKind, name: &str, effect: RowEffect) {
        let what = match effect {
            RowEffect::Created => ChangeKind::Created,
            RowEffect::Changed => ChangeKind::Changed,
            RowEffect::Kept => return,
        };
        self.0.push(AppliedChange {
            kind,
            name: name.to_owned(),
            what,
        });
    }
}

async fn workspace(
    tx: &mut Tx,
    plan: &Plan,
    now: Micros,
    changes: &mut PlanChanges,
) -> Result<WorkspaceId, StoreError> {
    if let Some(id) = statements::workspace(tx, &plan.slug).await? {
        // It was created meanwhile: the secrets are sealed for one that does not exist.
        let has_secrets = plan.connections.iter().any(|one| !one.sealed.is_empty());
        if id != plan.workspace && has_secrets {
            return Err(StoreError::Outdated);
        }
        if plan.is_part {
            return Ok(id);
        }
        let rows = statements::change_workspace(tx, id, plan).await?;
        changes.note(PartKind::Workspace, &plan.slug, RowEffect::changed(rows));
        return Ok(id);
    }
    if plan.is_part {
        return Err(StoreError::Refused(format!(
            "Workspace `{}` does not exist, and a part of a workspace cannot create it. Apply the whole workspace first.",
            plan.slug
        )));
    }
    let id = plan.workspace;
    statements::new_workspace(tx, id, plan, now).await?;
    changes.note(PartKind::Workspace, &plan.slug, RowEffect::Created);
    Ok(id)
}

async fn partner(
    statements: &mut Declare<'_>,
    name: &str,
    now: Micros,
    changes: &mut PlanChanges,
) -> Result<PartnerId, StoreError> {
    if let Some(id) = statements.partner(name).await? {
        return Ok(id);
    }
    let id = PartnerId::new(now);
    statements.new_partner(id, name, now).await?;
    changes.note(PartKind::Partner, name, RowEffect::Created);
    Ok(id)
}

async fn agent(
    statements: &mut Declare<'_>,
    planned: &PlannedAgent,
    changes: &mut PlanChanges,
) -> Result<AgentId, StoreError> {
    if let Some(id) = statements.agent(&planned.name).await? {
        let rows = statements.change_agent(id, planned).await?;
        changes.note(PartKind::Agent, &planned.name, RowEffect::changed(rows));
        return Ok(id);
    }
    let id = statements.new_agent(planned).await?;
    changes.note(PartKind::Agent, &planned.name, RowEffect::Created);
    Ok(id)
}

async fn owner(
    statements: &mut Declare<'_>,
    planned: &PlannedOwner,
    now: Micros,
    changes: &mut PlanChanges,
) -> Result<(), StoreError> {
    if let Some(id) = statements.owner(&planned.email).await? {
        let rows = statements.change_owner(id, planned).await?;
        changes.note(PartKind::Owner, &planned.email, RowEffect::changed(rows));
        return Ok(());
    }
    statements.new_owner(OwnerId::new(now), planned).await?;
    changes.note(PartKind::Owner, &planned.email, RowEffect::Created);
    Ok(())
}

async fn connection(
    statements: &mut Declare<'_>,
    wanted: &ResolvedConnection<'_>,
    changes: &mut PlanChanges,
) -> Result<ConnectionId, StoreError> {
    let planned = wanted.planned;
    let name = &planned.name;
    let kind = match planned.kind {
        ConnectionKind::Source => PartKind::Connection,
        ConnectionKind::Channel => PartKind::Channel,
    };
    if let Some((id, version)) = statements.connection(planned.kind, name).await? {
        if planned.based_on.is_some_and(|based_on| based_on != version) {
            return Err(StoreError::Outdated);
        }
        let rows = statements.change_connection(&id, wanted).await?;
        changes.note(kind, name, RowEffect::changed(rows));
        return Ok(id);
    }
    let id = ConnectionId::generate();
    statements.new_connection(&id, wanted).await?;
    changes.note(kind, name, RowEffect::Created);
    Ok(id)
}

fn unknown(planned: &PlannedConnection, kind: &str, name: &str) -> StoreError {
    StoreError::Refused(format!(
        "Connection `{}` names the {kind} `{name}`, which the workspace does not have. Declare the {kind} too.",
        planned.name
    ))
}
