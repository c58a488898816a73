//! Connections as the intake needs them: opened once, kept for a second, so
//! that a lead costs no query for what hardly ever changes. What an operator
//! changes here counts at once, since it empties the cache; what another host
//! changes counts within the second.

use std::collections::{HashMap, HashSet};
use std::hash::Hash;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use crate::domain::connection::{Connection, ConnectionKind};
use crate::domain::exchange::{Location, Pairs, SenderCheck, SenderChecks};
use crate::domain::id::{AgentId, ConnectionId, WorkspaceId};
use crate::domain::plugin::Digest;
use crate::domain::time::Micros;
use crate::limits;
use crate::seal::{OpenError, Sealer, Secrets};
use crate::store::once::Once;
use crate::store::{Channel, Store, StoreError};
use crate::telemetry::{Content, Metrics};

/// How long an answer of the store stands, also about which ids there are.
const FRESH: Duration = Duration::from_secs(1);

/// Entries kept: past it those that are not fresh go, and then all.
const ENTRIES: usize = 10_000;

/// A connection with its secrets open.
#[derive(Debug)]
pub struct Live {
    pub connection: Connection,
    pub secrets: Secrets,
    /// Put together once and not for each delivery, by the version that declared.
    checks: Mutex<Option<(Digest, Arc<SenderChecks>)>>,
    /// Where it is counted what its deliveries give.
    content: OnceLock<Content>,
}

/// What versions declare for configurations of connections. A version declares the
/// same for the same configuration each time, so it is asked once.
#[derive(Default)]
pub struct Declared(Mutex<HashMap<DeclaredKey, Arc<SenderChecks>>>);

type DeclaredKey = (ConnectionId, i64, Digest);

impl Declared {
    fn key(connection: &Connection, digest: &Digest) -> DeclaredKey {
        let version = connection.config_version;
        (connection.id.clone(), version, digest.clone())
    }

    pub fn get(&self, connection: &Connection, digest: &Digest) -> Option<Arc<SenderChecks>> {
        let known = self.0.lock().expect("nobody panics holding it");
        known.get(&Self::key(connection, digest)).cloned()
    }

    pub fn keep(
        &self,
        connection: &Connection,
        digest: &Digest,
        declared: SenderChecks,
    ) -> Arc<SenderChecks> {
        let declared = Arc::new(declared);
        let mut known = self.0.lock().expect("nobody panics holding it");
        if known.len() >= ENTRIES {
            known.clear();
        }
        known.insert(Self::key(connection, digest), Arc::clone(&declared));
        declared
    }
}

impl Live {
    /// Where it is counted what its deliveries and fetches give.
    pub fn content(&self, metrics: &Metrics) -> &Content {
        self.content
            .get_or_init(|| metrics.content_of(&self.connection))
    }

    /// What the plugin version declares, and what the connection adds, if that was put
    /// together before.
    pub fn checks_of(&self, digest: &Digest) -> Option<Arc<SenderChecks>> {
        let checks = self.checks.lock().expect("nobody panics holding it");
        checks
            .as_ref()
            .filter(|(known, _)| known == digest)
            .map(|(_, checks)| Arc::clone(checks))
    }

    /// The same, put together and kept.
    pub fn with_own(&self, digest: &Digest, declared: &SenderChecks) -> Arc<SenderChecks> {
        let mut checks = declared.checks.clone();
        checks.extend(self.connection.checks.iter().cloned());
        let mut carried_secrets = declared.carried_secrets.clone();
        carried_secrets.extend(shown_as_they_are(&checks));
        let together = Arc::new(SenderChecks {
            checks,
            carried_secrets,
        });
        *self.checks.lock().expect("nobody panics holding it") =
            Some((digest.clone(), Arc::clone(&together)));
        together
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

type Cached<T, V> = HashMap<T, (Instant, V)>;

/// The cache. One per host.
pub struct Connections {
    store: Arc<dyn Store>,
    sealer: Arc<Sealer>,
    /// Those that exist. An old entry still says that an id is no guess.
    by_id: Mutex<Cached<ConnectionId, Arc<Live>>>,
    by_workspace: Mutex<Cached<WorkspaceId, Vec<Arc<Live>>>>,
    /// Ids that nobody had come with before, in this second.
    guesses: Mutex<Option<(Instant, u32)>>,
    /// Which ids there are, for when there are many of those: however many are
    /// guessed, the store is asked some times a second.
    ids: Mutex<Option<(Instant, Arc<HashSet<ConnectionId>>)>>,
    asked_ids: Once<(), Arc<HashSet<ConnectionId>>>,
    pub declared: Declared,
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
            guesses: Mutex::default(),
            ids: Mutex::default(),
            asked_ids: Once::default(),
            declared: Declared::default(),
            asked_by_id: Once::default(),
            asked_by_workspace: Once::default(),
        }
    }

