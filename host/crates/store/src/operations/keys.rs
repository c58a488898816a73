//! Keys, by the digest of their text. The text itself never reaches the store.

use crate::Caller;
use crate::operations::prelude::*;
use leadhost_domain::key::KeyRecord;
use leadhost_domain::workspace::{Partner, Workspace};

statements! {
    static AUTHENTICATE: Sql = sql("
select k.id as key_id, k.kind, k.workspace_id as key_workspace_id, k.partner_id, k.role, k.label,
  k.hint, k.created_at, k.expires_at, k.revoked_at, k.last_used_at, w.id, w.slug, w.name, w.region,
  w.time_zone, w.rate_limit, p.name as partner_name, p.workspace_id as partner_workspace_id
from keys as k
left join workspaces as w on w.id = k.workspace_id
left join partners as p on p.id = k.partner_id
where k.digest = :digest");

    static CREATE: Sql = sql("
insert into keys (id, digest, kind, workspace_id, partner_id, role, label, hint, created_at,
  expires_at, revoked_at, last_used_at)
values (:id, :digest, :kind, :workspace_id, :partner_id, :role, :label, :hint, :created_at,
  :expires_at, :revoked_at, :last_used_at)
on conflict do nothing");

    static LIST: Sql = sql("
select id as key_id, kind, workspace_id as key_workspace_id, partner_id, role, label, hint,
  created_at, expires_at, revoked_at, last_used_at
from keys
where :workspace::uuid is null or workspace_id = :workspace
order by id");

    static REVOKE: Sql = sql("
update keys
set revoked_at = :now
where id = :id
and revoked_at is null");

    // Hosts may record uses of the same keys at once. Each locks the rows in the same order, and skips
    // those that another one has updated this minute.
    static TOUCH: Sql = sql("
each (id uuid, used_at time)
update keys
set last_used_at = each.used_at
from each
where keys.id = each.id
and (keys.last_used_at is null or keys.last_used_at < each.used_at)
and keys.id in (select id from keys where id in (select id from each) order by id for update) -- postgres
");
}

from_row! {
    KeyRecord |row| {
        id: "key_id", kind, workspace: "key_workspace_id", partner: "partner_id", role, label, hint,
        created_at, expires_at, revoked_at, last_used_at,
    }
}

fn caller(row: &SqlRow<'_>) -> Result<Caller, StoreError> {
    let key = KeyRecord::from_row(row)?;
    let workspace = match key.workspace {
        Some(_) => Some(Workspace::from_row(row)?),
        None => None,
    };
    let partner = match key.partner {
        Some(id) => Some(Partner {
            id,
            workspace: row.get("partner_workspace_id")?,
            name: row.get("partner_name")?,
        }),
        None => None,
    };
    Ok(Caller::new(key, workspace, partner))
}

#[leadhost_boxed::boxed]
impl Store {
    /// Returns the key with this digest, with its workspace and partner. Revoked and expired keys
    /// are included.
    pub async fn authenticate(&self, digest: &[u8; 32]) -> Result<Option<Caller>, StoreError> {
        let args = args! { digest };
        self.database
            .row(VisibleRows::Exempt, &AUTHENTICATE, args, caller)
            .await
    }

    /// Stores a new key with the SHA-256 digest of its text. The text itself is not stored.
    pub async fn create_key(&self, key: &KeyRecord, digest: &[u8; 32]) -> Result<(), StoreError> {
        let key = key.clone();
        let digest = *digest;
        steps!(self.database.write_alone(), |tx| {
            let args = args! {
                from key: id, kind, workspace_id = workspace, partner_id = partner, role,
                label, hint, created_at, expires_at, revoked_at, last_used_at;
                digest: &digest,
            };
            if tx.run(&CREATE, &args).await? == 0 {
                return Err(StoreError::Refused(format!(
                    "Key {} is not stored: there is a key with this id or this text already.",
                    key.id
                )));
            }
            Ok(())
        })
        .await
    }

    /// Returns the keys of one workspace, or all keys, by id. Revoked and expired keys are
    /// included.
    pub async fn keys(&self, workspace: Option<WorkspaceId>) -> Result<Vec<KeyRecord>, StoreError> {
        let args = args! { workspace };
        self.database
            .rows(VisibleRows::Exempt, &LIST, args, KeyRecord::from_row)
            .await
    }

    pub async fn revoke_key(&self, id: KeyId, now: Micros) -> Result<bool, StoreError> {
        steps!(self.database.write_alone(), |tx| {
            Ok(tx.run(&REVOKE, &args! { id, now }).await? > 0)
        })
        .await
    }

    pub async fn touch_keys(&self, used: &[(KeyId, Micros)]) -> Result<(), StoreError> {
        if used.is_empty() {
            return Ok(());
        }
        let latest = latest(used);
        steps!(self.database.write_alone(), |tx| {
            let rows: Vec<_> = latest
                .into_iter()
                .map(|(id, used_at)| args! { id, used_at })
                .collect();
            tx.run_each(&TOUCH, &rows).await?;
            Ok(())
        })
        .await
    }
}

/// Returns the latest use of each key, rounded down to the minute, so that a key in constant use
/// causes few writes. A key must occur once: an update from a list would take any one of several
/// rows.
fn latest(used: &[(KeyId, Micros)]) -> BTreeMap<KeyId, Micros> {
    let mut latest = BTreeMap::new();
    for (id, at) in used {
        let minute = at.minute();
        let entry = latest.entry(*id).or_insert(minute);
        *entry = minute.max(*entry);
    }
    latest
}

/// There are few keys.
#[cfg(test)]
pub const WHOLE: &[&Sql] = &[&LIST];
