//! What is in a data folder after the power came back.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use leadhost::clock::SystemClock;
use leadhost::seal::{Environment, Sealer};
use leadhost::store::{self, Location};
use leadhost_tests::load::lead;
use serde_json::Value;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{ConnectOptions as _, Connection as _};

/// What is wrong with a folder: it is refused, or not whole, or acknowledged leads are
/// not in it.
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

/// Opens the store and the key of its secrets as the service does, and compares it with
/// what was acknowledged.
pub async fn check(folder: &Path, acknowledged: &[&str]) -> Result<(), Fault> {
    let file = folder.join("leadhost.db");
    let location = Location::File(file.clone());
    let store = store::open_remembered(&location, Arc::new(SystemClock), folder).await?;
    Sealer::of_folder(folder, &Environment::default())?;
    let options = SqliteConnectOptions::new().filename(&file).read_only(true);
    let mut connection = options.connect().await?;
    is_whole(&mut connection, folder).await?;
    let leads = Leads::read(&mut connection).await?;
    connection.close().await?;
    leads.are_consistent()?;
    let lost: Vec<_> = acknowledged.iter().filter(|id| !leads.have(id)).collect();
    if !lost.is_empty() {
        return Err(Fault(format!("{} leads are lost: {lost:?}", lost.len())));
    }
    store.try_write().await?;
    Ok(())
}

async fn is_whole(connection: &mut SqliteConnection, folder: &Path) -> Result<(), Fault> {
    let said: Vec<String> = sqlx::query_scalar(INTEGRITY)
        .fetch_all(&mut *connection)
        .await?;
    if said != ["ok"] {
        return Err(Fault(said.join("; ")));
    }
    let broken: i64 = sqlx::query_scalar(REFERENCES)
        .fetch_one(&mut *connection)
        .await?;
    if broken > 0 {
        return Err(Fault(format!("{broken} references to nothing")));
    }
    // A host that has seen more than there is takes the store for a restored one, and
    // writes nothing for a while.
    let newest: i64 = sqlx::query_scalar(NEWEST)
        .fetch_one(&mut *connection)
        .await?;
    if let Ok(sight) = std::fs::read(folder.join("store.seen")) {
        let sight: Value = serde_json::from_slice(&sight)?;
        if sight["newest"].as_i64() > Some(newest) {
            let complaint = format!("{sight} was seen, and the newest stamp is {newest}");
            return Err(Fault(complaint));
        }
    }
    Ok(())
}

struct Leads {
    /// Deliveries by what was sent: id and status.
    deliveries: BTreeMap<Vec<u8>, Vec<(String, String)>>,
    /// The deliveries of deals by the lead's own id.
    deals: BTreeMap<String, Vec<String>>,
}

impl Leads {
    async fn read(connection: &mut SqliteConnection) -> Result<Self, Fault> {
        let rows: Vec<(String, String, Vec<u8>)> = sqlx::query_as(DELIVERIES)
            .fetch_all(&mut *connection)
            .await?;
        let mut deliveries = BTreeMap::<_, Vec<_>>::new();
        for (id, status, body) in rows {
            deliveries.entry(body).or_default().push((id, status));
        }
        let rows: Vec<(String, String)> = sqlx::query_as(DEALS).fetch_all(&mut *connection).await?;
        let mut deals = BTreeMap::<_, Vec<_>>::new();
        for (external_id, delivery) in rows {
            deals.entry(external_id).or_default().push(delivery);
        }
        Ok(Self { deliveries, deals })
    }

    /// Also of what was not acknowledged nothing is there by half.
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

    /// Its raw delivery, once, and its deal, once; or it waits to be converted.
    fn have(&self, id: &str) -> bool {
        let body = lead(id).to_string().into_bytes();
        let Some([(delivery, status)]) = self.deliveries.get(&body).map(Vec::as_slice) else {
            return false;
        };
        match self.deals.get(id).map(Vec::as_slice) {
            Some([of]) => of == delivery && status == "converted",
            None => status == "queued",
            _ => false,
        }
    }
}
