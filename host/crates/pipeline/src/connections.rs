//! Connections as the intake uses them: decrypted once and cached for a second, so that a
//! lead needs no query for data that rarely changes. An operator's change on this host
//! takes effect at once, because it clears the cache; a change on another host takes effect
//! within the second.

use std::hash::Hash;
use std::sync::{Mutex, OnceLock};

use crate::prelude::*;
use leadhost_domain::exchange::{Place, SenderCheck, SenderChecks, ValueLocation};
use leadhost_egress::seal::{OpenError, Sealer, Secrets};
use leadhost_plugin::TRIAL_LANE;
use leadhost_store::singleflight::SingleFlight;
use leadhost_store::{Channel, Store};
use leadhost_telemetry::{ConversionCounters, Metrics};
use leadhost_trace::{self as trace, Span, SpanKind};

/// The age up to which a cached answer of the store is used, also for the set of existing ids.
const FRESH: Duration = Duration::from_secs(1);

/// Bound of the cache. Above it stale entries are removed, and then all.
const ENTRIES: usize = 10_000;

#[derive(Debug)]
pub struct Live {
    pub connection: Connection,
    pub secrets: Secrets,
    /// Computed once for the version that declared them, not for each delivery.
    checks: Mutex<Option<(Digest, Arc<SenderChecks>)>>,
    /// The counters for the contents of its deliveries.
    content: OnceLock<ConversionCounters>,
}

/// The checks that versions declare for configurations of connections. A version always
/// declares the same for the same configuration, so it is asked once.
#[derive(Default)]
pub struct DeclaredChecks(Mutex<HashMap<SenderChecksKey, Arc<SenderChecks>>>);

type SenderChecksKey = (ConnectionId, i64, Digest);

impl DeclaredChecks {
    fn key(connection: &Connection, digest: &Digest) -> SenderChecksKey {
        let version = connection.config_version;
        (connection.id.clone(), version, digest.clone())
    }

    pub fn get(&self, connection: &Connection, digest: &Digest) -> Option<Arc<SenderChecks>> {
        let known = self.0.lock().expect("the lock is not poisoned");
        known.get(&Self::key(connection, digest)).cloned()
    }

    pub fn keep(
        &self,
        connection: &Connection,
        digest: &Digest,
        declared: SenderChecks,
    ) -> Arc<SenderChecks> {
        let declared = Arc::new(declared);
        let mut known = self.0.lock().expect("the lock is not poisoned");
        if known.len() >= ENTRIES {
            known.clear();
        }
        known.insert(Self::key(connection, digest), Arc::clone(&declared));
        declared
    }
}

impl Live {
    pub fn lane(&self, budget: CallBudget) -> &str {
        match budget {
            CallBudget::Trial => TRIAL_LANE,
            _ => self.connection.id.as_str(),
        }
    }

    pub fn content(&self, metrics: &Metrics) -> &ConversionCounters {
        self.content
            .get_or_init(|| metrics.plugins.conversion_counters(&self.connection))
    }

    /// Returns the checks of the plugin version and of the connection, if they were
    /// combined before.
    pub fn checks_of(&self, digest: &Digest) -> Option<Arc<SenderChecks>> {
        let checks = self.checks.lock().expect("the lock is not poisoned");
        checks
            .as_ref()
            .filter(|(known, _)| known == digest)
            .map(|(_, checks)| Arc::clone(checks))
    }

    pub fn with_own(&self, digest: &Digest, declared: &SenderChecks) -> Arc<SenderChecks> {
        let together = Arc::new(self.combined(declared));
        *self.checks.lock().expect("the lock is not poisoned") =
            Some((digest.clone(), Arc::clone(&together)));
        together
    }

    pub fn combined(&self, declared: &SenderChecks) -> SenderChecks {
        let mut checks = declared.checks.clone();
        checks.extend(self.connection.checks.iter().cloned());
        let mut carried_secrets = declared.carried_secrets.clone();
        carried_secrets.extend(shown_as_they_are(&checks));
        SenderChecks {
            checks,
            carried_secrets,
        }
    }

    pub fn own_checks(&self) -> SenderChecks {
        let checks = self.connection.checks.clone();
        SenderChecks {
            carried_secrets: shown_as_they_are(&checks),
            checks,
        }
    }

