//! Contacts and their conversations, as operators find them.

use crate::operations::prelude::*;
use crate::{ConversationsOf, FoundContact, FoundConversation};

// `offset 0` is a fence: walking the conversations in their order would look cheap while there are few.
macro_rules! conversations_of {
    ($lead:literal) => {
        sql(concat!(
            "
select id, contact_id, deal_id, agent_id, status, source, created_at, last_message_at
from (
  select *
  from conversations
  where ",
            $lead,
            "
  and (workspace_id = :workspace) is true
  offset 0                                    -- postgres
) as own
order by id desc
limit :limit"
        ))
    };
}

statements! {
    static CONTACT: Sql = sql("
select id, name, email, phone_number, banned_at, created_at, updated_at
from contacts
where workspace_id = :workspace
and id = :contact");

    static KEYS: Sql = sql("
select key
from contact_keys
where contact_id = :contact
and (workspace_id = :workspace) is true
union
select key
from shared_keys
where contact_id = :contact
and (workspace_id = :workspace) is true");

    static OF_CONTACT: Sql = conversations_of!("contact_id = :of");
    static OF_DEAL: Sql = conversations_of!("deal_id = :of");
}

from_row! {
    FoundContact |row| {
        id, name, email, phone_number, banned_at, created_at, updated_at, keys = Vec::new(),
    }

    FoundConversation |row| {
        id, contact: "contact_id", deal: "deal_id", agent: "agent_id", status, source, created_at,
        last_message_at,
    }
}

#[leadhost_boxed::boxed]
impl Store {
    pub async fn contact(
        &self,
        workspace: WorkspaceId,
        contact: ContactId,
    ) -> Result<Option<FoundContact>, StoreError> {
        steps!(self.database.read(Of(&[workspace])), |tx| {
            let args = args! { workspace, contact };
            let found = tx.row(&CONTACT, &args, FoundContact::from_row).await?;
            let Some(mut found) = found else {
                return Ok(None);
            };
            found.keys = tx.rows(&KEYS, &args, |row| row.get("key")).await?;
            found.keys.sort();
            Ok(Some(found))
        })
        .await
    }

    /// Returns the conversations of a contact or a deal, newest first: at most `limit`.
    pub async fn conversations(
        &self,
        workspace: WorkspaceId,
        of: ConversationsOf,
        limit: u32,
    ) -> Result<Vec<FoundConversation>, StoreError> {
        let (sql, of): (&'static Sql, _) = match of {
            ConversationsOf::Contact(id) => (&OF_CONTACT, id.0),
            ConversationsOf::Deal(id) => (&OF_DEAL, id.0),
        };
        let args = args! { workspace, of, limit };
        self.database
            .rows(
                VisibleRows::Of(&[workspace]),
                sql,
                args,
                FoundConversation::from_row,
            )
            .await
    }
}
