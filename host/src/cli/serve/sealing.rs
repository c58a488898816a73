//! The sealing key, which decrypts the secrets of connections. Hosts that share a database must
//! have the same key: its id is in the store, and a host with another key does not start.

use std::path::Path;

use crate::cli::failure::Failure;
use crate::seal::{Environment, Sealer};
use crate::store::Store;

/// The hint for a host whose key differs from that of the fleet.
const HINT: &str = "give this host the sealing key of the other hosts: as LEADHOST_SEALING_KEY in its environment, or as sealing.key in its data folder (and remove sealing.id there)";

/// Returns the sealer with the key of this host, and records its id in the store.
///
/// # Errors
///
/// [`Failure`] if this host has no key or another one than the store, the key cannot be read or
/// created, or the store fails.
pub async fn sealer(store: &dyn Store, folder: &Path) -> Result<Sealer, Failure> {
    let failed = |error: &dyn std::fmt::Display| Failure::new(error.to_string());
    let environment = Environment::read();
    let known = store.sealing_key().await.map_err(|error| failed(&error))?;
    // A key generated here would be a different one.
    if let Some(known) = &known
        && !Sealer::has_key(folder, &environment)
    {
        return Err(Failure::new(format!(
            "the secrets in the database are sealed with key {known}, and this host has no key"
        ))
        .hint(HINT));
    }
    let sealer = Sealer::from_folder(folder, &environment).map_err(|error| failed(&error))?;
    let own = sealer.key_id();
    let counts = store
        .seal_with(&own, &sealer.old_key_ids())
        .await
        .map_err(|error| failed(&error))?;
    if counts != own {
        return Err(Failure::new(format!(
            "the secrets in the database are sealed with key {counts}, and this host has key {own}"
        ))
        .hint(HINT));
    }
    Ok(sealer)
}
