//! From a declaration to what the store is told: secrets get their values and
//! are sealed. A connection's fingerprint covers what its version counts, so
//! that applying the same file again is no new version; it is keyed, since
//! secrets go into it, and a new sealing key changes it, so that the next apply
//! seals everything anew.

use std::collections::BTreeMap;

use crate::domain::connection::Connection;
use crate::domain::id::base62;
use crate::seal::{Sealer, Secrets};
use crate::store::{Plan, PlannedConnection};

use super::ApplyError;
use super::connection::{DeclaredConnection, DeclaredSecret};
use super::declaration::Declaration;

/// Random characters of a generated secret: 190 bits.
const GENERATED_CHARACTERS: usize = 32;

pub struct Planned {
    pub plan: Plan,
    /// Secrets that were made now, by connection and name.
    pub generated: BTreeMap<String, BTreeMap<String, String>>,
}

pub fn plan(
    declaration: Declaration,
    before: &BTreeMap<String, Connection>,
    sealer: &Sealer,
) -> Result<Planned, ApplyError> {
    let mut generated = BTreeMap::new();
    let mut connections = Vec::with_capacity(declaration.connections.len());
    for connection in declaration.connections {
        let (secrets, made) = values(&connection, before.get(&connection.name), sealer)?;
        if !made.is_empty() {
            generated.insert(connection.name.clone(), made);
        }
        connections.push(seal(connection, &secrets, sealer));
    }
    Ok(Planned {
        plan: Plan {
            slug: declaration.slug,
            name: declaration.name,
            region: declaration.region,
            time_zone: declaration.time_zone,
            rate_limit: declaration.rate_limit,
            partners: declaration.partners,
            agents: declaration.agents,
            owners: declaration.owners,
            connections,
            products: declaration.products,
        },
        generated,
    })
}

/// The values of a connection's secrets, and those of them that were made now.
fn values(
    connection: &DeclaredConnection,
    before: Option<&Connection>,
    sealer: &Sealer,
) -> Result<(Secrets, BTreeMap<String, String>), ApplyError> {
    let generates = connection
        .secrets
        .values()
        .any(|secret| matches!(secret, DeclaredSecret::Generate(_)));
    let kept =
        match before {
            Some(before) if generates => sealer
                .open_secrets(&before.name, &before.sealed)
                .map_err(|source| ApplyError::Sealed {
                    connection: connection.name.clone(),
                    source,
                })?,
            _ => Secrets::default(),
        };
    let mut secrets = Secrets::default();
    let mut made = BTreeMap::new();
    for (name, secret) in &connection.secrets {
        match (secret, kept.get(name)) {
            (DeclaredSecret::Value(value), _) => secrets.insert(name, value),
            (DeclaredSecret::Generate(_), Some(value)) => secrets.insert(name, value),
            (DeclaredSecret::Generate(prefix), None) => {
                let value = format!("{prefix}{}", base62(GENERATED_CHARACTERS));
                secrets.insert(name, &value);
                made.insert(name.clone(), value);
            }
        }
    }
    Ok((secrets, made))
}

fn seal(connection: DeclaredConnection, secrets: &Secrets, sealer: &Sealer) -> PlannedConnection {
    let pairs: Vec<_> = secrets.iter().collect();
    let covered = serde_json::to_vec(&(&connection.plugin, &connection.config, pairs))
        .expect("texts are always JSON");
    let fingerprint = sealer.fingerprint(&zeroize::Zeroizing::new(covered));
    PlannedConnection {
        sealed: if secrets.is_empty() {
            Vec::new()
        } else {
            sealer.seal_secrets(&connection.name, secrets)
        },
        secrets: secrets.names().map(str::to_owned).collect(),
        fingerprint,
        name: connection.name,
        partner: connection.partner,
        plugin: connection.plugin,
        config: connection.config,
        agent: connection.agent,
        allow: connection.allow,
        checks: connection.checks,
        routes: connection.routes,
        region: connection.region,
        time_zone: connection.time_zone,
        dedupe_by_content: connection.dedupe_by_content,
    }
}
