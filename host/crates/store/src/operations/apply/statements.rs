//! Statements that apply a declared workspace. Rows are found by their names. Statements that
//! change rows write only differences, and return how many rows differed.

use super::resolved::ResolvedConnection;
use crate::operations::prelude::*;
use crate::operations::product_plan::ProductWriter;
use crate::operations::products;
use crate::plan::RowEffect;
use crate::sql::Json;
use crate::{Plan, PlannedAgent, PlannedOwner, PlannedProduct};
use leadhost_domain::connection::ConnectionKind;

statements! {
    // Waiting for another plan may take longer than waiting for a row.
    static LOCK: Sql = sql("
select set_config('lock_timeout', '4s', true), pg_advisory_xact_lock(:number) -- postgres
");

    static WORKSPACE: Sql = sql("
select id
from workspaces
where slug = :slug");

    static NEW_WORKSPACE: Sql = sql("
insert into workspaces (id, slug, name, region, time_zone, rate_limit, created_at)
values (:id, :slug, :name, :region, :time_zone, :rate_limit, :now)");

    static CHANGE_WORKSPACE: Sql = sql("
update workspaces
set name = :name, region = :region, time_zone = :time_zone, rate_limit = :rate_limit
where id = :id
and (name <> :name or region <> :region or time_zone <> :time_zone or rate_limit <> :rate_limit)");

    static PARTNER: Sql = sql("
select id
from partners
where workspace_id = :workspace
and name = :name");

    static NEW_PARTNER: Sql = sql("
insert into partners (workspace_id, id, name, created_at)
values (:workspace, :id, :name, :now)");

    static AGENT: Sql = sql("
select id
from agents
where workspace_id = :workspace
and name = :name");

    // Numbered without gaps, which a PostgreSQL sequence cannot guarantee.
    static NEW_AGENT: Sql = sql("
with next as (                                                                     -- postgres
  update store set last_agent = last_agent + 1 returning last_agent                -- postgres
)                                                                                  -- postgres
insert into agents (workspace_id, id, name, number, kind, channel, adapter, internal)
select :workspace::uuid, last_agent, :name, :number, :kind, :channel, :adapter,    -- postgres
  :internal::boolean                                                               -- postgres
from next                                                                          -- postgres
values (:workspace, null, :name, :number, :kind, :channel, :adapter, :internal)    -- sqlite
returning id");

    static CHANGE_AGENT: Sql = sql("
update agents
set number = :number, kind = :kind, channel = :channel, adapter = :adapter, internal = :internal
where id = :id
and (number is distinct from :number or kind <> :kind or channel is distinct from :channel
  or adapter is distinct from :adapter or internal <> :internal)");

    static OWNER: Sql = sql("
select id
from owners
where workspace_id = :workspace
and email = :email");

    static NEW_OWNER: Sql = sql("
insert into owners (workspace_id, id, name, email)
values (:workspace, :id, :name, :email)");

    static CHANGE_OWNER: Sql = sql("
update owners
set name = :name
where id = :id
and name <> :name");

    static CONNECTION: Sql = sql("
select id, config_version
from connections
where workspace_id = :workspace
and name = :name
and kind = :kind");

    static NEW_CONNECTION: Sql = sql("
insert into connections (workspace_id, id, partner_id, name, plugin, config, config_version,
  agent_id, allow, checks, routes, secrets, sealed, fingerprint, region, time_zone,
  dedupe_by_content, kind, settings, secret_times, secret_times_version)
values (:workspace, :id, :partner, :name, :plugin, :config, 1, :agent, :allow, :checks, :routes,
  :secrets, :sealed, :fingerprint, :region, :time_zone, :dedupe_by_content, :kind, :settings,
  :secret_times, 1)");

    static CHANGE_CONNECTION: Sql = sql("
update connections
set partner_id = :partner, plugin = :plugin, agent_id = :agent, allow = :allow::jsonb,
  checks = :checks::jsonb, routes = :routes::jsonb, region = :region, time_zone = :time_zone,
  dedupe_by_content = :dedupe_by_content, settings = :settings::jsonb
where id = :id
and (partner_id is distinct from :partner or plugin <> :plugin
  or agent_id is distinct from :agent or allow <> :allow::jsonb or checks <> :checks::jsonb
  or routes <> :routes::jsonb or region <> :region or time_zone <> :time_zone
  or dedupe_by_content <> :dedupe_by_content or settings <> :settings::jsonb)");

    // Sealing the same secrets twice yields different bytes, so the fingerprints are compared.
    static CHANGE_CONFIGURATION: Sql = sql("
update connections
set config = :config, secrets = :secrets, sealed = :sealed, fingerprint = :fingerprint,
  config_version = config_version + 1, secret_times = :secret_times,
  secret_times_version = config_version + 1
where id = :id
and fingerprint <> :fingerprint");
}

/// Serializes hosts that apply plans at once. Any number that no other lock uses.
const APPLY_LOCK: i64 = 0x6c65_6164_6170_706c;

/// Waits until no other host applies a plan, so that a plan sees what an equal one has created.
pub async fn alone(tx: &mut Tx) -> Result<(), StoreError> {
    tx.run(&LOCK, &args! { number: APPLY_LOCK }).await?;
    Ok(())
}

pub async fn workspace(tx: &mut Tx, slug: &str) -> Result<Option<WorkspaceId>, StoreError> {
    tx.row(&WORKSPACE, &args! { slug }, |row| row.get("id"))
        .await
}

pub async fn new_workspace(
    tx: &mut Tx,
    id: WorkspaceId,
    plan: &Plan,
    now: Micros,
) -> Result<(), StoreError> {
    let args = args! {
        id,
        slug: &plan.slug,
        name: &plan.name,
        region: &plan.region,
        time_zone: &plan.time_zone,
        rate_limit: plan.rate_limit,
        now,
    };
    tx.run(&NEW_WORKSPACE, &args).await?;
    Ok(())
}

/// Sets the name, the region, the time zone and the rate limit of a workspace from the plan. Returns 1 if any
/// of them differed, and otherwise 0.
pub async fn change_workspace(
    tx: &mut Tx,
    id: WorkspaceId,
    plan: &Plan,
) -> Result<u64, StoreError> {
    let args = args! {
        id,
        name: &plan.name,
        region: &plan.region,
        time_zone: &plan.time_zone,
        rate_limit: plan.rate_limit,
    };
    tx.run(&CHANGE_WORKSPACE, &args).await
}

pub struct Declare<'t> {
    tx: &'t mut Tx,
    workspace: WorkspaceId,
}

impl<'t> Declare<'t> {
    /// Enters a workspace: from now on the transaction sees its rows.
    pub async fn enter(tx: &'t mut Tx, workspace: WorkspaceId) -> Result<Self, StoreError> {
        tx.name(&[workspace]).await?;
        Ok(Self { tx, workspace })
    }

    pub async fn partner(&mut self, name: &str) -> Result<Option<PartnerId>, StoreError> {
        let args = args! { workspace: self.workspace, name };
        self.tx.row(&PARTNER, &args, |row| row.get("id")).await
    }

    pub async fn new_partner(
        &mut self,
        id: PartnerId,
        name: &str,
        now: Micros,
    ) -> Result<(), StoreError> {
        let args = args! { workspace: self.workspace, id, name, now };
        self.tx.run(&NEW_PARTNER, &args).await?;
        Ok(())
    }

    pub async fn agent(&mut self, name: &str) -> Result<Option<AgentId>, StoreError> {
        let args = args! { workspace: self.workspace, name };
        self.tx.row(&AGENT, &args, |row| row.get("id")).await
    }

    /// Creates an agent. The store assigns its number.
    pub async fn new_agent(&mut self, agent: &PlannedAgent) -> Result<AgentId, StoreError> {
        let args = args! {
            from agent: name, number, kind, channel, adapter, internal;
            workspace: self.workspace,
        };
        self.tx.only(&NEW_AGENT, &args, |row| row.get("id")).await
    }

    /// Sets all fields of an agent except its name from the plan. Returns 1 if any of them
    /// differed, and otherwise 0.
    pub async fn change_agent(
        &mut self,
        id: AgentId,
        agent: &PlannedAgent,
    ) -> Result<u64, StoreError> {
        let args = args! { from agent: number, kind, channel, adapter, internal; id };
        self.tx.run(&CHANGE_AGENT, &args).await
    }

    pub async fn owner(&mut self, email: &str) -> Result<Option<OwnerId>, StoreError> {
        let args = args! { workspace: self.workspace, email };
        self.tx.row(&OWNER, &args, |row| row.get("id")).await
    }

    pub async fn new_owner(&mut self, id: OwnerId, owner: &PlannedOwner) -> Result<(), StoreError> {
        let args = args! { workspace: self.workspace, id, name: &owner.name, email: &owner.email };
        self.tx.run(&NEW_OWNER, &args).await?;
        Ok(())
    }

    /// Sets the name of an owner from the plan. Returns 1 if it differed, and otherwise 0.
    pub async fn change_owner(
        &mut self,
        id: OwnerId,
        owner: &PlannedOwner,
    ) -> Result<u64, StoreError> {
        self.tx
            .run(&CHANGE_OWNER, &args! { id, name: &owner.name })
            .await
    }

    /// Writes the products and returns the effect on each, in the order of the plan. There may be
    /// many thousands.
    pub async fn products<'a>(
        &mut self,
        planned: &'a [PlannedProduct],
        now: Micros,
    ) -> Result<Vec<(&'a str, RowEffect)>, StoreError> {
        let by = ProductWriter::Declaration(now);
        let sorted = products::write(self.tx, self.workspace, by, planned, now).await?;
        Ok(sorted.effects)
    }

    /// Returns the id of the connection of this kind with this name, and the version of its
    /// configuration. `None` if there is none.
    pub async fn connection(
        &mut self,
        kind: ConnectionKind,
        name: &str,
    ) -> Result<Option<(ConnectionId, i64)>, StoreError> {
        let args = args! { workspace: self.workspace, name, kind: kind.as_str() };
        self.tx
            .row(&CONNECTION, &args, cells!("id", "config_version"))
            .await
    }

    pub async fn new_connection(
        &mut self,
        id: &ConnectionId,
        wanted: &ResolvedConnection<'_>,
    ) -> Result<(), StoreError> {
        let planned = wanted.planned;
        let args = args! {
            from planned: name, plugin, allow, checks, routes, secrets, sealed, fingerprint,
            dedupe_by_content, kind, settings, secret_times = secrets_at;
            workspace: self.workspace, id, partner: wanted.partner,
            config: Json(planned.config.clone()), agent: wanted.agent, region: wanted.region,
            time_zone: wanted.time_zone,
        };
        self.tx.run(&NEW_CONNECTION, &args).await?;
        Ok(())
    }

    /// Changes a connection to the plan. If the fingerprint differs, it replaces the
    /// configuration and the secrets too, and increments the version of the configuration.
    /// Returns 0 if nothing differed.
    pub async fn change_connection(
        &mut self,
        id: &ConnectionId,
        wanted: &ResolvedConnection<'_>,
    ) -> Result<u64, StoreError> {
        let planned = wanted.planned;
        let args = args! {
            from planned: plugin, allow, checks, routes, dedupe_by_content, settings;
            id, partner: wanted.partner, agent: wanted.agent, region: wanted.region,
            time_zone: wanted.time_zone,
        };
        let changed = self.tx.run(&CHANGE_CONNECTION, &args).await?;
        let args = args! {
            from planned: secrets, sealed, fingerprint, secret_times = secrets_at;
            id, config: Json(planned.config.clone()),
        };
        Ok(changed + self.tx.run(&CHANGE_CONFIGURATION, &args).await?)
    }
}
