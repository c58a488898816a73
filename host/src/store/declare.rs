//! A declared workspace becomes so, the same in every store: what is named is made
//! or changed, nothing is removed, and the answer lists only what was not so
//! before. A store gives the statements, within one transaction of its own.

use std::collections::BTreeMap;

use super::{
    Applied, AppliedChange, Plan, PlannedAgent, PlannedConnection, PlannedOwner, PlannedProduct,
    StoreError,
};
use crate::domain::connection::ConnectionKind;
use crate::domain::id::{AgentId, ConnectionId, OwnerId, PartnerId, WorkspaceId};
use crate::domain::time::Micros;

/// What became of a row.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Became {
    Created,
    Changed,
    /// It was so before.
    Kept,
}

impl Became {
    /// After a statement that writes only what differs.
    pub fn changed(rows: u64) -> Self {
        if rows > 0 { Self::Changed } else { Self::Kept }
    }
}

/// A connection of the plan, with what it names found.
pub struct Wanted<'a> {
    pub planned: &'a PlannedConnection,
    /// Of a source.
    pub partner: Option<PartnerId>,
    pub agent: Option<AgentId>,
    /// Its own, or the workspace's.
    pub region: &'a str,
    pub time_zone: &'a str,
}

/// The statements of a store. What finds a row goes by its name; what changes one
/// writes only what differs, and tells how many rows did.
pub trait Statements {
    async fn workspace(&mut self, slug: &str) -> Result<Option<WorkspaceId>, StoreError>;
    async fn new_workspace(
        &mut self,
        id: WorkspaceId,
        plan: &Plan,
        now: Micros,
    ) -> Result<(), StoreError>;
    async fn change_workspace(&mut self, id: WorkspaceId, plan: &Plan) -> Result<u64, StoreError>;

    /// Everything after this is of this workspace.
    async fn enter(&mut self, workspace: WorkspaceId) -> Result<(), StoreError>;

    async fn partner(&mut self, name: &str) -> Result<Option<PartnerId>, StoreError>;
    async fn new_partner(
        &mut self,
        id: PartnerId,
        name: &str,
        now: Micros,
    ) -> Result<(), StoreError>;

    async fn agent(&mut self, name: &str) -> Result<Option<AgentId>, StoreError>;
    /// The store numbers its agents.
    async fn new_agent(&mut self, agent: &PlannedAgent) -> Result<AgentId, StoreError>;
    async fn change_agent(&mut self, id: AgentId, agent: &PlannedAgent) -> Result<u64, StoreError>;

    async fn owner(&mut self, email: &str) -> Result<Option<OwnerId>, StoreError>;
    async fn new_owner(&mut self, id: OwnerId, owner: &PlannedOwner) -> Result<(), StoreError>;
    async fn change_owner(&mut self, id: OwnerId, owner: &PlannedOwner) -> Result<u64, StoreError>;

    /// There may be many thousands: how a store writes them is its own. What became
    /// of each, in the order of the plan.
    async fn products<'a>(
        &mut self,
        planned: &'a [PlannedProduct],
        now: Micros,
    ) -> Result<Vec<(&'a str, Became)>, StoreError>;

    async fn connection(
        &mut self,
        kind: ConnectionKind,
        name: &str,
    ) -> Result<Option<ConnectionId>, StoreError>;
    async fn new_connection(
        &mut self,
        id: &ConnectionId,
        wanted: &Wanted<'_>,
    ) -> Result<(), StoreError>;
    async fn change_connection(
        &mut self,
        id: &ConnectionId,
        wanted: &Wanted<'_>,
    ) -> Result<u64, StoreError>;
}

