//! Checks a data folder after the power came back.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use leadhost_domain::clock::SystemClock;
use leadhost_egress::seal::{Environment, Sealer};
use leadhost_store::{self as store, StoreLocation};
use leadhost_tests::load::lead;
use rusqlite::{Connection, OpenFlags};
use serde_json::Value;

/// A fault of a folder: it cannot be opened, it is inconsistent, or acknowledged leads
/// are missing.
pub struct Fault(pub String);

impl<E: std::error::Error> From<E> for Fault {
    fn from(error: E) -> Self {
        Self(error.to_string())
    }
}

const INTEGRITY: &str = "pragma integrity_check";
const REFERENCES: &str = "select count(*) from pragma_foreign_key_check";
const NEWEST: &str = "select coalesce(max(last_us), 0) from feed_clock";
const DELIVERIES: &str = "select id, status, body from deliveries";
const DEALS: &str = "select external_id, delivery_id from deals";
const QUEUED: &str = "select delivery_id from queue where item = -1";

/// Opens the store and its sealing key as the service does, and compares it with the
/// acknowledged leads.
pub async fn check(folder: &Path, acknowledged: &[&str]) -> Result<(), Fault> {
    let file = folder.join("leadhost.db");
    let location = StoreLocation::File(file.clone());
    let store = store::open_remembered(&location, Arc::new(SystemClock), folder).await?;
    Sealer::from_folder(folder, &Environment::default())?;
    let leads = {
        let connection = Connection::open_with_flags(&file, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        is_whole(&connection, folder)?;
        Leads::read(&connection)?
    };
    leads.are_consistent()?;
    let lost: Vec<_> = acknowledged.iter().filter(|id| !leads.have(id)).collect();
    if !lost.is_empty() {
        return Err(Fault(format!("{} leads are lost: {lost:?}", lost.len())));
    }
    store.try_write().await?;
    Ok(())
}

fn is_whole(connection: &Connection, folder: &Path) -> Result<(), Fault> {
    let said: Vec<String> = all(connection, INTEGRITY, |row| row.get(0))?;
    if said != ["ok"] {
        return Err(Fault(said.join("; ")));
    }
    let broken: i64 = connection.query_row(REFERENCES, [], |row| row.get(0))?;
    if broken > 0 {
        return Err(Fault(format!("{broken} references to nothing")));
    }
    // A host that has seen more than the store contains takes it for a restored one,
    // and writes nothing for a while.
    let newest: i64 = connection.query_row(NEWEST, [], |row| row.get(0))?;
    if let Ok(sight) = std::fs::read(folder.join("store.high-water-mark")) {
        let sight: Value = serde_json::from_slice(&sight)?;
        if sight["newest"].as_i64() > Some(newest) {
            let complaint = format!("{sight} was seen, and the newest stamp is {newest}");
            return Err(Fault(complaint));
        }
    }
    Ok(())
}

/// Reads every row of a query.
fn all<T>(
    connection: &Connection,
    query: &str,
    read: impl FnMut(&rusqlite::Row<'_>) -> rusqlite::Result<T>,
) -> rusqlite::Result<Vec<T>> {
    connection.prepare(query)?.query_map([], read)?.collect()
}

/// The bytes of a delivery's id.
type Id = [u8; 16];

struct Leads {
    /// Deliveries by body: id and status.
    deliveries: BTreeMap<Vec<u8>, Vec<(Id, String)>>,
    /// The deliveries of deals by the lead's own id.
    deals: BTreeMap<String, Vec<Id>>,
    /// Deliveries that will be converted.
    queued: BTreeSet<Id>,
}

impl Leads {
    fn read(connection: &Connection) -> Result<Self, Fault> {
        let rows = all(connection, DELIVERIES, |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?))
        })?;
        let mut deliveries = BTreeMap::<Vec<u8>, Vec<(Id, String)>>::new();
        for (id, status, body) in rows {
            deliveries.entry(body).or_default().push((id, status));
        }
        let rows = all(connection, DEALS, |row| Ok((row.get(0)?, row.get(1)?)))?;
        let mut deals = BTreeMap::<String, Vec<Id>>::new();
        for (external_id, delivery) in rows {
            deals.entry(external_id).or_default().push(delivery);
        }
        let queued = all(connection, QUEUED, |row| row.get(0))?;
        Ok(Self {
            deliveries,
            deals,
            queued: queued.into_iter().collect(),
        })
    }

    /// Unacknowledged data is not there in part either.
    fn are_consistent(&self) -> Result<(), Fault> {
        let converted: Vec<_> = self
            .deliveries
            .values()
            .flatten()
            .filter(|(_, status)| status == "converted")
            .map(|(id, _)| id)
            .collect();
        let mut of_deals: Vec<_> = self.deals.values().flatten().collect();
        of_deals.sort_unstable();
        let mut expect = converted;
        expect.sort_unstable();
        let twice = self.deals.values().any(|deliveries| deliveries.len() > 1);
        if twice || of_deals != expect {
            let complaint = format!("{} deals of {} deliveries", of_deals.len(), expect.len());
            return Err(Fault(complaint));
        }
        Ok(())
    }

    /// Whether its raw delivery is there once, with one deal; or it waits for its
    /// conversion.
    fn have(&self, id: &str) -> bool {
        let body = lead(id).to_string().into_bytes();
        let Some([(delivery, status)]) = self.deliveries.get(&body).map(Vec::as_slice) else {
            return false;
        };
        match self.deals.get(id).map(Vec::as_slice) {
            Some([of]) => of == delivery && status == "converted",
            None => status == "queued" && self.queued.contains(delivery),
            _ => false,
        }
    }
}
