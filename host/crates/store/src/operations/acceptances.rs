//! Acceptances of versions that wait for a second admin key. There are few.

use crate::Store;
use crate::StoreError;
use crate::postgres::VisibleRows;
use crate::row::acceptances::acceptance;
use crate::sql::{Sql, args, json, sql, steps};
use leadhost_domain::acceptance::FirstAcceptance;
use leadhost_domain::limits;
use leadhost_domain::plugin::Digest;
use leadhost_domain::time::Micros;

static ADD: Sql = sql("
insert into acceptances (digest, key_id, label, name, concerns, accepted_at, expires_at)
values (:digest, :key_id, :label, :name, :concerns, :accepted_at, :expires_at)
on conflict (digest, key_id) do update
set label = excluded.label, name = excluded.name, concerns = excluded.concerns,
  accepted_at = excluded.accepted_at, expires_at = excluded.expires_at");

static FORGET_OLDEST: Sql = sql("
delete from acceptances
where accepted_at < (
  select min(newest.accepted_at)
  from (
    select accepted_at from acceptances
    order by accepted_at desc
    limit :kept
  ) newest)");

impl Store {
    /// Stores the acceptance of a version by the first of two admin keys, in place of an earlier one
    /// by the same key.
    pub async fn add_acceptance(&self, acceptance: &FirstAcceptance) -> Result<(), StoreError> {
        let new = acceptance.clone();
        self.database
            .write(
                VisibleRows::Exempt,
                steps!(|tx| {
                    let args = args! {
                        digest: &new.digest,
                        key_id: new.key,
                        label: &new.label,
                        name: &new.name,
                        concerns: json(&new.concerns)?,
                        accepted_at: new.at,
                        expires_at: new.until,
                    };
                    tx.run(&ADD, &args).await?;
                    let args = args! { kept: limits::ACCEPTANCES };
                    tx.run(&FORGET_OLDEST, &args).await?;
                    Ok(())
                }),
            )
            .await
    }
}

static LIST: Sql = sql("
select digest, key_id, label, name, concerns, accepted_at, expires_at
from acceptances
where digest = :digest
and expires_at > :now
order by accepted_at, key_id");

impl Store {
    /// Returns the acceptances of a version that have not expired, oldest first.
    pub async fn acceptances(
        &self,
        digest: &Digest,
        now: Micros,
    ) -> Result<Vec<FirstAcceptance>, StoreError> {
        let digest = digest.clone();
        self.database
            .read(
                VisibleRows::Exempt,
                steps!(|tx| {
                    let args = args! { digest: &digest, now };
                    tx.rows(&LIST, &args, |row| acceptance(row)).await
                }),
            )
            .await
    }
}

static FORGET: Sql = sql("
delete from acceptances
where digest = :digest");

impl Store {
    /// Removes the acceptances of a version, which have been used.
    pub async fn forget_acceptances(&self, digest: &Digest) -> Result<(), StoreError> {
        let digest = digest.clone();
        self.database
            .write_alone(steps!(|tx| {
                tx.run(&FORGET, &args! { digest: &digest }).await?;
                Ok(())
            }))
            .await
    }
}

pub const SQL: &[&Sql] = &[&ADD, &FORGET_OLDEST, &LIST, &FORGET];
