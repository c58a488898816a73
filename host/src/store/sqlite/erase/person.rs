//! Who is to be erased: somebody who is there, or of whom an erasure tells, whose
//! traces may have come again.

use crate::domain::id::{ContactId, WorkspaceId};
use crate::limits;
use crate::store::row::Columns as _;
use crate::store::sqlite::db::Db;
use crate::store::{Person, PersonBy, StoreError};

// Of those who share it, the first to have it comes first.
const BY_KEY: &str = "
select contact_id, 0 as turn
from contact_keys
where workspace_id = ?1
and key = ?2
union all
select contact_id, 1
from shared_keys
where workspace_id = ?1
and key = ?2
order by turn, contact_id
limit ?3";

const CONTACT: &str = "
select email, phone_number
from contacts
where id = ?2
and +workspace_id = ?1";

const KEYS: &str = "
select key
from contact_keys
where contact_id = ?2
and +workspace_id = ?1
order by key";

const KNOWN: &str = "
select id
from erasures
where contact_id = ?2
and +workspace_id = ?1
limit 1";

pub async fn person(
    db: &Db,
    workspace: WorkspaceId,
    by: &PersonBy,
) -> Result<Option<Person>, StoreError> {
    let of = workspace.to_string();
    let mut snapshot = db.readers().begin().await?;
    let found: Vec<ContactId> = match by {
        PersonBy::Id(id) => vec![*id],
        PersonBy::Key(key) => sqlx::query(BY_KEY)
            .bind(&of)
            .bind(key)
            .bind(i64::from(limits::OTHERS_NAMED) + 1)
            .fetch_all(&mut *snapshot)
            .await?
            .iter()
            .map(|row| row.id("contact_id"))
            .collect::<Result<_, _>>()?,
    };
    let Some((&id, others)) = found.split_first() else {
        return Ok(None);
    };
    let find = async |sql, snapshot: &mut sqlx::SqliteConnection| {
        sqlx::query(sql)
            .bind(&of)
            .bind(id.to_string())
            .fetch_all(snapshot)
            .await
    };
    let contact = find(CONTACT, &mut snapshot).await?.pop();
    if contact.is_none() && find(KNOWN, &mut snapshot).await?.is_empty() {
        return Ok(None);
    }
    let keys = find(KEYS, &mut snapshot).await?;
    let (email, phone_number) = match &contact {
        Some(row) => (row.text_if("email")?, row.text_if("phone_number")?),
        None => (None, None),
    };
    Ok(Some(Person {
        workspace,
        id,
        keys: keys
            .iter()
            .map(|row| row.text("key"))
            .collect::<Result<_, _>>()?,
        email,
        phone_number,
        others: others.to_vec(),
    }))
}

#[cfg(test)]
pub(super) const SQL: &[&str] = &[BY_KEY, CONTACT, KEYS, KNOWN];
