//! The statements by which a declared workspace becomes so (`store::declare`), in
//! one transaction.

use sqlx::query::Query;
use sqlx::sqlite::{SqliteArguments, SqliteConnection, SqliteRow};

use super::db::Db;
use super::{json, products};
use crate::domain::connection::ConnectionKind;
use crate::domain::id::{AgentId, ConnectionId, OwnerId, PartnerId, WorkspaceId};
use crate::domain::time::Micros;
use crate::store::declare::{self, Became, Statements, Wanted};
use crate::store::row::Columns as _;
use crate::store::row::agents::kind_text;
use crate::store::row::products::By;
use crate::store::{Applied, Plan, PlannedAgent, PlannedOwner, PlannedProduct, StoreError};

pub async fn apply(
    db: &Db,
    plan: &Plan,
    now: Micros,
    dry_run: bool,
) -> Result<Applied, StoreError> {
    let mut transaction = db.begin().await?;
    let mut statements = Declare {
        connection: &mut transaction.connection,
        workspace: None,
    };
    let applied = declare::apply(&mut statements, plan, now).await?;
    if dry_run {
        transaction.rollback().await?;
    } else {
        transaction.commit().await?;
    }
    Ok(applied)
}

struct Declare<'a> {
    connection: &'a mut SqliteConnection,
    /// Once it is entered.
    workspace: Option<WorkspaceId>,
}

// Each statement below writes only what differs, so that the number of rows
// affected says whether anything did.

const WORKSPACE: &str = "
select id
from workspaces
where slug = ?1";

const NEW_WORKSPACE: &str = "
insert into workspaces (id, slug, name, region, time_zone, rate_limit, created_at)
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
insert into partners (workspace_id, id, name, created_at)
values (?1, ?2, ?3, ?4)";

const AGENT: &str = "
select id
from agents
where workspace_id = ?1
and name = ?2";

const NEW_AGENT: &str = "
insert into agents (workspace_id, name, number, kind, channel, adapter, internal)
values (?1, ?2, ?3, ?4, ?5, ?6, ?7)
returning id";

const CHANGE_AGENT: &str = "
update agents
set number = ?2, kind = ?3, channel = ?4, adapter = ?5, internal = ?6
where id = ?1
and (number, kind, channel, adapter, internal) is not (?2, ?3, ?4, ?5, ?6)";

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

const CONNECTION: &str = "
select id
from connections
where workspace_id = ?1
and name = ?2
and kind = ?3";

const NEW_CONNECTION: &str = "
insert into connections (workspace_id, id, partner_id, name, plugin, config, config_version,
  agent_id, allow, checks, routes, secrets, sealed, fingerprint, region, time_zone,
  dedupe_by_content, kind, settings)
values (?1, ?2, ?3, ?4, ?5, ?6, 1, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18)";

const CHANGE_CONNECTION: &str = "
update connections
set partner_id = ?2, plugin = ?3, agent_id = ?4, allow = ?5, checks = ?6, routes = ?7, region = ?8,
  time_zone = ?9, dedupe_by_content = ?10, settings = ?11
where id = ?1
and (partner_id, plugin, agent_id, allow, checks, routes, region, time_zone, dedupe_by_content,
  settings) is not (?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)";

// Sealing the same secrets twice gives other bytes: the fingerprint tells.
const CHANGE_CONFIGURATION: &str = "
update connections
set config = ?2, secrets = ?3, sealed = ?4, fingerprint = ?5, config_version = config_version + 1
where id = ?1
and fingerprint <> ?5";

impl Declare<'_> {
    fn of(&self) -> WorkspaceId {
        self.workspace
            .expect("a plan enters its workspace before it asks for what is in it")
    }

    /// The row that has a name in the workspace, or `None`.
    async fn find(
        &mut self,
        sql: &'static str,
        name: &str,
    ) -> Result<Option<SqliteRow>, StoreError> {
        let found = sqlx::query(sql)
            .bind(self.of().to_string())
            .bind(name)
            .fetch_optional(&mut *self.connection)
            .await?;
        Ok(found)
    }

    /// How many rows it wrote.
    async fn write(
        &mut self,
        query: Query<'_, sqlx::Sqlite, SqliteArguments>,
    ) -> Result<u64, StoreError> {
        let done = query.execute(&mut *self.connection).await?;
        Ok(done.rows_affected())
    }
}

