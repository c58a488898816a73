//! A declared workspace becomes so: what is named is made or changed, nothing is
//! removed, and the answer lists only what was not so before. One transaction,
//! and one at a time over all hosts: two that declare the same find each other's.

use std::collections::BTreeMap;

use sqlx::Row as _;
use sqlx::postgres::PgArguments;
use sqlx::query::Query;
use uuid::Uuid;

use super::columns::{self, json, text};
use super::db::{Db, Rows, Transaction};
use crate::domain::id::{AgentId, ConnectionId, OwnerId, PartnerId, ProductId, WorkspaceId};
use crate::domain::time::Micros;
use crate::store::error::odd;
use crate::store::row::agents::kind_text;
use crate::store::{
    Applied, AppliedChange, Plan, PlannedAgent, PlannedConnection, PlannedOwner, PlannedProduct,
    StoreError,
};

/// Of hosts that apply at once. Any number that nobody else takes.
const APPLY_LOCK: i64 = 0x6c65_6164_6170_706c;

// Whoever waits for another one's plan may wait longer than for a row.
const LOCK: &str = "
select set_config('lock_timeout', '4s', true), pg_advisory_xact_lock($1)";

pub async fn apply(
    db: &Db,
    plan: &Plan,
    now: Micros,
    dry_run: bool,
) -> Result<Applied, StoreError> {
    let mut transaction = db.begin(Rows::Exempt).await?;
    sqlx::query(LOCK)
        .bind(APPLY_LOCK)
        .execute(&mut *transaction)
        .await?;
    let mut apply = Apply {
        transaction: &mut transaction,
        now,
        changes: Vec::new(),
    };
    let workspace = apply.workspace(plan).await?;
    apply.transaction.name(&[workspace]).await?;
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
    apply.products(workspace, &plan.products).await?;
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
    transaction: &'a mut Transaction,
    now: Micros,
    changes: Vec<AppliedChange>,
}

// Each statement below writes only what differs, so that the number of rows
// affected says whether anything did.

const WORKSPACE: &str = "
select id
from workspaces
where slug = $1";

const NEW_WORKSPACE: &str = "
insert into workspaces (id, slug, name, region, time_zone, rate_limit, created_at)
values ($1, $2, $3, $4, $5, $6, $7)";

const CHANGE_WORKSPACE: &str = "
update workspaces
set name = $2, region = $3, time_zone = $4, rate_limit = $5
where id = $1
and (name, region, time_zone, rate_limit) is distinct from ($2, $3, $4, $5)";

const PARTNER: &str = "
select id
from partners
where workspace_id = $1
and name = $2";

const NEW_PARTNER: &str = "
insert into partners (workspace_id, id, name, created_at)
values ($1, $2, $3, $4)";

const AGENT: &str = "
select id
from agents
where workspace_id = $1
and name = $2";

const NEXT_AGENT: &str = "
update store
set last_agent = last_agent + 1
returning last_agent";

const NEW_AGENT: &str = "
insert into agents (workspace_id, id, name, number, kind, channel, adapter, config, internal)
values ($1, $2, $3, $4, $5, $6, $7, $8::json, $9)";

const CHANGE_AGENT: &str = "
update agents
set number = $2, kind = $3, channel = $4, adapter = $5, config = $6::json, internal = $7
where id = $1
and (number, kind, channel, adapter, config::text, internal)
  is distinct from ($2, $3, $4, $5, $6, $7)";

const OWNER: &str = "
select id
from owners
where workspace_id = $1
and email = $2";

const NEW_OWNER: &str = "
insert into owners (workspace_id, id, name, email)
values ($1, $2, $3, $4)";

const CHANGE_OWNER: &str = "
update owners
set name = $2
where id = $1
and name <> $2";

// Products may be many thousands: two statements for all of them.
const KNOWN_PRODUCTS: &str = "
select external_id
from products
where workspace_id = $1
and external_id = any ($2)";

