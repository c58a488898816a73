//! A declared workspace becomes so: what is named is made or changed, nothing is
//! removed, and the answer lists only what was not so before. One transaction.

use std::collections::BTreeMap;

use sqlx::Row as _;
use sqlx::sqlite::SqliteConnection;

use super::db::Db;
use super::json;
use crate::domain::id::{AgentId, ConnectionId, OwnerId, PartnerId, ProductId, WorkspaceId};
use crate::domain::time::Micros;
use crate::store::row::agents::kind_text;
use crate::store::{
    Applied, AppliedChange, Plan, PlannedAgent, PlannedConnection, PlannedOwner, PlannedProduct,
    StoreError,
};

pub async fn apply(
    db: &Db,
    plan: &Plan,
    now: Micros,
    dry_run: bool,
) -> Result<Applied, StoreError> {
    let mut transaction = db.begin().await?;
    let mut apply = Apply {
        connection: &mut transaction.connection,
        now,
        changes: Vec::new(),
    };
    let workspace = apply.workspace(plan).await?;
    let mut partners = BTreeMap::new();
    for name in &plan.partners {
        partners.insert(name.clone(), apply.partner(workspace, name).await?);
    }
    let mut instances = BTreeMap::new();
    for agent in &plan.agents {
        instances.insert(agent.name.clone(), apply.agent(workspace, agent).await?);
    }
    for owner in &plan.owners {
        apply.owner(workspace, owner).await?;
    }
    for product in &plan.products {
        apply.product(workspace, product).await?;
    }
    let mut connections = BTreeMap::new();
    for connection in &plan.connections {
        // One that an earlier plan made is as good as one that this plan names.
        let partner = match partners.get(&connection.partner) {
            Some(id) => *id,
            None => apply.known_partner(workspace, connection).await?,
        };
        let agent = match &connection.agent {
            None => None,
            Some(name) => Some(match instances.get(name) {
                Some(id) => *id,
                None => apply.known_agent(workspace, connection, name).await?,
            }),
        };
        let id = apply
            .connection(workspace, connection, partner, agent, plan)
            .await?;
        connections.insert(connection.name.clone(), id);
    }
    let changes = apply.changes;
    if dry_run {
        transaction.rollback().await?;
    } else {
        transaction.commit().await?;
    }
    Ok(Applied {
        workspace_id: workspace,
        changes,
        connections,
        instances,
        partners,
    })
}

struct Apply<'a> {
    connection: &'a mut SqliteConnection,
    now: Micros,
    changes: Vec<AppliedChange>,
}

// Each statement below writes only what differs, so that the number of rows
// affected says whether anything did.

const WORKSPACE: &str = "
select id
from workspaces
where slug = ?1";

const NEW_WORKSPACE: &str = "
insert into workspaces (id, slug, name, region, time_zone, rate_limit, created_us)
values (?1, ?2, ?3, ?4, ?5, ?6, ?7)";

const CHANGE_WORKSPACE: &str = "
update workspaces
set name = ?2, region = ?3, time_zone = ?4, rate_limit = ?5
where id = ?1
and (name, region, time_zone, rate_limit) is not (?2, ?3, ?4, ?5)";

const PARTNER: &str = "
select id
from partners
where workspace_id = ?1
and name = ?2";

const NEW_PARTNER: &str = "
insert into partners (workspace_id, id, name, created_us)
values (?1, ?2, ?3, ?4)";

const AGENT: &str = "
select id
from agents
where workspace_id = ?1
and name = ?2";

const NEW_AGENT: &str = "
insert into agents (workspace_id, name, number, kind, channel, adapter, config, internal)
values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
returning id";

const CHANGE_AGENT: &str = "
update agents
set number = ?2, kind = ?3, channel = ?4, adapter = ?5, config = ?6, internal = ?7
where id = ?1
and (number, kind, channel, adapter, config, internal) is not (?2, ?3, ?4, ?5, ?6, ?7)";

