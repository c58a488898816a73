//! Looks at a file without changing it: for an operator who checks a deployment.

use std::path::Path;
use std::sync::Arc;

use super::connections::SqliteOptions;
use super::open;
use super::threads::beside;
use crate::migrations;
use crate::{Examination, StoreError};
use leadhost_domain::clock::SystemClock;

/// Returns what the file says about itself. `None` if it does not exist or is empty.
pub async fn examine(file: &Path) -> Result<Option<Examination>, StoreError> {
    open::refuse_moved(file)?;
    if std::fs::metadata(file).map_or(0, |found| found.len()) == 0 {
        return Ok(None);
    }
    open::refuse_foreign_log(file)?;
    let options = SqliteOptions::to_read(file.to_owned(), Arc::new(SystemClock));
    let schema = beside(move || open::supported_version(&options.open()?))
        .await
        .map_err(|error| open::for_file(file, error))?;
    Ok(Some(Examination {
        server: format!("SQLite {}", rusqlite::version()),
        schema,
        newest_schema: migrations::SQLITE.newest(),
        now: None,
    }))
}
