//! The removal of a stored plugin version that nothing names.

use super::plugins::ONE_AT_A_TIME;
use crate::operations::prelude::*;
use crate::{PluginRemoval, PluginUse};

statements! {
    static STORED: Sql = sql("
select origin
from plugins
where digest = :digest");

    static USES: Sql = sql("
select
  exists (select 1 from activations where digest = :digest) as is_active,
  exists (select 1 from activations where previous = :digest) as is_previous,
  exists (select 1 from proposals where digest = :digest) as is_proposed, -- postgres
  exists (select 1 from rollouts where candidate = :digest or stable = :digest) as is_rolled_out,
  exists (select 1 from queue where status = 'fetch' and digest = :digest) as has_fetches");

    static REMOVE: Sql = sql("
delete from plugins
where digest = :digest");

    // The bytes of a file in the inbox stay known: the file is not taken in again.
    static KEEP_KNOWN: Sql = sql("
insert into refusals (origin, digest, plugin, reason, at, overtaken_at)
values (:origin, :digest, :plugin, 'an operator removed this version', :now, :now)");
}

#[leadhost_boxed::boxed]
impl Store {
    /// Removes a stored version of a plugin, unless an activation, a rollout or an unfinished fetch
    /// names it. `from_inbox`: its bytes came from a file, which is not to be taken in again.
    pub async fn remove_plugin(
        &self,
        name: &str,
        digest: &Digest,
        from_inbox: bool,
        now: Micros,
    ) -> Result<PluginRemoval, StoreError> {
        let name = name.to_owned();
        let digest = digest.clone();
        let is_postgres = matches!(&self.database, Database::Postgres(_));
        steps!(self.database.write(All), |tx| {
            // A version that is about to be activated is not removed meanwhile.
            tx.run(&ONE_AT_A_TIME, &[]).await?;
            let args = args! { digest: &digest };
            let Some(origin) = tx
                .row(&STORED, &args, |row| row.get::<String>("origin"))
                .await?
            else {
                return Ok(PluginRemoval::Unknown);
            };
            let uses = tx
                .only(&USES, &args, |row| {
                    let mut uses = Vec::new();
                    let found = [
                        (row.get("is_active")?, PluginUse::Active),
                        (row.get("is_previous")?, PluginUse::Previous),
                        (
                            is_postgres && row.get("is_proposed")?,
                            PluginUse::Activation,
                        ),
                        (row.get("is_rolled_out")?, PluginUse::Rollout),
                        (row.get("has_fetches")?, PluginUse::Fetches),
                    ];
                    uses.extend(found.into_iter().filter(|(is, _)| *is).map(|(_, by)| by));
                    Ok(uses)
                })
                .await?;
            if !uses.is_empty() {
                return Ok(PluginRemoval::Named(uses));
            }
            tx.run(&REMOVE, &args).await?;
            if from_inbox {
                let args = args! { origin: &origin, digest: &digest, plugin: &name, now };
                tx.run(&KEEP_KNOWN, &args).await?;
            }
            Ok(PluginRemoval::Removed)
        })
        .await
    }
}