    /// Returns the attributes of the address that received a delivery.
    pub fn context(&self) -> Pairs {
        vec![
            ("time-zone".to_owned(), self.connection.time_zone.clone()),
            ("region".to_owned(), self.connection.region.clone()),
        ]
    }

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
            unanswered_after: settings.unanswered_after,
            idle_after: settings.idle_after,
        })
    }

    pub fn source_name(&self) -> Option<&str> {
        self.name_of_kind(ConnectionKind::Source)
    }

    pub fn instance_name(&self) -> Option<&str> {
        self.name_of_kind(ConnectionKind::Channel)
    }

    fn name_of_kind(&self, kind: ConnectionKind) -> Option<&str> {
        let connection = &self.connection;
        (connection.kind == kind).then_some(connection.name.as_str())
    }

    pub fn without_secrets(connection: Connection) -> Self {
        Self {
            connection,
            secrets: Secrets::default(),
            checks: Mutex::default(),
            content: OnceLock::new(),
        }
    }

    fn is_meant_by(&self, route: &Pairs) -> bool {
        route.is_empty() || self.answers_to(route)
    }

    pub fn answers_to(&self, route: &Pairs) -> bool {
        route.iter().any(|(name, value)| {
            self.connection
                .routes
                .get(name)
                .is_some_and(|values| values.contains(value))
        })
    }

    pub fn claims_some_of(&self, route: &Pairs) -> bool {
        route
            .iter()
            .any(|(name, _)| self.connection.routes.contains_key(name))
    }
}

/// The places in which senders present a secret itself instead of a proof of it. They are
/// masked even if the secret is wrong. JSON is left out, because members of a lead may have
/// the same name: there the right secret is found by its value, and the plugin declares
/// anything else to mask.
fn shown_as_they_are(checks: &[SenderCheck]) -> Vec<ValueLocation> {
    let is_masked_by_name = |place: Place| match place {
        Place::Header | Place::Query | Place::Form => true,
        Place::Json => false,
    };
    checks
        .iter()
        .filter(|check| !check.scheme.signs() && is_masked_by_name(check.proof.place))
        .map(|check| check.proof.clone())
        .collect()
}

/// Begins the span that takes in a message, which a later job may send. It names the adapter and the
/// instance, and no recipient.
pub fn accepting(message: MessageId, adapter: &str, instance: &str) -> Span {
    let span = trace::span_of(message.0, "accept message", SpanKind::Producer);
    describe_message(&span, message, (adapter, instance), "create");
    span
}

/// Adds what all spans of a message say of it, of its adapter and of its instance.
pub fn describe_message(
    span: &Span,
    message: MessageId,
    (adapter, instance): (&str, &str),
    operation: &'static str,
) {
    if span.is_on() {
        span.set("messaging.system", adapter.to_owned());
        span.set("messaging.operation.name", operation);
        span.set("messaging.operation.type", operation);
        span.set("messaging.destination.name", instance.to_owned());
        span.set("messaging.message.id", message.to_string());
        span.set("leadhost.message.id", message.to_string());
    }
}

/// Returns the connection that answers to the route: the one that received the delivery, or another
/// one of its workspace and plugin. `None` if no connection answers to the route, or one that is
/// retired: no other connection may take its leads.
pub fn answering(
    received_by: &Arc<Live>,
    of_workspace: impl IntoIterator<Item = Arc<Live>>,
    route: &Pairs,
) -> Option<Arc<Live>> {
    if received_by.is_meant_by(route) {
        return Some(Arc::clone(received_by));
    }
    let own = &received_by.connection;
    let (mut claimed, mut is_retired) = (None, false);
    for other in of_workspace {
        let answers = other.connection.kind == own.kind
            && other.connection.plugin == own.plugin
            && other.connection.id != own.id
            && other.answers_to(route);
        if answers && other.connection.settings.retired {
            is_retired = true;
        } else if answers && claimed.is_none() {
            claimed = Some(other);
        }
    }
    let by_receiver = || {
        let may_answer = !is_retired && !received_by.claims_some_of(route);
        may_answer.then(|| Arc::clone(received_by))
    };
    claimed.or_else(by_receiver)
}

#[derive(Debug, thiserror::Error)]
pub enum ConnectionError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("the secrets of connection {id} cannot be opened: {source}")]
    Sealed { id: ConnectionId, source: OpenError },
}

type Cached<T, V> = HashMap<T, (Instant, V)>;

pub struct ConnectionCache {
    store: Arc<Store>,
    sealer: Arc<Sealer>,
    /// Existing connections. A stale entry still shows that an id is not a guess.
    by_id: Mutex<Cached<ConnectionId, Arc<Live>>>,
    by_workspace: Mutex<Cached<WorkspaceId, Vec<Arc<Live>>>>,
    /// The number of unknown ids that were requested in this second.
    guesses: Mutex<Option<(Instant, u32)>>,
    /// The set of existing ids, used if many unknown ids are requested: the store is then
    /// queried a few times a second, however many are guessed.
    ids: Mutex<Option<(Instant, Arc<HashSet<ConnectionId>>)>>,
    asked_ids: SingleFlight<(), Arc<HashSet<ConnectionId>>>,
    pub declared: DeclaredChecks,
    asked_by_id: SingleFlight<ConnectionId, Option<Connection>>,
    asked_by_workspace: SingleFlight<WorkspaceId, Vec<Connection>>,
}

