//! Who is to be erased: somebody who is there, or of whom an erasure tells, whose
//! traces may have come again.

use crate::domain::id::{ContactId, WorkspaceId};
use crate::limits;
use crate::store::postgres::columns::text;
use crate::store::postgres::db::{Db, Rows};
use crate::store::row::Columns as _;
use crate::store::{Person, PersonBy, StoreError};

// Of those who share it, the first to have it comes first.
const BY_KEY: &str = "
select contact_id, 0 as turn
from contact_keys
where workspace_id = $1
and key = $2
union all
select contact_id, 1
from shared_keys
where workspace_id = $1
and key = $2
order by turn, contact_id
limit $3";

const CONTACT: &str = "
select email, phone_number
from contacts
where workspace_id = $1
and id = $2";

const KEYS: &str = "
select key
from contact_keys
where contact_id = $2
and (workspace_id = $1) is true
order by key collate \"C\"";

const KNOWN: &str = "
select id
from erasures
where contact_id = $2
and (workspace_id = $1) is true
order by id
limit 1";

pub async fn person(
    db: &Db,
    workspace: WorkspaceId,
    by: &PersonBy,
) -> Result<Option<Person>, StoreError> {
    let mut snapshot = db.snapshot(Rows::Of(&[workspace])).await?;
    let found: Vec<ContactId> = match by {
        PersonBy::Id(id) => vec![*id],
        PersonBy::Key(key) => sqlx::query(BY_KEY)
            .bind(workspace.0)
            .bind(text(key))
            .bind(i64::from(limits::OTHERS_NAMED) + 1)
            .fetch_all(&mut *snapshot)
            .await?
            .iter()
            .map(|row| row.id("contact_id"))
            .collect::<Result<_, _>>()?,
    };
    let Some((&id, others)) = found.split_first() else {
        snapshot.rollback().await?;
        return Ok(None);
    };
    let contact = sqlx::query(CONTACT)
        .bind(workspace.0)
        .bind(id.0)
        .fetch_optional(&mut *snapshot)
        .await?;
    let keys = sqlx::query(KEYS)
        .bind(workspace.0)
        .bind(id.0)
        .fetch_all(&mut *snapshot)
        .await?;
    let known = sqlx::query(KNOWN)
        .bind(workspace.0)
        .bind(id.0)
        .fetch_optional(&mut *snapshot)
        .await?;
    snapshot.rollback().await?;
    if contact.is_none() && known.is_none() {
        return Ok(None);
    }
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

pub(super) const SQL: &[&str] = &[BY_KEY, CONTACT, KEYS, KNOWN];
