//! Connections: by id for the intake, by name for operators. They contain nothing about a person,
//! and are read before a workspace is known.

use crate::operations::prelude::*;
use leadhost_domain::connection::{Connection, ConnectionPause};

macro_rules! connections_where {
    ($rest:literal) => {
        sql(concat!(
            "
select id, workspace_id, kind, partner_id, name, plugin, config, config_version, agent_id, allow,
  checks, routes, secrets, sealed, region, time_zone, dedupe_by_content, settings, paused_at,
  paused_reason, case when secret_times_version = config_version then secret_times end as secret_times
from connections
",
            $rest
        ))
    };
}

statements! {
    static ONE: Sql = connections_where!("where id = :id");

    static LIST: Sql = connections_where!(
        "where :workspace::uuid is null or workspace_id = :workspace
order by name collate \"C\", id collate \"C\""
    );

    static IDS: Sql = sql("select id from connections");

    static PAUSE: Sql = sql("
update connections
set paused_at = :since, paused_reason = :reason
where id = :id");
}

#[leadhost_boxed::boxed]
impl Store {
    pub async fn connection(&self, id: &ConnectionId) -> Result<Option<Connection>, StoreError> {
        let args = args! { id };
        self.database
            .row(VisibleRows::Exempt, &ONE, args, Connection::from_row)
            .await
    }

    pub async fn connection_ids(&self) -> Result<HashSet<ConnectionId>, StoreError> {
        let ids = self
            .database
            .rows(VisibleRows::Exempt, &IDS, [], |row| row.get("id"))
            .await?;
        Ok(ids.into_iter().collect())
    }

    pub async fn connections(
        &self,
        workspace: Option<WorkspaceId>,
    ) -> Result<Vec<Connection>, StoreError> {
        let args = args! { workspace };
        self.database
            .rows(VisibleRows::Exempt, &LIST, args, Connection::from_row)
            .await
    }

    pub async fn pause_connection(
        &self,
        id: &ConnectionId,
        pause: Option<&ConnectionPause>,
    ) -> Result<(), StoreError> {
        let id = id.clone();
        let pause = pause.cloned();
        steps!(self.database.write_alone(), |tx| {
            let args = args! {
                id: &id,
                since: pause.as_ref().map(|pause| pause.since),
                reason: pause.as_ref().map(|pause| pause.reason.as_str()),
            };
            tx.run(&PAUSE, &args).await?;
            Ok(())
        })
        .await
    }
}
