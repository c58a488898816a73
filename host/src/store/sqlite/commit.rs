//! One batch, one transaction: hold the write lock, read the clock, load what
//! the writes touch, decide in memory, save what changed, stamp, commit.

use sqlx::sqlite::SqliteConnection;

use super::db::Db;
use super::{load, save, stamp};
use crate::clock::Clock;
use crate::store::decide::{self, Known};
use crate::store::{StoreError, Write, Written};

pub async fn commit(
    db: &Db,
    clock: &dyn Clock,
    writes: &[Write],
) -> Result<Vec<Written>, StoreError> {
    if writes.is_empty() {
        return Ok(Vec::new());
    }
    let mut transaction = db.begin().await?;
    // Read after the lock is held: see `stamp`.
    let now = clock.now();
    let connection = &mut transaction.connection;
    let mut known = load_for(connection, writes).await?;
    known.now = now;
    let written = decide::all(&mut known, writes)?;
    save::rows(connection, &known, writes).await?;
    let stamps = stamp::allocate(connection, &known).await?;
    save::stamped(connection, &known, &stamps).await?;
    transaction.commit().await?;
    Ok(written)
}

async fn load_for(
    connection: &mut SqliteConnection,
    writes: &[Write],
) -> Result<Known, StoreError> {
    let mut known = Known::default();
    let stored = decide::needs(writes, |_| None).deliveries;
    load::deliveries(connection, &mut known, &stored).await?;
    let mut needs = decide::needs(writes, |id| known.deliveries.get(&id));
    // A fetch that ends lets go of its key.
    needs.claims.extend(
        known
            .fetches
            .values()
            .filter_map(|fetch| Some((fetch.connection.clone(), fetch.dedupe_key.clone()?))),
    );
    load::claims(connection, &mut known, &needs.claims).await?;
    load::others(connection, &mut known, &needs).await?;
    load::contacts_by_key(connection, &mut known, &needs.contact_keys).await?;
    load::products(connection, &mut known, &needs.products).await?;
    load::products_by_id(connection, &mut known, &needs.product_ids).await?;
    load::owners(connection, &mut known, &needs.owners).await?;
    load::first_agents(connection, &mut known, &needs.first_agents).await?;
    load::quarantine(connection, &mut known, &needs.quarantine).await?;
    let deals = deals_that_may_change(&known, &needs);
    load::deals(connection, &mut known, &deals).await?;
    load::dialogue::all(connection, &mut known, &needs).await?;
    Ok(known)
}

fn deals_that_may_change(
    known: &Known,
    needs: &decide::Needs,
) -> std::collections::BTreeSet<crate::domain::id::DealId> {
    let of_claims = needs
        .deals_of_claims
        .iter()
        .filter_map(|key| known.claims.get(key)?.deal);
    let of_items = needs
        .deals_of_deliveries
        .iter()
        .filter_map(|id| known.deliveries.get(id))
        .flat_map(|delivery| delivery.items.values())
        .filter_map(|item| item.deal);
    let named = needs.deals.iter().map(|(_, id)| *id);
    of_claims.chain(of_items).chain(named).collect()
}