#[leadhost_boxed::boxed]
impl ConnectionCache {
    pub fn new(store: Arc<Store>, sealer: Arc<Sealer>) -> Self {
        Self {
            store,
            sealer,
            by_id: Mutex::default(),
            by_workspace: Mutex::default(),
            guesses: Mutex::default(),
            ids: Mutex::default(),
            asked_ids: SingleFlight::default(),
            declared: DeclaredChecks::default(),
            asked_by_id: SingleFlight::default(),
            asked_by_workspace: SingleFlight::default(),
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
        if answer.may_be_cached {
            match &found {
                Some(found) => keep(&self.by_id, id.clone(), Arc::clone(found)),
                None => drop(
                    self.by_id
                        .lock()
                        .expect("the lock is not poisoned")
                        .remove(id),
                ),
            }
        }
        Ok(found)
    }

    fn has_been(&self, id: &ConnectionId) -> bool {
        self.by_id
            .lock()
            .expect("the lock is not poisoned")
            .contains_key(id)
    }

    /// Returns whether few unknown ids were requested in this second: then the store is
    /// asked for each.
    fn is_one_of_few(&self) -> bool {
        let mut guesses = self.guesses.lock().expect("the lock is not poisoned");
        let (since, count) = guesses
            .filter(|(since, _)| since.elapsed() < FRESH)
            .unwrap_or((Instant::now(), 0));
        *guesses = Some((since, count.saturating_add(1)));
        count < limits::GUESSES_ASKED
    }

    /// Returns whether the id existed within the last second.
    async fn may_be(&self, id: &ConnectionId) -> Result<bool, StoreError> {
        let known = self.ids.lock().expect("the lock is not poisoned").clone();
        if let Some((since, ids)) = known
            && since.elapsed() < FRESH
        {
            return Ok(ids.contains(id));
        }
        // Counted from before the query, so that no answer is used for too long.
        let since = Instant::now();
        let question = async { Ok(Arc::new(self.store.connection_ids().await?)) };
        let answer = self.asked_ids.ask(&(), question).await?;
        let found = answer.value.contains(id);
        if answer.may_be_cached {
            *self.ids.lock().expect("the lock is not poisoned") = Some((since, answer.value));
        }
        Ok(found)
    }

    pub async fn in_workspace(
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
        if answer.may_be_cached {
            keep(&self.by_workspace, workspace, found.clone());
        }
        Ok(found)
    }

    pub async fn for_instance(
        &self,
        workspace: WorkspaceId,
        instance: AgentId,
    ) -> Result<Option<Arc<Live>>, ConnectionError> {
        let all = self.in_workspace(workspace).await?;
        Ok(all.into_iter().find(|live| {
            live.connection.kind == ConnectionKind::Channel
                && live.connection.agent == Some(instance)
        }))
    }

    /// Returns the connection that an item or event with this route belongs to. A source
    /// that has one address for all its pages names the page, and the connection that
    /// claims the page gets the item. A connection that claims no values of that name gets
    /// the items that no other one claims, so that a single connection needs no routes.
    /// `Routing` decides whether the one may act for the other.
    pub async fn route(
        &self,
        received_by: &Arc<Live>,
        route: &Pairs,
    ) -> Result<Option<Arc<Live>>, ConnectionError> {
        if received_by.is_meant_by(route) {
            return Ok(Some(Arc::clone(received_by)));
        }
        let siblings = self.in_workspace(received_by.connection.workspace).await?;
        Ok(answering(received_by, siblings, route))
    }

    pub fn forget(&self) {
        self.asked_by_id.forget();
        self.asked_by_workspace.forget();
        self.asked_ids.forget();
        *self.ids.lock().expect("the lock is not poisoned") = None;
        self.by_id.lock().expect("the lock is not poisoned").clear();
        self.by_workspace
            .lock()
            .expect("the lock is not poisoned")
            .clear();
    }

    fn open(&self, connection: Connection) -> Result<Arc<Live>, ConnectionError> {
        let secrets = self
            .sealer
            .open_secrets(connection.workspace, &connection.name, &connection.sealed)
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
    let cache = cache.lock().expect("the lock is not poisoned");
    cache
        .get(key)
        .filter(|(since, _)| since.elapsed() < FRESH)
        .map(|(_, found)| found.clone())
}

fn keep<K: Hash + Eq, V>(cache: &Mutex<Cached<K, V>>, key: K, found: V) {
    let mut cache = cache.lock().expect("the lock is not poisoned");
    if cache.len() >= ENTRIES && !cache.contains_key(&key) {
        cache.retain(|_, (since, _)| since.elapsed() < FRESH);
        if cache.len() >= ENTRIES {
            cache.clear();
        }
    }
    cache.insert(key, (Instant::now(), found));
}

pub fn webhook_path(instance: AgentId, token: &ConnectionId) -> String {
    format!("/channel-webhook/{instance}/{token}")
}
