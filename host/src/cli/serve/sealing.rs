//! The sealing key, which decrypts the secrets of connections. A host without a key of the store
//! does not start. The first start binds the store to its key: the key's id is in the store, before a
//! secret is sealed with it. Hosts that share a database must have the same key; in a file, each sealed
//! secret names its key too.

use std::collections::BTreeSet;

use crate::cli::prelude::*;
use leadhost_egress::seal::{self, Environment, KeyError, Sealer};
use leadhost_store::{Store, StoreError};

/// The hint for a host whose key differs from the fleet's.
const HINT: &str = "give this host the sealing key of the other hosts: as LEADHOST_SEALING_KEY in its environment, or as sealing.key in its data folder (and remove sealing.id there)";

/// Returns the sealer with the key of this host, and records its id in the store. With `another`,
/// the host's key, or a new one, replaces the store's, whose secrets are then lost.
pub async fn sealer(
    store: &Store,
    folder: &Path,
    another: bool,
    flags: &ServiceFlags,
) -> CommandResult<Sealer> {
    let failed = |error: &dyn std::fmt::Display| CommandFailure::new(error.to_string());
    let environment = Environment::read();
    let known = store.sealing_key().await.map_err(|error| failed(&error))?;
    if another {
        Sealer::forget_key(folder).map_err(|error| failed(&error))?;
    } else if let Some(known) = known.as_ref().filter(|_| store.is_shared())
        && !Sealer::has_key(folder, &environment)
    {
        // A key generated here would be a different one.
        return Err(failed!(
            "the secrets in the database are sealed with key {known}, and this host has no key"
        )
        .hint(HINT));
    }
    let is_settled = another || (store.is_shared() && known.is_some());
    let mut sealed_with = if is_settled {
        BTreeSet::new()
    } else {
        keys_of_secrets(store)
            .await
            .map_err(|error| failed(&error))?
    };
    if !is_settled {
        sealed_with.extend(known.clone());
    }
    let sealer = Sealer::for_secrets(folder, &environment, &sealed_with).map_err(|error| {
        let failure = failed(&error);
        match error {
            // On a shared store the other hosts may still have the key.
            KeyError::Missing { .. } | KeyError::Another { .. } if !store.is_shared() => failure
                .hint(format!(
                    "if that key is lost, start once with `{}`, then apply the secrets again",
                    flags.command("serve --new-sealing-key")
                )),
            _ => failure,
        }
    })?;
    let own = sealer.key_id();
    if known.as_ref() == Some(&own) {
        return Ok(sealer);
    }
    let mut older = sealer.old_key_ids();
    older.extend(known.filter(|_| another));
    let counts = store
        .seal_with(&own, &older)
        .await
        .map_err(|error| failed(&error))?;
    if counts != own {
        return Err(failed!(
            "the secrets in the database are sealed with key {counts}, and this host has key {own}"
        )
        .hint(HINT));
    }
    Ok(sealer)
}

async fn keys_of_secrets(store: &Store) -> Result<BTreeSet<String>, StoreError> {
    let connections = store.connections(None).await?;
    let sealed = connections.iter().map(|connection| &connection.sealed);
    Ok(sealed
        .filter_map(|sealed| seal::sealed_with(sealed))
        .collect())
}