const OWNER: &str = "
select id
from owners
where workspace_id = ?1
and email = ?2";

const NEW_OWNER: &str = "
insert into owners (workspace_id, id, name, email)
values (?1, ?2, ?3, ?4)";

const CHANGE_OWNER: &str = "
update owners
set name = ?2
where id = ?1
and name <> ?2";

const PRODUCT: &str = "
select id
from products
where workspace_id = ?1
and external_id = ?2";

const NEW_PRODUCT: &str = "
insert into products (workspace_id, id, external_id, name, description)
values (?1, ?2, ?3, ?4, ?5)";

const CHANGE_PRODUCT: &str = "
update products
set name = ?2, description = ?3
where id = ?1
and (name, description) is not (?2, ?3)";

const CONNECTION: &str = "
select id
from connections
where workspace_id = ?1
and name = ?2";

const NEW_CONNECTION: &str = "
insert into connections (workspace_id, id, partner_id, name, plugin, config, config_version,
  agent_id, allow, checks, routes, secrets, sealed, fingerprint, region, time_zone,
  dedupe_by_content)
values (?1, ?2, ?3, ?4, ?5, ?6, 1, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)";

const CHANGE_CONNECTION: &str = "
update connections
set partner_id = ?2, plugin = ?3, agent_id = ?4, allow = ?5, checks = ?6, routes = ?7, region = ?8,
  time_zone = ?9, dedupe_by_content = ?10
where id = ?1
and (partner_id, plugin, agent_id, allow, checks, routes, region, time_zone, dedupe_by_content)
  is not (?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)";

// Sealing the same secrets twice gives other bytes: the fingerprint tells.
const CHANGE_CONFIGURATION: &str = "
update connections
set config = ?2, secrets = ?3, sealed = ?4, fingerprint = ?5, config_version = config_version + 1
where id = ?1
and fingerprint <> ?5";

