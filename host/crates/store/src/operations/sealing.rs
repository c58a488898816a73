//! The id of the key that seals secrets, in a store of one file. A shared store has its own
//! statements, on the connections of its hosts.

use crate::StoreError;
use crate::database::Database;
use crate::sql::{Sql, args, sql, statements, steps};

statements! {
    static KEY: Sql = sql("
select sealing_key
from store");

    static SET: Sql = sql("
update store
set sealing_key = :key");
}

/// Returns the id of the key, or `None` if none was ever set.
pub async fn key(database: &Database) -> Result<Option<String>, StoreError> {
    steps!(database.read(Exempt), |tx| tx
        .only(&KEY, &[], |row| row.get("sealing_key"))
        .await)
    .await
}

/// Sets the key if none is set yet or the current one is among `older`. Returns the one that counts.
pub async fn seal_with(
    database: &Database,
    key: String,
    older: Vec<String>,
) -> Result<String, StoreError> {
    steps!(database.write(Exempt), |tx| {
        let current: Option<String> = tx.only(&KEY, &[], |row| row.get("sealing_key")).await?;
        if let Some(current) = current.filter(|current| !older.contains(current)) {
            return Ok(current);
        }
        tx.run(&SET, &args! { key: &key }).await?;
        Ok(key)
    })
    .await
}
