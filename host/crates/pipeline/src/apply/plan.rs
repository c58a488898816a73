//! From a declaration to the plan for the store: secrets get their values and are sealed. A
//! connection's fingerprint covers everything that its version counts, so that applying the
//! same file again creates no new version. The fingerprint is keyed, because it covers
//! secrets. A new sealing key changes it, so that the next apply seals everything again.

use crate::prelude::*;
use leadhost_domain::connection::ConnectionSettings;
use leadhost_domain::id::base62;
use leadhost_egress::seal::{Sealer, Secrets};
use leadhost_store::{Announcement, Applied, Plan, PlannedConnection};

use super::binding::DeclaredSecret;
use super::connection::DeclaredConnection;
use super::declaration::Declaration;
use super::outcome::ApplyError;
use crate::fleet;

/// Random characters of a generated secret: 190 bits.
const GENERATED_CHARACTERS: usize = 32;

pub struct Planned {
    pub plan: Plan,
    pub generated: Generated,
}

/// Secrets that this apply generated, by name, for connections and instances.
#[derive(Debug, Default)]
pub struct Generated {
    pub connections: BTreeMap<String, BTreeMap<String, String>>,
    pub instances: BTreeMap<String, BTreeMap<String, String>>,
}

/// `workspace`: the id that the workspace has, or gets if it is new. Secrets are sealed for it.
pub fn plan(
    declaration: Declaration,
    workspace: WorkspaceId,
    before: &[Connection],
    sealer: &Sealer,
    now: Micros,
) -> Result<Planned, ApplyError> {
    let mut generated = Generated::default();
    let mut connections = Vec::with_capacity(declaration.connections.len());
    for connection in declaration.connections {
        let known = before
            .iter()
            .find(|one| one.kind == connection.kind && one.name == connection.name);
        let (secrets, made) = values(&connection, known, sealer)?;
        if !made.is_empty() {
            let of_kind = match connection.kind {
                ConnectionKind::Source => &mut generated.connections,
                ConnectionKind::Channel => &mut generated.instances,
            };
            of_kind.insert(connection.name.clone(), made);
        }
        let secrets_at = times(&secrets, known, sealer, now);
        connections.push(seal(connection, workspace, &secrets, secrets_at, sealer));
    }
    Ok(Planned {
        plan: Plan {
            workspace,
            is_part: false,
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

fn values(
    connection: &DeclaredConnection,
    before: Option<&Connection>,
    sealer: &Sealer,
) -> Result<(Secrets, BTreeMap<String, String>), ApplyError> {
    let declared = &connection.binding.secrets;
    let generates = declared
        .values()
        .any(|secret| matches!(secret, DeclaredSecret::Generate(_)));
    let kept = match before {
        Some(before) if generates => sealer
            .open_secrets(before.workspace, &before.name, &before.sealed)
            .map_err(|source| ApplyError::Sealed {
                connection: connection.name.clone(),
                source,
            })?,
        _ => Secrets::default(),
    };
    let mut secrets = Secrets::default();
    let mut made = BTreeMap::new();
    for (name, secret) in declared {
        match (secret, kept.get(name)) {
            (DeclaredSecret::Value(value), _) => secrets.insert(name, value),
            (DeclaredSecret::Generate(_), Some(value)) => secrets.insert(name, value),
            (DeclaredSecret::Generate(prefix), None) => {
                let value = new_secret(prefix);
                secrets.insert(name, &value);
                made.insert(name.clone(), value);
            }
        }
    }
    Ok((secrets, made))
}

pub(super) fn new_secret(prefix: &str) -> String {
    format!("{prefix}{}", base62(GENERATED_CHARACTERS))
}

/// Returns when each secret got its value: now, unless it is the one that it had. If the former secrets
/// cannot be decrypted, every value in the file counts as new.
fn times(
    secrets: &Secrets,
    before: Option<&Connection>,
    sealer: &Sealer,
    now: Micros,
) -> BTreeMap<String, Micros> {
    let before = before.and_then(|before| {
        let opened = sealer.open_secrets(before.workspace, &before.name, &before.sealed);
        let opened = opened.ok()?;
        Some((before, opened))
    });
    let at = |name: &str, value: &str| match &before {
        Some((before, had)) if had.get(name) == Some(value) => before.secrets_at.get(name).copied(),
        _ => Some(now),
    };
    let times = secrets
        .iter()
        .map(|(name, value)| Some((name.to_owned(), at(name, value)?)));
    times.flatten().collect()
}

fn seal(
    connection: DeclaredConnection,
    workspace: WorkspaceId,
    secrets: &Secrets,
    secrets_at: BTreeMap<String, Micros>,
    sealer: &Sealer,
) -> PlannedConnection {
    let pairs: Vec<_> = secrets.iter().collect();
    let binding = connection.binding;
    let covered = serde_json::to_vec(&(&binding.plugin, &binding.config, pairs))
        .expect("texts are always JSON");
    let fingerprint = sealer.fingerprint(&zeroize::Zeroizing::new(covered));
    PlannedConnection {
        sealed: if secrets.is_empty() {
            Vec::new()
        } else {
            sealer.seal_secrets(workspace, &connection.name, secrets)
        },
        secrets: secrets.names().map(str::to_owned).collect(),
        secrets_at,
        fingerprint,
        based_on: None,
        name: connection.name,
        kind: connection.kind,
        partner: connection.partner,
        plugin: binding.plugin,
        config: binding.config,
        agent: connection.agent,
        allow: binding.allow,
        checks: binding.checks,
        routes: binding.routes,
        region: binding.region,
        time_zone: binding.time_zone,
        dedupe_by_content: connection.dedupe_by_content,
        settings: ConnectionSettings {
            reply_secrets: binding.reply_secrets,
            ..connection.settings
        },
    }
}

/// Writes to the store, and then announces the change to every host.
pub async fn carry_out(
    pipeline: &Pipeline,
    plan: &Plan,
    dry_run: bool,
) -> Result<Applied, StoreError> {
    let applied = pipeline
        .store
        .apply(plan, pipeline.clock.now(), dry_run)
        .await?;
    if !dry_run {
        fleet::announce(pipeline, Announcement::Connections).await;
        // The cached entries of keys contain settings of their workspace.
        fleet::announce(pipeline, Announcement::Keys).await;
        tracing::info!(
            workspace = plan.slug,
            changes = applied.changes.len(),
            "workspace applied"
        );
    }
    Ok(applied)
}