    pub async fn get(&self, id: &ConnectionId) -> Result<Option<Arc<Live>>, ConnectionError> {
        if let Some(found) = fresh(&self.by_id, id) {
            return Ok(Some(found));
        }
        if !self.has_been(id) && !self.is_one_of_few() && !self.may_be(id).await? {
            return Ok(None);
        }
        let question = self.store.connection(id);
        let answer = self.asked_by_id.ask(id, question).await?;
        let found = answer
            .value
            .map(|connection| self.open(connection))
            .transpose()?;
        if answer.may_be_kept {
            match &found {
                Some(found) => keep(&self.by_id, id.clone(), Arc::clone(found)),
                None => drop(
                    self.by_id
                        .lock()
                        .expect("nobody panics holding it")
                        .remove(id),
                ),
            }
        }
        Ok(found)
    }

    fn has_been(&self, id: &ConnectionId) -> bool {
        self.by_id
            .lock()
            .expect("nobody panics holding it")
            .contains_key(id)
    }

    /// Whether few come with an id that is not known: then the store is asked for it.
    fn is_one_of_few(&self) -> bool {
        let mut guesses = self.guesses.lock().expect("nobody panics holding it");
        let (since, count) = guesses
            .filter(|(since, _)| since.elapsed() < FRESH)
            .unwrap_or((Instant::now(), 0));
        *guesses = Some((since, count.saturating_add(1)));
        count < limits::GUESSES_ASKED
    }

    /// Whether the id is one of those that there were within the last second.
    async fn may_be(&self, id: &ConnectionId) -> Result<bool, StoreError> {
        let known = self.ids.lock().expect("nobody panics holding it").clone();
        if let Some((since, ids)) = known
            && since.elapsed() < FRESH
        {
            return Ok(ids.contains(id));
        }
        // Believed from before the question, so that no answer is believed too long.
        let since = Instant::now();
        let question = async { Ok(Arc::new(self.store.connection_ids().await?)) };
        let answer = self.asked_ids.ask(&(), question).await?;
        let found = answer.value.contains(id);
        if answer.may_be_kept {
            *self.ids.lock().expect("nobody panics holding it") = Some((since, answer.value));
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
        self.asked_ids.forget();
        *self.ids.lock().expect("nobody panics holding it") = None;
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
            checks: Mutex::default(),
            content: OnceLock::new(),
        }))
    }
}

fn fresh<K: Hash + Eq, V: Clone>(cache: &Mutex<Cached<K, V>>, key: &K) -> Option<V> {
    let cache = cache.lock().expect("nobody panics holding it");
    cache
        .get(key)
        .filter(|(since, _)| since.elapsed() < FRESH)
        .map(|(_, found)| found.clone())
}

fn keep<K: Hash + Eq, V>(cache: &Mutex<Cached<K, V>>, key: K, found: V) {
    let mut cache = cache.lock().expect("nobody panics holding it");
    if cache.len() >= ENTRIES && !cache.contains_key(&key) {
        cache.retain(|_, (since, _)| since.elapsed() < FRESH);
        if cache.len() >= ENTRIES {
            cache.clear();
        }
    }
    cache.insert(key, (Instant::now(), found));
}

/// Where an instance's provider sends its webhooks to.
pub fn webhook_path(instance: AgentId, token: &ConnectionId) -> String {
    format!("/channel-webhook/{instance}/{token}")
}
