//! Checks that the store can be read and written to.

use crate::operations::prelude::*;
use leadhost_domain::id::uuid_at;

statements! {
    static PING: Sql = sql("
select count(*) as stores from store");

    // On SQLite, skips a lease number, because unchanged pages are not written. On PostgreSQL, inserts
    // a marker that belongs to no batch; markers are swept.
    static TRY_WRITE: Sql = sql("
update store set last_lease = last_lease + 1         -- sqlite
insert into commit_markers (batch_id) values (:mark) -- postgres
");
}

#[leadhost_boxed::boxed]
impl Store {
    pub async fn ping(&self) -> Result<(), StoreError> {
        steps!(self.database.aside(), |tx| {
            let _: i64 = tx.only(&PING, &[], |row| row.get("stores")).await?;
            Ok(())
        })
        .await
    }

    /// Commits a minimal write, to check that the store can be written to.
    pub async fn try_write(&self) -> Result<(), StoreError> {
        let now = self.clock.now();
        let mark = uuid_at(now);
        steps!(self.database.write_aside(), |tx| {
            tx.run(&TRY_WRITE, &args! { mark }).await?;
            Ok(())
        })
        .await
    }
}
