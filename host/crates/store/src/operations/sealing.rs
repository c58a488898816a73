//! The id of the key that seals secrets. Hosts ask for it when they start, not behind requests.

use crate::operations::prelude::*;

statements! {
    static KEY: Sql = sql("
select sealing_key
from store");

    // One statement: if two hosts set a key at once, the second keeps the first one's.
    static SET: Sql = sql("
update store
set sealing_key = :key
where sealing_key is null
or sealing_key in (select value from json_each(:older))                       -- sqlite
or sealing_key = any (array(select json_array_elements_text(:older)))         -- postgres
");
}

#[leadhost_boxed::boxed]
impl Store {
    /// Returns the id of the key that seals secrets, or `None` if none was ever set.
    pub async fn sealing_key(&self) -> Result<Option<String>, StoreError> {
        steps!(self.database.aside(), |tx| {
            tx.only(&KEY, &[], |row| row.get("sealing_key")).await
        })
        .await
    }

    /// Seals secrets with this key from now on, if no key is set yet or the current one is among
    /// the older keys, which this host has too. Returns the key in effect.
    pub async fn seal_with(&self, key: &str, older: &[String]) -> Result<String, StoreError> {
        let (own, older) = (key.to_owned(), json(older)?);
        steps!(self.database.write_aside(), |tx| {
            tx.run(&SET, &args! { key: &own, older }).await
        })
        .await?;
        let now = self.sealing_key().await?;
        Ok(now.unwrap_or_else(|| key.to_owned()))
    }
}
