//! Finds the person to erase: an existing contact, or one that an earlier erasure names, because
//! its traces may have appeared again.

use crate::operations::prelude::*;
use crate::{Person, PersonBy};

statements! {
    // Among the contacts that share the key, its owner comes first, and then the oldest.
    static BY_KEY: Sql = sql("
select k.contact_id, 0 as turn, null as created_at       -- sqlite
select k.contact_id, 0 as turn, null::timestamptz as created_at -- postgres
from contact_keys as k
where k.workspace_id = :workspace
and k.key = :key
union all
select s.contact_id, 1, (
    select c.created_at
    from contacts as c
    where c.workspace_id = s.workspace_id
    and c.id = s.contact_id
  )
from shared_keys as s
where s.workspace_id = :workspace
and s.key = :key
order by turn, created_at, contact_id
limit :limit");

    static CONTACT: Sql = sql("
select email, phone_number
from contacts
where workspace_id = :workspace
and id = :contact");

    static KEYS: Sql = sql("
select key
from contact_keys
where contact_id = :contact
and (workspace_id = :workspace) is true
order by key collate \"C\"");

    static KNOWN: Sql = sql("
select id
from erasures
where contact_id = :contact
and (workspace_id = :workspace) is true
order by id
limit 1");
}

#[leadhost_boxed::boxed]
impl Store {
    /// Returns the person that an operator means. `None` if nothing is known of such a person.
    pub async fn person(
        &self,
        workspace: WorkspaceId,
        by: &PersonBy,
    ) -> Result<Option<Person>, StoreError> {
        let by = by.clone();
        steps!(self.database.read(Of(&[workspace])), |tx| {
            let found: Vec<ContactId> = match by {
                PersonBy::Id(id) => vec![id],
                PersonBy::Key(key) => {
                    let limit = i64::from(limits::OTHERS_NAMED) + 1;
                    let args = args! { workspace, key: &key, limit };
                    tx.rows(&BY_KEY, &args, |row| row.get("contact_id")).await?
                }
            };
            let Some((&id, others)) = found.split_first() else {
                return Ok(None);
            };
            let args = args! { workspace, contact: id };
            let contact = tx
                .row(&CONTACT, &args, cells!("email", "phone_number"))
                .await?;
            let keys = tx.rows(&KEYS, &args, |row| row.get("key")).await?;
            let known = tx.row(&KNOWN, &args, |row| row.get::<Uuid>("id")).await?;
            if contact.is_none() && known.is_none() {
                return Ok(None);
            }
            let (email, phone_number) = contact.unwrap_or_default();
            Ok(Some(Person {
                workspace,
                id,
                keys,
                email,
                phone_number,
                others: others.to_vec(),
            }))
        })
        .await
    }
}