impl Statements for Declare<'_> {
    async fn workspace(&mut self, slug: &str) -> Result<Option<WorkspaceId>, StoreError> {
        let found = sqlx::query(WORKSPACE)
            .bind(slug)
            .fetch_optional(&mut *self.connection)
            .await?;
        found.map(|row| row.id("id")).transpose()
    }

    async fn new_workspace(
        &mut self,
        id: WorkspaceId,
        plan: &Plan,
        now: Micros,
    ) -> Result<(), StoreError> {
        let new = sqlx::query(NEW_WORKSPACE)
            .bind(id.to_string())
            .bind(&plan.slug)
            .bind(&plan.name)
            .bind(&plan.region)
            .bind(&plan.time_zone)
            .bind(i64::from(plan.rate_limit))
            .bind(now.0);
        self.write(new).await?;
        Ok(())
    }

    async fn change_workspace(&mut self, id: WorkspaceId, plan: &Plan) -> Result<u64, StoreError> {
        let change = sqlx::query(CHANGE_WORKSPACE)
            .bind(id.to_string())
            .bind(&plan.name)
            .bind(&plan.region)
            .bind(&plan.time_zone)
            .bind(i64::from(plan.rate_limit));
        self.write(change).await
    }

    async fn enter(&mut self, workspace: WorkspaceId) -> Result<(), StoreError> {
        self.workspace = Some(workspace);
        Ok(())
    }

    async fn partner(&mut self, name: &str) -> Result<Option<PartnerId>, StoreError> {
        let found = self.find(PARTNER, name).await?;
        found.map(|row| row.id("id")).transpose()
    }

    async fn new_partner(
        &mut self,
        id: PartnerId,
        name: &str,
        now: Micros,
    ) -> Result<(), StoreError> {
        let new = sqlx::query(NEW_PARTNER)
            .bind(self.of().to_string())
            .bind(id.to_string())
            .bind(name)
            .bind(now.0);
        self.write(new).await?;
        Ok(())
    }

    async fn agent(&mut self, name: &str) -> Result<Option<AgentId>, StoreError> {
        let found = self.find(AGENT, name).await?;
        found.map(|row| Ok(AgentId(row.number("id")?))).transpose()
    }

    async fn new_agent(&mut self, agent: &PlannedAgent) -> Result<AgentId, StoreError> {
        let row = sqlx::query(NEW_AGENT)
            .bind(self.of().to_string())
            .bind(&agent.name)
            .bind(agent.number.as_deref())
            .bind(kind_text(agent.kind))
            .bind(agent.channel.as_deref())
            .bind(agent.adapter.as_deref())
            .bind(agent.internal)
            .fetch_one(&mut *self.connection)
            .await?;
        Ok(AgentId(row.number("id")?))
    }

    async fn change_agent(&mut self, id: AgentId, agent: &PlannedAgent) -> Result<u64, StoreError> {
        let change = sqlx::query(CHANGE_AGENT)
            .bind(id.0)
            .bind(agent.number.as_deref())
            .bind(kind_text(agent.kind))
            .bind(agent.channel.as_deref())
            .bind(agent.adapter.as_deref())
            .bind(agent.internal);
        self.write(change).await
    }

    async fn owner(&mut self, email: &str) -> Result<Option<OwnerId>, StoreError> {
        let found = self.find(OWNER, email).await?;
        found.map(|row| row.id("id")).transpose()
    }

    async fn new_owner(&mut self, id: OwnerId, owner: &PlannedOwner) -> Result<(), StoreError> {
        let new = sqlx::query(NEW_OWNER)
            .bind(self.of().to_string())
            .bind(id.to_string())
            .bind(&owner.name)
            .bind(&owner.email);
        self.write(new).await?;
        Ok(())
    }

    async fn change_owner(&mut self, id: OwnerId, owner: &PlannedOwner) -> Result<u64, StoreError> {
        let change = sqlx::query(CHANGE_OWNER)
            .bind(id.to_string())
            .bind(&owner.name);
        self.write(change).await
    }

    async fn products<'a>(
        &mut self,
        planned: &'a [PlannedProduct],
        now: Micros,
    ) -> Result<Vec<(&'a str, Became)>, StoreError> {
        let of = self.of();
        let sorted =
            products::write(self.connection, of, By::Declaration(now), planned, now).await?;
        Ok(sorted.became)
    }

    async fn connection(
        &mut self,
        kind: ConnectionKind,
        name: &str,
    ) -> Result<Option<ConnectionId>, StoreError> {
        let found = sqlx::query(CONNECTION)
            .bind(self.of().to_string())
            .bind(name)
            .bind(kind.as_str())
            .fetch_optional(&mut *self.connection)
            .await?;
        found.map(|row| row.text_id("id")).transpose()
    }

    async fn new_connection(
        &mut self,
        id: &ConnectionId,
        wanted: &Wanted<'_>,
    ) -> Result<(), StoreError> {
        let planned = wanted.planned;
        let new = sqlx::query(NEW_CONNECTION)
            .bind(self.of().to_string())
            .bind(id.as_str())
            .bind(wanted.partner.map(|partner| partner.to_string()))
            .bind(&planned.name)
            .bind(&planned.plugin)
            .bind(&planned.config)
            .bind(wanted.agent.map(|agent| agent.0))
            .bind(json(&planned.allow)?)
            .bind(json(&planned.checks)?)
            .bind(json(&planned.routes)?)
            .bind(json(&planned.secrets)?)
            .bind(&planned.sealed)
            .bind(&planned.fingerprint)
            .bind(wanted.region)
            .bind(wanted.time_zone)
            .bind(planned.dedupe_by_content)
            .bind(planned.kind.as_str())
            .bind(json(&planned.settings)?);
        self.write(new).await?;
        Ok(())
    }

    async fn change_connection(
        &mut self,
        id: &ConnectionId,
        wanted: &Wanted<'_>,
    ) -> Result<u64, StoreError> {
        let planned = wanted.planned;
        let change = sqlx::query(CHANGE_CONNECTION)
            .bind(id.as_str())
            .bind(wanted.partner.map(|partner| partner.to_string()))
            .bind(&planned.plugin)
            .bind(wanted.agent.map(|agent| agent.0))
            .bind(json(&planned.allow)?)
            .bind(json(&planned.checks)?)
            .bind(json(&planned.routes)?)
            .bind(wanted.region)
            .bind(wanted.time_zone)
            .bind(planned.dedupe_by_content)
            .bind(json(&planned.settings)?);
        let changed = self.write(change).await?;
        let change = sqlx::query(CHANGE_CONFIGURATION)
            .bind(id.as_str())
            .bind(&planned.config)
            .bind(json(&planned.secrets)?)
            .bind(&planned.sealed)
            .bind(&planned.fingerprint);
        Ok(changed + self.write(change).await?)
    }
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
    CONNECTION,
    NEW_CONNECTION,
    CHANGE_CONNECTION,
    CHANGE_CONFIGURATION,
];
