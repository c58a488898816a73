//! A transaction that erases, and the statements that its parts share.

use super::super::remove::rows_of;
use super::super::tombstones;
use crate::Person;
use crate::operations::prelude::*;
use crate::tombstones::Removal;

statements! {
    // The work of deliveries and of messages. A message is in the queue under its own id.
    pub static LOCK_WORK: Sql = sql("
each (workspace_id uuid, id uuid)                                          -- postgres
select delivery_id                                                         -- postgres
from queue                                                                 -- postgres
where delivery_id in (select id from each)                                 -- postgres
and (workspace_id in (select workspace_id from each)) is true              -- postgres
order by delivery_id, item                                                 -- postgres
for update                                                                 -- postgres
");

    pub static WORK: Sql = made(|| schema::QUEUE.remove_with("delivery_id"));

    pub static LOCK_CONTACT: Sql = sql("
select id                              -- postgres
from contacts                          -- postgres
where workspace_id = :workspace        -- postgres
and id = :contact                      -- postgres
for update                             -- postgres
");
}

pub struct ErasureTx<'a> {
    pub tx: &'a mut Tx,
    pub person: &'a Person,
    pub now: Micros,
}

impl ErasureTx<'_> {
    /// Returns the ids that a statement finds by workspace and contact, at most `limit`.
    pub async fn ids_of_contact(
        &mut self,
        sql: &'static Sql,
        limit: u32,
    ) -> Result<Vec<Uuid>, StoreError> {
        let args = args! { workspace: self.person.workspace, contact: self.person.id, limit };
        self.tx.rows(sql, &args, |row| row.get("id")).await
    }

    pub async fn ids_of(
        &mut self,
        sql: &'static Sql,
        ids: &[Uuid],
    ) -> Result<Vec<Uuid>, StoreError> {
        let rows = rows_of(self.person.workspace, ids);
        self.tx.rows_each(sql, &rows, |row| row.get("id")).await
    }

    pub async fn run(&mut self, sql: &'static Sql, ids: &[Uuid]) -> Result<u64, StoreError> {
        let rows = rows_of(self.person.workspace, ids);
        self.tx.run_each(sql, &rows).await
    }

    pub async fn bury(&mut self, gone: &Removal) -> Result<(), StoreError> {
        tombstones::bury(self.tx, self.person.workspace, gone).await?;
        Ok(())
    }
}