const PRODUCTS: &str = "
insert into products (workspace_id, id, external_id, name, description)
select $1, id, external_id, name, description
from unnest($2::uuid[], $3::text[], $4::text[], $5::text[])
  as planned (id, external_id, name, description)
on conflict (workspace_id, external_id) do update
set name = excluded.name, description = excluded.description
where (products.name, products.description) is distinct from (excluded.name, excluded.description)
returning external_id";

const CONNECTION: &str = "
select id
from connections
where workspace_id = $1
and name = $2";

const NEW_CONNECTION: &str = "
insert into connections (workspace_id, id, partner_id, name, plugin, config, config_version,
  agent_id, allow, checks, routes, secrets, sealed, fingerprint, region, time_zone,
  dedupe_by_content)
values ($1, $2, $3, $4, $5, $6::json, 1, $7, $8::jsonb, $9::jsonb, $10::jsonb, $11::jsonb, $12, $13,
  $14, $15, $16)";

const CHANGE_CONNECTION: &str = "
update connections
set partner_id = $2, plugin = $3, agent_id = $4, allow = $5::jsonb, checks = $6::jsonb,
  routes = $7::jsonb, region = $8, time_zone = $9, dedupe_by_content = $10
where id = $1
and (partner_id, plugin, agent_id, allow, checks, routes, region, time_zone, dedupe_by_content)
  is distinct from ($2, $3, $4, $5::jsonb, $6::jsonb, $7::jsonb, $8, $9, $10)";

// Sealing the same secrets twice gives other bytes: the fingerprint tells.
const CHANGE_CONFIGURATION: &str = "
update connections
set config = $2::json, secrets = $3::jsonb, sealed = $4, fingerprint = $5,
  config_version = config_version + 1