impl Apply<'_> {
    fn note(&mut self, kind: &str, name: &str, what: &str) {
        self.changes.push(AppliedChange {
            kind: kind.to_owned(),
            name: name.to_owned(),
            what: what.to_owned(),
        });
    }

    fn note_if_changed(&mut self, kind: &str, name: &str, rows: u64) {
        if rows > 0 {
            self.note(kind, name, "changed");
        }
    }

    /// The id under which a name is known, or `None`.
    async fn find<T>(
        &mut self,
        sql: &'static str,
        scope: &str,
        name: Option<&str>,
    ) -> Result<Option<T>, StoreError>
    where
        T: for<'r> sqlx::Decode<'r, sqlx::Sqlite> + sqlx::Type<sqlx::Sqlite>,
    {
        let query = sqlx::query(sql).bind(scope);
        let query = match name {
            Some(name) => query.bind(name),
            None => query,
        };
        let row = query.fetch_optional(&mut *self.connection).await?;
        Ok(row.map(|row| row.try_get(0)).transpose()?)
    }

    async fn workspace(&mut self, plan: &Plan) -> Result<WorkspaceId, StoreError> {
        if let Some(id) = self.find::<String>(WORKSPACE, &plan.slug, None).await? {
            let changed = sqlx::query(CHANGE_WORKSPACE)
                .bind(&id)
                .bind(&plan.name)
                .bind(&plan.region)
                .bind(&plan.time_zone)
                .bind(i64::from(plan.rate_limit))
                .execute(&mut *self.connection)
                .await?
                .rows_affected();
            self.note_if_changed("workspace", &plan.slug, changed);
            return parse("workspaces", id);
        }
        let id = WorkspaceId::new(self.now);
        sqlx::query(NEW_WORKSPACE)
            .bind(id.to_string())
            .bind(&plan.slug)
            .bind(&plan.name)
            .bind(&plan.region)
            .bind(&plan.time_zone)
            .bind(i64::from(plan.rate_limit))
            .bind(self.now.0)
            .execute(&mut *self.connection)
            .await?;
        self.note("workspace", &plan.slug, "created");
        Ok(id)
    }

    async fn partner(
        &mut self,
        workspace: WorkspaceId,
        name: &str,
    ) -> Result<PartnerId, StoreError> {
        let scope = workspace.to_string();
        if let Some(id) = self.find::<String>(PARTNER, &scope, Some(name)).await? {
            return parse("partners", id);
        }
        let id = PartnerId::new(self.now);
        sqlx::query(NEW_PARTNER)
            .bind(&scope)
            .bind(id.to_string())
            .bind(name)
            .bind(self.now.0)
            .execute(&mut *self.connection)
            .await?;
        self.note("partner", name, "created");
        Ok(id)
    }

    async fn agent(
        &mut self,
        workspace: WorkspaceId,
        agent: &PlannedAgent,
    ) -> Result<AgentId, StoreError> {
        let scope = workspace.to_string();
        if let Some(id) = self.find::<i64>(AGENT, &scope, Some(&agent.name)).await? {
            let changed = sqlx::query(CHANGE_AGENT)
                .bind(id)
                .bind(agent.number.as_deref())
                .bind(kind_text(agent.kind))
                .bind(agent.channel.as_deref())
                .bind(agent.adapter.as_deref())
                .bind(&agent.config)
                .bind(agent.internal)
                .execute(&mut *self.connection)
                .await?
                .rows_affected();
            self.note_if_changed("agent", &agent.name, changed);
            return Ok(AgentId(id));
        }
        let row = sqlx::query(NEW_AGENT)
            .bind(&scope)
            .bind(&agent.name)
            .bind(agent.number.as_deref())
            .bind(kind_text(agent.kind))
            .bind(agent.channel.as_deref())
            .bind(agent.adapter.as_deref())
            .bind(&agent.config)
            .bind(agent.internal)
            .fetch_one(&mut *self.connection)
            .await?;
        self.note("agent", &agent.name, "created");
        Ok(AgentId(row.try_get(0)?))
    }

    async fn owner(
        &mut self,
        workspace: WorkspaceId,
        owner: &PlannedOwner,
    ) -> Result<(), StoreError> {
        let scope = workspace.to_string();
        if let Some(id) = self
            .find::<String>(OWNER, &scope, Some(&owner.email))
            .await?
        {
            let changed = sqlx::query(CHANGE_OWNER)
                .bind(id)
                .bind(&owner.name)
                .execute(&mut *self.connection)
                .await?
                .rows_affected();
            self.note_if_changed("owner", &owner.email, changed);
            return Ok(());
        }
        sqlx::query(NEW_OWNER)
            .bind(&scope)
            .bind(OwnerId::new(self.now).to_string())
            .bind(&owner.name)
            .bind(&owner.email)
            .execute(&mut *self.connection)
            .await?;
        self.note("owner", &owner.email, "created");
        Ok(())
    }

    async fn product(
        &mut self,
        workspace: WorkspaceId,
        product: &PlannedProduct,
    ) -> Result<(), StoreError> {
        let scope = workspace.to_string();
        let name = &product.external_id;
        if let Some(id) = self.find::<String>(PRODUCT, &scope, Some(name)).await? {
            let changed = sqlx::query(CHANGE_PRODUCT)
                .bind(id)
                .bind(&product.name)
                .bind(product.description.as_deref())
                .execute(&mut *self.connection)
                .await?
                .rows_affected();
            self.note_if_changed("product", name, changed);
            return Ok(());
        }
        sqlx::query(NEW_PRODUCT)
            .bind(&scope)
            .bind(ProductId::new(self.now).to_string())
            .bind(name)
            .bind(&product.name)
            .bind(product.description.as_deref())
            .execute(&mut *self.connection)
            .await?;
        self.note("product", name, "created");
        Ok(())
    }

    async fn known_partner(
        &mut self,
        workspace: WorkspaceId,
        planned: &PlannedConnection,
    ) -> Result<PartnerId, StoreError> {
        let scope = workspace.to_string();
        let found: Option<String> = self.find(PARTNER, &scope, Some(&planned.partner)).await?;
        let id = found.ok_or_else(|| unknown(planned, "partner", &planned.partner))?;
        parse("partners", id)
    }

    async fn known_agent(
        &mut self,
        workspace: WorkspaceId,
        planned: &PlannedConnection,
        name: &str,
    ) -> Result<AgentId, StoreError> {
        let scope = workspace.to_string();
        let found: Option<i64> = self.find(AGENT, &scope, Some(name)).await?;
        found
            .map(AgentId)
            .ok_or_else(|| unknown(planned, "agent", name))
    }

    async fn connection(
        &mut self,
        workspace: WorkspaceId,
        planned: &PlannedConnection,
        partner: PartnerId,
        agent: Option<AgentId>,
        plan: &Plan,
    ) -> Result<ConnectionId, StoreError> {
        let scope = workspace.to_string();
        let region = planned.region.as_ref().unwrap_or(&plan.region);
        let time_zone = planned.time_zone.as_ref().unwrap_or(&plan.time_zone);
        let known: Option<String> = self.find(CONNECTION, &scope, Some(&planned.name)).await?;
        if let Some(id) = known {
            let mut changed = sqlx::query(CHANGE_CONNECTION)
                .bind(&id)
                .bind(partner.to_string())
                .bind(&planned.plugin)
                .bind(agent.map(|agent| agent.0))
                .bind(json(&planned.allow)?)
                .bind(json(&planned.checks)?)
                .bind(json(&planned.routes)?)
                .bind(region)
                .bind(time_zone)
                .bind(planned.dedupe_by_content)
                .execute(&mut *self.connection)
                .await?
                .rows_affected();
            changed += sqlx::query(CHANGE_CONFIGURATION)
                .bind(&id)
                .bind(&planned.config)
                .bind(json(&planned.secrets)?)
                .bind(&planned.sealed)
                .bind(&planned.fingerprint)
                .execute(&mut *self.connection)
                .await?
                .rows_affected();
            self.note_if_changed("connection", &planned.name, changed);
            return parse("connections", id);
        }
        let id = ConnectionId::generate();
        sqlx::query(NEW_CONNECTION)
            .bind(&scope)
            .bind(id.as_str())
            .bind(partner.to_string())
            .bind(&planned.name)
            .bind(&planned.plugin)
            .bind(&planned.config)
            .bind(agent.map(|agent| agent.0))
            .bind(json(&planned.allow)?)
            .bind(json(&planned.checks)?)
            .bind(json(&planned.routes)?)
            .bind(json(&planned.secrets)?)
            .bind(&planned.sealed)
            .bind(&planned.fingerprint)
            .bind(region)
            .bind(time_zone)
            .bind(planned.dedupe_by_content)
            .execute(&mut *self.connection)
            .await?;
        self.note("connection", &planned.name, "created");
        Ok(id)
    }
}

fn parse<T: std::str::FromStr>(table: &str, id: String) -> Result<T, StoreError> {
    id.parse()
        .map_err(|_| crate::store::error::odd(table, "id", id))
}

fn unknown(planned: &PlannedConnection, kind: &str, name: &str) -> StoreError {
    StoreError::Refused(format!(
        "connection `{}` names the {kind} `{name}`, which the workspace does not have: declare it too",
        planned.name
    ))
}

#[cfg(test)]
pub(super) const SQL: &[&str] = &[
    WORKSPACE,
    NEW_WORKSPACE,
    CHANGE_WORKSPACE,
    PARTNER,
    NEW_PARTNER,
    AGENT,
    NEW_AGENT,
    CHANGE_AGENT,
    OWNER,
    NEW_OWNER,
    CHANGE_OWNER,
    PRODUCT,
    NEW_PRODUCT,
    CHANGE_PRODUCT,
    CONNECTION,
    NEW_CONNECTION,
    CHANGE_CONNECTION,
    CHANGE_CONFIGURATION,
];