pub async fn apply(
    statements: &mut impl Statements,
    plan: &Plan,
    now: Micros,
) -> Result<Applied, StoreError> {
    let mut changes = Changes(Vec::new());
    let workspace = workspace(statements, plan, now, &mut changes).await?;
    statements.enter(workspace).await?;
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
    for (name, became) in statements.products(&plan.products, now).await? {
        changes.note("product", name, became);
    }
    let mut connections = BTreeMap::new();
    let mut channels = BTreeMap::new();
    for planned in &plan.connections {
        // One that an earlier plan made is as good as one that this plan names.
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
                None => statements
                    .agent(name)
                    .await?
                    .ok_or_else(|| unknown(planned, "agent", name))?,
            }),
        };
        let wanted = Wanted {
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

struct Changes(Vec<AppliedChange>);

impl Changes {
    fn note(&mut self, kind: &str, name: &str, became: Became) {
        let what = match became {
            Became::Created => "created",
            Became::Changed => "changed",
            Became::Kept => return,
        };
        self.0.push(AppliedChange {
            kind: kind.to_owned(),
            name: name.to_owned(),
            what: what.to_owned(),
        });
    }
}

async fn workspace(
    statements: &mut impl Statements,
    plan: &Plan,
    now: Micros,
    changes: &mut Changes,
) -> Result<WorkspaceId, StoreError> {
    if let Some(id) = statements.workspace(&plan.slug).await? {
        if plan.is_part {
            return Ok(id);
        }
        let rows = statements.change_workspace(id, plan).await?;
        changes.note("workspace", &plan.slug, Became::changed(rows));
        return Ok(id);
    }
    if plan.is_part {
        return Err(StoreError::Refused(format!(
            "there is no workspace `{}` of which this could be a part",
            plan.slug
        )));
    }
    let id = WorkspaceId::new(now);
    statements.new_workspace(id, plan, now).await?;
    changes.note("workspace", &plan.slug, Became::Created);
    Ok(id)
}

async fn partner(
    statements: &mut impl Statements,
    name: &str,
    now: Micros,
    changes: &mut Changes,
) -> Result<PartnerId, StoreError> {
    if let Some(id) = statements.partner(name).await? {
        return Ok(id);
    }
    let id = PartnerId::new(now);
    statements.new_partner(id, name, now).await?;
    changes.note("partner", name, Became::Created);
    Ok(id)
}

async fn agent(
    statements: &mut impl Statements,
    planned: &PlannedAgent,
    changes: &mut Changes,
) -> Result<AgentId, StoreError> {
    if let Some(id) = statements.agent(&planned.name).await? {
        let rows = statements.change_agent(id, planned).await?;
        changes.note("agent", &planned.name, Became::changed(rows));
        return Ok(id);
    }
    let id = statements.new_agent(planned).await?;
    changes.note("agent", &planned.name, Became::Created);
    Ok(id)
}

async fn owner(
    statements: &mut impl Statements,
    planned: &PlannedOwner,
    now: Micros,
    changes: &mut Changes,
) -> Result<(), StoreError> {
    if let Some(id) = statements.owner(&planned.email).await? {
        let rows = statements.change_owner(id, planned).await?;
        changes.note("owner", &planned.email, Became::changed(rows));
        return Ok(());
    }
    statements.new_owner(OwnerId::new(now), planned).await?;
    changes.note("owner", &planned.email, Became::Created);
    Ok(())
}

async fn connection(
    statements: &mut impl Statements,
    wanted: &Wanted<'_>,
    changes: &mut Changes,
) -> Result<ConnectionId, StoreError> {
    let planned = wanted.planned;
    let name = &planned.name;
    let kind = match planned.kind {
        ConnectionKind::Source => "connection",
        ConnectionKind::Channel => "channel",
    };
    if let Some(id) = statements.connection(planned.kind, name).await? {
        let rows = statements.change_connection(&id, wanted).await?;
        changes.note(kind, name, Became::changed(rows));
        return Ok(id);
    }
    let id = ConnectionId::generate();
    statements.new_connection(&id, wanted).await?;
    changes.note(kind, name, Became::Created);
    Ok(id)
}

fn unknown(planned: &PlannedConnection, kind: &str, name: &str) -> StoreError {
    StoreError::Refused(format!(
        "connection `{}` names the {kind} `{name}`, which the workspace does not have: declare it too",
        planned.name
    ))
}