where id = $1
and fingerprint <> $5";

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

    /// The id under which a name is known in the workspace, or `None`.
    async fn find<T>(
        &mut self,
        sql: &'static str,
        workspace: WorkspaceId,
        name: &str,
    ) -> Result<Option<T>, StoreError>
    where
        T: for<'r> sqlx::Decode<'r, sqlx::Postgres> + sqlx::Type<sqlx::Postgres>,
    {
        let row = sqlx::query(sql)
            .bind(workspace.0)
            .bind(text(name))
            .fetch_optional(&mut **self.transaction)
            .await?;
        Ok(row.map(|row| row.try_get(0)).transpose()?)
    }

    /// How many rows it wrote.
    async fn write(
        &mut self,
        query: Query<'_, sqlx::Postgres, PgArguments>,
    ) -> Result<u64, StoreError> {
        let done = query.execute(&mut **self.transaction).await?;
        Ok(done.rows_affected())
    }

    async fn workspace(&mut self, plan: &Plan) -> Result<WorkspaceId, StoreError> {
        let found = sqlx::query(WORKSPACE)
            .bind(text(&plan.slug))
            .fetch_optional(&mut **self.transaction)
            .await?;
        if let Some(row) = found {
            let id = WorkspaceId(row.try_get(0)?);
            let change = sqlx::query(CHANGE_WORKSPACE)
                .bind(id.0)
                .bind(text(&plan.name))
                .bind(text(&plan.region))
                .bind(text(&plan.time_zone))
                .bind(i64::from(plan.rate_limit));
            let changed = self.write(change).await?;
            self.note_if_changed("workspace", &plan.slug, changed);
            return Ok(id);
        }
        let id = WorkspaceId::new(self.now);
        let new = sqlx::query(NEW_WORKSPACE)
            .bind(id.0)
            .bind(text(&plan.slug))
            .bind(text(&plan.name))
            .bind(text(&plan.region))
            .bind(text(&plan.time_zone))
            .bind(i64::from(plan.rate_limit))
            .bind(columns::at(self.now));
        self.write(new).await?;
        self.note("workspace", &plan.slug, "created");
        Ok(id)
    }

    async fn partner(
        &mut self,
        workspace: WorkspaceId,
        name: &str,
    ) -> Result<PartnerId, StoreError> {
        if let Some(id) = self.find(PARTNER, workspace, name).await? {
            return Ok(PartnerId(id));
        }
        let id = PartnerId::new(self.now);
        let new = sqlx::query(NEW_PARTNER)
            .bind(workspace.0)
            .bind(id.0)
            .bind(text(name))
            .bind(columns::at(self.now));
        self.write(new).await?;
        self.note("partner", name, "created");
        Ok(id)
    }

    async fn agent(
        &mut self,
        workspace: WorkspaceId,
        agent: &PlannedAgent,
    ) -> Result<AgentId, StoreError> {
        if let Some(id) = self.find::<i64>(AGENT, workspace, &agent.name).await? {
            let change = sqlx::query(CHANGE_AGENT)
                .bind(id)
                .bind(agent.number.as_deref().map(text))
                .bind(kind_text(agent.kind))
                .bind(agent.channel.as_deref().map(text))
                .bind(agent.adapter.as_deref().map(text))
                .bind(text(&agent.config))
                .bind(agent.internal);
            let changed = self.write(change).await?;
            self.note_if_changed("agent", &agent.name, changed);
            return Ok(AgentId(id));
        }
        let row = sqlx::query(NEXT_AGENT)
            .fetch_one(&mut **self.transaction)
            .await?;
        let id: i64 = row.try_get(0)?;
        let new = sqlx::query(NEW_AGENT)
            .bind(workspace.0)
            .bind(id)
            .bind(text(&agent.name))
            .bind(agent.number.as_deref().map(text))
            .bind(kind_text(agent.kind))
            .bind(agent.channel.as_deref().map(text))
            .bind(agent.adapter.as_deref().map(text))
            .bind(text(&agent.config))
            .bind(agent.internal);
        self.write(new).await?;
        self.note("agent", &agent.name, "created");
        Ok(AgentId(id))
    }

    async fn owner(
        &mut self,
        workspace: WorkspaceId,
        owner: &PlannedOwner,
    ) -> Result<(), StoreError> {
        if let Some(id) = self.find::<Uuid>(OWNER, workspace, &owner.email).await? {
            let change = sqlx::query(CHANGE_OWNER).bind(id).bind(text(&owner.name));
            let changed = self.write(change).await?;
            self.note_if_changed("owner", &owner.email, changed);
            return Ok(());
        }
        let new = sqlx::query(NEW_OWNER)
            .bind(workspace.0)
            .bind(OwnerId::new(self.now).0)
            .bind(text(&owner.name))
            .bind(text(&owner.email));
        self.write(new).await?;
        self.note("owner", &owner.email, "created");
        Ok(())
    }

    async fn products(
        &mut self,
        workspace: WorkspaceId,
        planned: &[PlannedProduct],
    ) -> Result<(), StoreError> {
        if planned.is_empty() {
            return Ok(());
        }
        // The last word on a product counts: one statement may not change a row twice.
        let products: BTreeMap<&str, &PlannedProduct> = planned
            .iter()
            .map(|product| (product.external_id.as_str(), product))
            .collect();
        let names: Vec<_> = products.keys().map(|name| text(name)).collect();
        let known = sqlx::query(KNOWN_PRODUCTS)
            .bind(workspace.0)
            .bind(&names)
            .fetch_all(&mut **self.transaction)
            .await?;
        let known = known
            .iter()
            .map(|row| row.try_get(0))
            .collect::<Result<std::collections::HashSet<String>, _>>()?;
        let ids: Vec<_> = names.iter().map(|_| ProductId::new(self.now).0).collect();
        let titles: Vec<_> = products.values().map(|p| text(&p.name)).collect();
        let descriptions: Vec<_> = products
            .values()
            .map(|p| p.description.as_deref().map(text))
            .collect();
        let written = sqlx::query(PRODUCTS)
            .bind(workspace.0)
            .bind(ids)
            .bind(&names)
            .bind(titles)
            .bind(descriptions)
            .fetch_all(&mut **self.transaction)
            .await?;
        let written = written
            .iter()
            .map(|row| row.try_get(0))
            .collect::<Result<std::collections::HashSet<String>, _>>()?;
        // Told in the order of the plan.
        let mut told = std::collections::HashSet::new();
        for product in planned {
            let name = text(&product.external_id);
            if written.contains(name.as_ref()) && told.insert(name.clone()) {
                let what = if known.contains(name.as_ref()) {
                    "changed"
                } else {
                    "created"
                };
                self.note("product", &product.external_id, what);
            }
        }
        Ok(())
    }

    async fn known_partner(
        &mut self,
        workspace: WorkspaceId,
        planned: &PlannedConnection,
    ) -> Result<PartnerId, StoreError> {
        let found = self.find(PARTNER, workspace, &planned.partner).await?;
        found
            .map(PartnerId)
            .ok_or_else(|| unknown(planned, "partner", &planned.partner))
    }

    async fn known_agent(
        &mut self,
        workspace: WorkspaceId,
        planned: &PlannedConnection,
        name: &str,
    ) -> Result<AgentId, StoreError> {
        let found = self.find(AGENT, workspace, name).await?;
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
        let region = planned.region.as_ref().unwrap_or(&plan.region);
        let time_zone = planned.time_zone.as_ref().unwrap_or(&plan.time_zone);
        let known: Option<String> = self.find(CONNECTION, workspace, &planned.name).await?;
        if let Some(id) = known {
            let change = sqlx::query(CHANGE_CONNECTION)
                .bind(&id)
                .bind(partner.0)
                .bind(text(&planned.plugin))
                .bind(agent.map(|agent| agent.0))
                .bind(json(&planned.allow)?)
                .bind(json(&planned.checks)?)
                .bind(json(&planned.routes)?)
                .bind(text(region))
                .bind(text(time_zone))
                .bind(planned.dedupe_by_content);
            let mut changed = self.write(change).await?;
            let change = sqlx::query(CHANGE_CONFIGURATION)
                .bind(&id)
                .bind(text(&planned.config))
                .bind(json(&planned.secrets)?)
                .bind(&planned.sealed)
                .bind(text(&planned.fingerprint));
            changed += self.write(change).await?;
            self.note_if_changed("connection", &planned.name, changed);
            return id.parse().map_err(|_| odd("connections", "id", id));
        }
        let id = ConnectionId::generate();
        let new = sqlx::query(NEW_CONNECTION)
            .bind(workspace.0)
            .bind(id.as_str())
            .bind(partner.0)
            .bind(text(&planned.name))
            .bind(text(&planned.plugin))
            .bind(text(&planned.config))
            .bind(agent.map(|agent| agent.0))
            .bind(json(&planned.allow)?)
            .bind(json(&planned.checks)?)
            .bind(json(&planned.routes)?)
            .bind(json(&planned.secrets)?)
            .bind(&planned.sealed)
            .bind(text(&planned.fingerprint))
            .bind(text(region))
            .bind(text(time_zone))
            .bind(planned.dedupe_by_content);
        self.write(new).await?;
        self.note("connection", &planned.name, "created");
        Ok(id)
    }
}

fn unknown(planned: &PlannedConnection, kind: &str, name: &str) -> StoreError {
    StoreError::Refused(format!(
        "connection `{}` names the {kind} `{name}`, which the workspace does not have: declare it too",
        planned.name
    ))
}

pub(super) const SQL: &[&str] = &[
    LOCK,
    WORKSPACE,
    NEW_WORKSPACE,
    CHANGE_WORKSPACE,
    PARTNER,
    NEW_PARTNER,
    AGENT,
    NEXT_AGENT,
    NEW_AGENT,
    CHANGE_AGENT,
    OWNER,
    NEW_OWNER,
    CHANGE_OWNER,
    KNOWN_PRODUCTS,
    PRODUCTS,
    CONNECTION,
    NEW_CONNECTION,
    CHANGE_CONNECTION,
    CHANGE_CONFIGURATION,
];
