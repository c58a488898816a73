//! Connections as the intake needs them: opened once, kept for a second, so
//! that a lead costs no query for what hardly ever changes. What an operator
//! changes here counts at once, since it empties the cache; what another host
//! changes counts within the second.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::domain::connection::{Connection, ConnectionKind};
use crate::domain::exchange::{Location, Pairs, SenderCheck, SenderChecks};
use crate::domain::id::{AgentId, ConnectionId, WorkspaceId};
use crate::domain::plugin::Digest;
use crate::domain::time::Micros;
use crate::seal::{OpenError, Sealer, Secrets};
use crate::store::once::Once;
use crate::store::{Channel, Store, StoreError};

/// How long an answer of the store stands, also that there is no such connection.
const FRESH: Duration = Duration::from_secs(1);

/// Entries kept: past it the cache starts anew. Guessed ids must not fill memory.
const ENTRIES: usize = 10_000;

/// A connection with its secrets open.
#[derive(Debug)]
pub struct Live {
    pub connection: Connection,
    pub secrets: Secrets,
    /// What the plugin declares for this configuration, by the version that declared it.
    checks: Mutex<Option<(Digest, Arc<SenderChecks>)>>,
}

impl Live {
    /// What the plugin version declared, if it was asked before.
    pub fn checks_of(&self, digest: &Digest) -> Option<Arc<SenderChecks>> {
        let checks = self.checks.lock().expect("nobody panics holding it");
        checks
            .as_ref()
            .filter(|(known, _)| known == digest)
            .map(|(_, checks)| Arc::clone(checks))
    }

    /// Remembers what the plugin version declares, and what the connection adds.
    pub fn declare(&self, digest: &Digest, mut declared: SenderChecks) -> Arc<SenderChecks> {
        declared
            .checks
            .extend(self.connection.checks.iter().cloned());
        let carried = shown_as_they_are(&declared.checks);
        declared.carried_secrets.extend(carried);
        let declared = Arc::new(declared);
        *self.checks.lock().expect("nobody panics holding it") =
            Some((digest.clone(), Arc::clone(&declared)));
        declared
    }

    /// What is known of the checks without asking the plugin.
    pub fn own_checks(&self) -> SenderChecks {
        let checks = self.connection.checks.clone();
        SenderChecks {
            carried_secrets: shown_as_they_are(&checks),
            checks,
        }
    }

    /// Attributes of the place that a delivery came to.
    pub fn context(&self) -> Pairs {
        vec![
            ("time-zone".to_owned(), self.connection.time_zone.clone()),
            ("region".to_owned(), self.connection.region.clone()),
        ]
    }

    /// The instance that messages go through; `None` of a source.
    pub fn channel(&self) -> Option<Channel> {
        let connection = &self.connection;
        let settings = &connection.settings;
        Some(Channel {
            workspace: connection.workspace,
            connection: connection.id.clone(),
            agent: connection
                .agent
                .filter(|_| connection.kind == ConnectionKind::Channel)?,
            agent_kind: settings.agent_kind,
            channel: settings.channel.clone(),
            unanswered_after: settings.unanswered_seconds.saturating_mul(Micros::SECOND),
            idle_after: settings.idle_seconds.saturating_mul(Micros::SECOND),
        })
    }

    /// For the log: the name of a source.
    pub fn source_name(&self) -> Option<&str> {
        self.name_of_kind(ConnectionKind::Source)
    }

    /// For the log: the name of an instance.
    pub fn instance_name(&self) -> Option<&str> {
        self.name_of_kind(ConnectionKind::Channel)
    }

    fn name_of_kind(&self, kind: ConnectionKind) -> Option<&str> {
        let connection = &self.connection;
        (connection.kind == kind).then_some(connection.name.as_str())
    }

    /// Whether the connection answers to one of the route's names and values.
    pub fn answers_to(&self, route: &Pairs) -> bool {
        route.iter().any(|(name, value)| {
            self.connection
                .routes
                .get(name)
                .is_some_and(|values| values.contains(value))
        })
    }

    /// Whether it says which values of one of the route's names are its own.
    pub fn claims_some_of(&self, route: &Pairs) -> bool {
        route
            .iter()
            .any(|(name, _)| self.connection.routes.contains_key(name))
    }
}

/// Where senders present a secret itself and no proof of it: masked there, also
/// when it is the wrong one. Not in JSON, where members of a lead may have the
/// same name: there the right one is known by its value, and what else is to be
/// masked the plugin declares.
fn shown_as_they_are(checks: &[SenderCheck]) -> Vec<Location> {
    checks
        .iter()
        .filter(|check| !check.scheme.starts_with("hmac-") && check.proof.place != "json")
        .map(|check| check.proof.clone())
        .collect()
}

#[derive(Debug, thiserror::Error)]
pub enum ConnectionError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("the secrets of connection {id} cannot be opened: {source}")]
    Sealed { id: ConnectionId, source: OpenError },
}

