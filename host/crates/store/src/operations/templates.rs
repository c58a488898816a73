//! Templates of instances, as their providers listed them: one row per instance, since a list is
//! read and replaced as a whole. Lists belong to a connection and name no person, so they are read
//! before a workspace is named.

use crate::TemplateList;
use crate::operations::prelude::*;
use leadhost_domain::connection::Connection;

statements! {
    static ONE: Sql = sql("
select synced_at, error, unlisted, templates
from template_lists
where connection_id = :id
and workspace_id = :workspace");

    static PUT: Sql = sql("
insert into template_lists (workspace_id, connection_id, synced_at, error, unlisted, templates)
values (:workspace, :id, :synced_at, :error, :unlisted, :templates)
on conflict (connection_id) do update
set synced_at = excluded.synced_at, error = excluded.error, unlisted = excluded.unlisted,
  templates = excluded.templates");
}

#[leadhost_boxed::boxed]
impl Store {
    /// Returns an instance's templates, or `None` if its provider was never asked for them.
    pub async fn templates(
        &self,
        channel: &Connection,
    ) -> Result<Option<TemplateList>, StoreError> {
        let args = args! { id: &channel.id, workspace: channel.workspace };
        self.database
            .row(VisibleRows::Exempt, &ONE, args, TemplateList::from_row)
            .await
    }

    pub async fn put_templates(
        &self,
        channel: &Connection,
        list: &TemplateList,
    ) -> Result<(), StoreError> {
        let id = channel.id.clone();
        let workspace = channel.workspace;
        let list = list.clone();
        steps!(self.database.write_alone(), |tx| {
            let args = args! {
                from list: synced_at, error, unlisted = is_unlisted, templates;
                id: &id, workspace,
            };
            tx.run(&PUT, &args).await?;
            Ok(())
        })
        .await
    }
}
