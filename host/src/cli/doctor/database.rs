//! The database: whether it answers, its version and schema, and its clock.

use super::clocks;
use super::finding::Findings;
use leadhost_domain::clock::{Clock as _, SystemClock};
use leadhost_store::{self as store, StoreLocation};

const ABOUT: &str = "database";

/// Looks at the store without changing it.
pub async fn check(location: &StoreLocation, findings: &mut Findings) {
    let before = SystemClock.now();
    let examined = store::examine(location).await;
    let after = SystemClock.now();
    let found = match examined {
        Ok(Some(found)) => found,
        Ok(None) => {
            findings.ok(ABOUT, "There is no store yet; the first start creates it.");
            return;
        }
        Err(error) => {
            findings.problem(
                ABOUT,
                format!("The store cannot be used: {error}."),
                "Fix the cause that the message names; store.url or store.data_dir names the store.",
            );
            return;
        }
    };
    let server = &found.server;
    match found.schema {
        None => findings.ok(
            ABOUT,
            format!("{server} answers; the first start creates the schema."),
        ),
        Some(schema) if schema < found.newest_schema => findings.warning(
            ABOUT,
            format!(
                "{server} answers; its schema has version {schema}, and this program makes {}.",
                found.newest_schema
            ),
            "The next start brings it up to date: make a backup first.",
        ),
        Some(schema) => findings.ok(
            ABOUT,
            format!("{server} answers; its schema version {schema} is current."),
        ),
    }
    if let Some(now) = found.now {
        clocks::compare("the database", now, before, after, findings);
    }
}