type Cached<T> = HashMap<T, (Instant, Vec<Arc<Live>>)>;

/// The cache. One per host.
pub struct Connections {
    store: Arc<dyn Store>,
    sealer: Arc<Sealer>,
    by_id: Mutex<Cached<ConnectionId>>,
    by_workspace: Mutex<Cached<WorkspaceId>>,
    asked_by_id: Once<ConnectionId, Option<Connection>>,
    asked_by_workspace: Once<WorkspaceId, Vec<Connection>>,
}

impl Connections {
    pub fn new(store: Arc<dyn Store>, sealer: Arc<Sealer>) -> Self {
        Self {
            store,
            sealer,
            by_id: Mutex::default(),
            by_workspace: Mutex::default(),
            asked_by_id: Once::default(),
            asked_by_workspace: Once::default(),
        }
    }

    pub async fn get(&self, id: &ConnectionId) -> Result<Option<Arc<Live>>, ConnectionError> {
        if let Some(found) = fresh(&self.by_id, id) {
            return Ok(found.into_iter().next());
        }
        let question = self.store.connection(id);
        let answer = self.asked_by_id.ask(id, question).await?;
        let found = answer
            .value
            .map(|connection| self.open(connection))
            .transpose()?;
        if answer.may_be_kept {
            keep(&self.by_id, id.clone(), found.iter().cloned().collect());
        }
        Ok(found)
    }

    /// All connections of a workspace.
    pub async fn of_workspace(
        &self,
        workspace: WorkspaceId,
    ) -> Result<Vec<Arc<Live>>, ConnectionError> {
        if let Some(found) = fresh(&self.by_workspace, &workspace) {
            return Ok(found);
        }
        let question = self.store.connections(Some(workspace));
        let answer = self.asked_by_workspace.ask(&workspace, question).await?;
        let connections = answer.value.into_iter();
        let found: Vec<_> = connections
            .map(|connection| self.open(connection))
            .collect::<Result<_, _>>()?;
        if answer.may_be_kept {
            keep(&self.by_workspace, workspace, found.clone());
        }
        Ok(found)
    }

    /// The channel of an instance of the workspace, if it has one.
    pub async fn of_instance(
        &self,
        workspace: WorkspaceId,
        instance: AgentId,
    ) -> Result<Option<Arc<Live>>, ConnectionError> {
        let all = self.of_workspace(workspace).await?;
        Ok(all.into_iter().find(|live| {
            live.connection.kind == ConnectionKind::Channel
                && live.connection.agent == Some(instance)
        }))
    }

    /// The connection that an item or event with this route belongs to. A source that
    /// has one address for all pages names the page; the connection that
    /// claims it gets it. One that claims no values of that name takes what
    /// nobody claims, so that a lone connection needs no routes. Whether the one
    /// may speak for the other is `Routing`'s to say.
    pub async fn route(
        &self,
        received_by: &Arc<Live>,
        route: &Pairs,
    ) -> Result<Option<Arc<Live>>, ConnectionError> {
        if route.is_empty() || received_by.answers_to(route) {
            return Ok(Some(Arc::clone(received_by)));
        }
        let own = &received_by.connection;
        let siblings = self.of_workspace(own.workspace).await?;
        let claimed = siblings.into_iter().find(|other| {
            other.connection.kind == own.kind
                && other.connection.plugin == own.plugin
                && other.connection.id != own.id
                && other.answers_to(route)
        });
        Ok(claimed
            .or_else(|| (!received_by.claims_some_of(route)).then(|| Arc::clone(received_by))))
    }

    /// Forgets everything: an operator changed something.
    pub fn forget(&self) {
        self.asked_by_id.forget();
        self.asked_by_workspace.forget();
        self.by_id.lock().expect("nobody panics holding it").clear();
        self.by_workspace
            .lock()
            .expect("nobody panics holding it")
            .clear();
    }

    fn open(&self, connection: Connection) -> Result<Arc<Live>, ConnectionError> {
        let secrets = self
            .sealer
            .open_secrets(&connection.name, &connection.sealed)
            .map_err(|source| ConnectionError::Sealed {
                id: connection.id.clone(),
                source,
            })?;
        Ok(Arc::new(Live {
            connection,
            secrets,
            checks: Mutex::new(None),
        }))
    }
}

fn fresh<K: std::hash::Hash + Eq>(cache: &Mutex<Cached<K>>, key: &K) -> Option<Vec<Arc<Live>>> {
    let cache = cache.lock().expect("nobody panics holding it");
    cache
        .get(key)
        .filter(|(since, _)| since.elapsed() < FRESH)
        .map(|(_, found)| found.clone())
}

fn keep<K: std::hash::Hash + Eq>(cache: &Mutex<Cached<K>>, key: K, found: Vec<Arc<Live>>) {
    let mut cache = cache.lock().expect("nobody panics holding it");
    if cache.len() >= ENTRIES {
        cache.clear();
    }
    cache.insert(key, (Instant::now(), found));
}
