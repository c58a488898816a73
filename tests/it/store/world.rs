//! A store with one workspace, and the names and helpers that most tests of the store use.

pub use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
pub use std::sync::Arc;
pub use std::time::Duration;

pub use leadhost_domain::channel::Category;
pub use leadhost_domain::clock::{Clock as _, ManualClock, SystemClock};
use leadhost_domain::connection::Connection;
pub use leadhost_domain::connection::ConnectionPause;
pub use leadhost_domain::contact;
pub use leadhost_domain::deal::{DealStage, DealStatus};
pub use leadhost_domain::delivery::{DeliveryStatus, ItemStatus};
use leadhost_domain::exchange::HttpRequest;
pub use leadhost_domain::exchange::{HttpResponse, InputProblem, TextSegment, UrlScheme};
pub use leadhost_domain::id::*;
use leadhost_domain::key::{KeyKind, KeyRecord, PlainKey};
pub use leadhost_domain::lead::Action;
pub use leadhost_domain::limits;
pub use leadhost_domain::message::{MessageProgress, MessageState};
use leadhost_domain::phone::Phone;
pub use leadhost_domain::plugin::Digest;
use leadhost_domain::plugin::RanWith;
pub use leadhost_domain::row::Entity;
pub use leadhost_domain::ticket::{TicketStatus, TicketView};
pub use leadhost_domain::time::Micros;
pub use leadhost_store::*;
use leadhost_tests::seed;
pub use leadhost_tests::{Json, On, fields, has, until};
pub use serde_json::{Map, Value, json};
pub use uuid::Uuid;

pub const DAY: i64 = 86_400;

pub const LOOK: Mode = Mode::Replay { apply: false };
pub const APPLY: Mode = Mode::Replay { apply: true };

pub const START: Micros = Micros(1_750_000_000_000_000);

/// The resources that must live as long as the test.
pub type Keep = Box<dyn std::any::Any + Send + Sync>;

pub struct World {
    pub store: Arc<Store>,
    clock: Arc<ManualClock>,
    pub on: On,
    pub workspace: WorkspaceId,
    pub scope: Scope,
    /// Two connections, `site` and `portal`, both of the converter `form`.
    pub site: ConnectionId,
    pub portal: ConnectionId,
    pub first_agent: AgentId,
    pub second_agent: AgentId,
    /// The time at which the world was made.
    pub began: Micros,
    folder: PathBuf,
    _keep: Keep,
}

impl std::ops::Deref for World {
    type Target = Store;

    fn deref(&self) -> &Store {
        &self.store
    }
}

/// Returns the seconds of a span, for [`World::advance`].
pub fn seconds(span: Duration) -> i64 {
    i64::try_from(span.as_secs()).expect("few")
}

impl World {
    /// On a new database, with a clock that stands. `None`, after printing the
    /// reason, if no server is available.
    pub async fn on_postgres() -> Option<Self> {
        let on = On::postgres().await?;
        Some(Self::start(on).await)
    }

    /// On a new SQLite file, with a clock that stands.
    pub async fn on_sqlite() -> Option<Self> {
        Some(Self::start(On::Sqlite).await)
    }

    pub async fn start(on: On) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let clock = ManualClock::at(START);
        on.turn_clock(START).await;
        let store = open(&on.location(folder.path()), Arc::clone(&clock) as _)
            .await
            .expect("a new store opens");
        let path = folder.path().to_owned();
        let mut world = Self::with_store(store, clock, Box::new(folder)).await;
        world.on = on;
        world.folder = path;
        world
    }

    /// On an existing store.
    pub async fn with_store(store: Arc<Store>, clock: Arc<ManualClock>, keep: Keep) -> Self {
        let applied = store
            .apply(&plan("demo"), START, false)
            .await
            .expect("the plan holds");
        let scope = scope(&store, applied.workspace_id).await;
        Self {
            workspace: applied.workspace_id,
            scope,
            site: applied.connections["site"].clone(),
            portal: applied.connections["portal"].clone(),
            first_agent: applied.instances["Ana"],
            second_agent: applied.instances["Bruno"],
            store,
            began: clock.now(),
            clock,
            on: On::Sqlite,
            folder: PathBuf::new(),
            _keep: keep,
        }
    }

    /// Runs a query of one number directly on the store.
    pub async fn rows(&self, query: &'static str) -> i64 {
        self.on.count(&self.folder, query).await
    }

    /// Changes the store directly: see [`On::change`].
    pub async fn change(&self, sql: &str) {
        self.on.change(&self.folder, sql).await;
    }

    /// The folder of a store in one file.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Moves the clock of the caller and of the store forward.
    pub async fn advance(&self, seconds: i64) {
        self.clock.advance_seconds(seconds);
        self.on.turn_clock(self.now()).await;
    }

    pub fn now(&self) -> Micros {
        self.clock.now()
    }

    /// A delivery that arrives now at `site`.
    pub fn delivery(&self) -> NewDelivery {
        NewDelivery {
            id: DeliveryId::new(self.now()),
            workspace: self.workspace,
            connection: self.site.clone(),
            received_at: self.now(),
            method: "POST".to_owned(),
            path: "/ingest-lead/x".to_owned(),
            query: vec![("a".to_owned(), "1".to_owned())],
            headers: vec![("content-type".to_owned(), "application/json".to_owned())],
            body: b"{\"name\":\"Rita\"}".to_vec().into(),
        }
    }

    pub fn accept(&self, items: Vec<ItemResult>) -> Write {
        self.accept_as(self.delivery(), items)
    }

    pub fn accept_as(&self, delivery: NewDelivery, items: Vec<ItemResult>) -> Write {
        accept(delivery, converted(items))
    }

    /// A delivery stored without items, in this state.
    pub fn accept_with(&self, status: DeliveryStatus) -> Write {
        let result = ConversionResult {
            error: Some("why".to_owned()),
            ..ended(status)
        };
        accept(self.delivery(), result)
    }

    /// Stores a delivery without items, in this state.
    pub async fn received(&self, status: DeliveryStatus) -> DeliveryId {
        self.commit_one(self.accept_with(status)).await.delivery
    }

    pub async fn commit(&self, writes: &[Write]) -> Vec<WriteOutcome> {
        let written = self.store.commit(writes).await.expect("it commits");
        assert_eq!(written.len(), writes.len());
        written
    }

    /// Accepts items of many megabytes. On a machine full of tests a database may
    /// not store them within the deadline of a batch; then nothing was changed,
    /// and it retries.
    pub async fn long_items(&self, items: Vec<ItemResult>) -> DeliveryOutcome {
        let write = [self.accept(items)];
        let written = until(
            "the database stores them within its deadline",
            async || match self.store.commit(&write).await {
                Err(StoreError::Unavailable(_)) => None,
                written => Some(written),
            },
        );
        done(written.await.expect("it commits").remove(0))
    }

    pub async fn write(&self, write: Write) -> WriteOutcome {
        self.commit(&[write]).await.remove(0)
    }

    pub async fn commit_one(&self, write: Write) -> DeliveryOutcome {
        done(self.write(write).await)
    }

    /// Checks that the lease or the generation of this write is over.
    #[track_caller]
    pub fn assert_stale(&self, write: Write) -> impl Future<Output = ()> {
        let place = std::panic::Location::caller();
        async move {
            let written = self.write(write).await;
            let is_stale = matches!(written, WriteOutcome::Stale);
            assert!(is_stale, "{place}: {written:?}");
        }
    }

    /// Accepts a delivery of these items.
    pub async fn deliver(&self, items: Vec<ItemResult>) -> DeliveryOutcome {
        self.commit_one(self.accept(items)).await
    }

    /// Accepts one item alone. Returns its outcome.
    pub async fn item(&self, item: ItemResult) -> ItemOutcome {
        self.deliver(vec![item]).await.items.remove(0)
    }

    /// Accepts one lead alone. Returns its outcome.
    pub async fn bring(&self, new: NewLead) -> ItemOutcome {
        self.item(lead(new)).await
    }

    pub fn lead(&self) -> NewLead {
        NewLead {
            connection: self.site.clone(),
            agent: None,
            dedupe: None,
            action: Action::Create,
            external_id: None,
            name: None,
            phones: Vec::new(),
            emails: Vec::new(),
            contact_keys: Vec::new(),
            products: Vec::new(),
            title: None,
            deal_props: Map::new(),
            left_out: Vec::new(),
            as_text: Vec::new(),
            contact_props: Map::new(),
            greeting: None,
        }
    }

    /// With an external id, which is its dedupe key too.
    pub fn known_as(&self, external_id: &str) -> NewLead {
        NewLead {
            dedupe: Some(DedupeKey::from_id(external_id)),
            external_id: Some(external_id.to_owned()),
            ..self.lead()
        }
    }

    /// Leads with these external ids.
    pub fn leads<const N: usize>(&self, external_ids: [&str; N]) -> Vec<ItemResult> {
        external_ids.map(|id| lead(self.known_as(id))).into()
    }

    pub fn fetch(&self, external_id: &str) -> NewFetch {
        NewFetch {
            connection: self.site.clone(),
            dedupe: Some(DedupeKey::from_id(external_id)),
            external_id: Some(external_id.to_owned()),
            request: HttpRequest {
                method: "GET".to_owned(),
                scheme: UrlScheme::Https,
                authority: "graph.example.com".to_owned(),
                path: vec![TextSegment::Literal(format!("/{external_id}"))],
                query: Vec::new(),
                headers: Vec::new(),
                body: Vec::new(),
            },
            state: vec![0, 1, 255],
            hop: 1,
            due_at: self.now(),
            until: self.now().plus(Duration::from_hours(90 * 24)),
        }
    }

    pub async fn all(&self, entity: Entity) -> Vec<Value> {
        let page = self.page(entity, 0, None, 1_000).await;
        assert!(!page.more);
        json_of(&page)
    }

    pub async fn page(
        &self,
        entity: Entity,
        after: i64,
        upper: Option<i64>,
        limit: u32,
    ) -> ExportPage {
        self.store
            .export(&self.scope, entity, after, upper, limit)
            .await
            .expect("it exports")
    }

    /// The clock of a feed. While time stands, it advances by one for each row.
    pub async fn clock(&self, entity: Entity) -> i64 {
        self.page(entity, 0, None, 1).await.clock
    }

    pub async fn row(&self, entity: Entity, id: impl ToString) -> Value {
        let id = id.to_string();
        let rows = self.all(entity).await;
        let row = rows.into_iter().find(|row| row["id"] == json!(id));
        row.unwrap_or_else(|| panic!("{id} is not among {}", entity.as_str()))
    }

    pub async fn deal(&self, id: DealId) -> Value {
        self.row(Entity::Deals, id).await
    }

    pub async fn contact(&self, id: ContactId) -> Value {
        self.row(Entity::Contacts, id).await
    }

    pub async fn declared(&self, id: &ConnectionId) -> Connection {
        let connection = self.store.connection(id).await.expect("it reads");
        connection.expect("it is declared")
    }

    /// Declares another workspace.
    pub async fn elsewhere(&self, slug: &str) -> Applied {
        let applied = self.store.apply(&plan(slug), self.now(), false).await;
        applied.expect("the plan holds")
    }

    /// Whether the delivery is stored.
    pub async fn is_kept(&self, id: DeliveryId) -> bool {
        self.store.delivery(id).await.expect("it reads").is_some()
    }

    /// Removes up to this many rows whose [`RETENTION`] is over.
    pub async fn swept(&self, limit: u32) -> u64 {
        let swept = self.store.sweep(&RETENTION, self.now(), limit).await;
        swept.expect("it sweeps")
    }

    pub async fn status(&self, id: DeliveryId) -> DeliveryStatus {
        self.detail(id).await.summary.status
    }

    pub async fn detail(&self, id: DeliveryId) -> DeliveryDetail {
        let detail = self.store.delivery(id).await.expect("it reads");
        detail.expect("the delivery is stored")
    }

    /// Claims the work that is due now, for a minute.
    pub async fn claim(&self, limit: u32) -> Vec<Job> {
        let turns = ClaimTurns::new(limit);
        let jobs = self.store.claim(&turns, self.now(), self.in_a_minute());
        jobs.await.expect("it claims")
    }

    pub fn in_a_minute(&self) -> Micros {
        self.now().plus_seconds(60)
    }

    pub async fn claim_fetch(&self) -> HeldFetch {
        match self.claim(1).await.pop() {
            Some(Job::Fetch(held)) => *held,
            other => panic!("no fetch was due: {other:?}"),
        }
    }

    pub async fn claim_conversion(&self) -> HeldDelivery {
        match self.claim(1).await.pop() {
            Some(Job::Convert(held)) => *held,
            other => panic!("no delivery was due: {other:?}"),
        }
    }

    /// Claims a delivery in any state, unless somebody holds it.
    pub async fn try_claim(&self, id: DeliveryId) -> Option<HeldDelivery> {
        let held = self
            .store
            .claim_delivery(id, self.now(), self.in_a_minute());
        held.await.expect("it claims")
    }

    pub async fn claim_delivery(&self, id: DeliveryId) -> HeldDelivery {
        self.try_claim(id).await.expect("it is free")
    }

    /// Replays a delivery: claim, convert, commit.
    pub async fn replay(
        &self,
        id: DeliveryId,
        mode: Mode,
        items: Vec<ItemResult>,
    ) -> DeliveryOutcome {
        let held = self.claim_delivery(id).await;
        self.commit_one(convert(&held, mode, items)).await
    }
}

pub fn accept(delivery: NewDelivery, result: ConversionResult) -> Write {
    Write::Accept(Box::new(Acceptance {
        keys: Vec::new(),
        delivery,
        peer: None,
        result,
    }))
}

pub fn convert(held: &HeldDelivery, mode: Mode, items: Vec<ItemResult>) -> Write {
    convert_to(held, mode, converted(items))
}

pub fn convert_to(held: &HeldDelivery, mode: Mode, result: ConversionResult) -> Write {
    Write::Convert(Box::new(Reconversion {
        delivery: held.delivery.id,
        lease: held.lease,
        mode,
        result,
        part: None,
    }))
}

pub fn settle(held: &HeldFetch, outcome: FetchOutcome) -> Write {
    Write::Settle(Box::new(FetchSettlement {
        delivery: held.delivery,
        index: held.index,
        lease: held.lease,
        ran: Some(ran("2")),
        notes: Vec::new(),
        outcome,
    }))
}

pub fn converted(items: Vec<ItemResult>) -> ConversionResult {
    ConversionResult {
        status: None,
        items: (0..)
            .zip(items)
            .map(|(index, result)| NewItem { index, result })
            .collect(),
        ran: Some(ran("1")),
        error: None,
        notes: vec!["read as a form".to_owned()],
        attempts: 0,
        next_attempt_at: None,
        presented: None,
    }
}

/// A conversion that made nothing and left the delivery in this state.
pub fn ended(status: DeliveryStatus) -> ConversionResult {
    ConversionResult {
        status: Some(status),
        ..converted(Vec::new())
    }
}

/// The converter `form`; the digest is of the version's text.
pub fn ran(version: &str) -> RanWith {
    RanWith {
        plugin: "form".to_owned(),
        version: version.to_owned(),
        digest: Digest::compute(version.as_bytes()),
        contract: "leadhost:converter@1.0.0".to_owned(),
        config_version: 1,
        replayed: false,
    }
}

/// What a write of this kind led to.
macro_rules! outcome {
    ($written:expr, $kind:ident) => {
        match $written {
            $crate::store::world::WriteOutcome::$kind(outcome) => outcome,
            other => panic!("not {}: {other:?}", stringify!($kind)),
        }
    };
}
pub(crate) use outcome;

pub fn done(written: WriteOutcome) -> DeliveryOutcome {
    outcome!(written, Done)
}

pub fn lead(lead: NewLead) -> ItemResult {
    ItemResult::Lead(Box::new(lead))
}

pub fn fetch(fetch: NewFetch) -> ItemResult {
    ItemResult::Fetch(Box::new(fetch))
}

/// A lead with this phone; the number is its own match key.
pub fn with_phone(mut lead: NewLead, number: &str) -> NewLead {
    lead.phones.push(Phone {
        raw: number.to_owned(),
        e164: Some(number.to_owned()),
        match_key: Some(number.to_owned()),
    });
    lead.contact_keys = contact::keys(&lead.phones, &lead.emails);
    lead
}

pub fn with_email(mut lead: NewLead, email: &str) -> NewLead {
    lead.emails.push(email.to_owned());
    lead.contact_keys = contact::keys(&lead.phones, &lead.emails);
    lead
}

pub fn titled(mut lead: NewLead, title: &str) -> NewLead {
    lead.title = Some(title.to_owned());
    lead
}

/// The lead again, as its source changes it.
pub fn updating(lead: NewLead) -> NewLead {
    let action = Action::Update;
    NewLead { action, ..lead }
}

pub fn statuses(items: &[ItemOutcome]) -> Vec<ItemStatus> {
    items.iter().map(|item| item.status).collect()
}

#[track_caller]
pub fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        other => panic!("no object: {other}"),
    }
}

pub fn json_of(page: &ExportPage) -> Vec<Value> {
    page.texts()
        .into_iter()
        .map(|text| serde_json::from_str(text).expect("a row is JSON"))
        .collect()
}

/// The scope of a key of the workspace.
pub async fn scope(store: &Store, workspace: WorkspaceId) -> Scope {
    let key = key(store, workspace).await;
    let caller = store.authenticate(&key.digest()).await.expect("it reads");
    caller
        .and_then(|caller| caller.scope())
        .expect("it is a workspace's key")
}

/// The retention of deliveries and of those in quarantine.
pub const RETENTION: RetentionPeriods = RetentionPeriods {
    deliveries: Duration::from_hours(90 * 24),
    quarantine: Duration::from_hours(30 * 24),
};

/// Both kinds are kept for so long.
pub fn kept_for(time: Duration) -> RetentionPeriods {
    RetentionPeriods {
        deliveries: time,
        quarantine: time,
    }
}

/// What a fetch was answered.
pub fn answered(held: &HeldFetch, response: HttpResponse) -> FetchAnswer {
    FetchAnswer {
        delivery: held.delivery,
        index: held.index,
        lease: held.lease,
        request: held.request.clone(),
        state: held.state.clone(),
        ran: held.ran.clone(),
        response,
    }
}

/// Makes a key of the workspace.
pub async fn key(store: &Store, workspace: WorkspaceId) -> PlainKey {
    let (key, made) = seed::key(KeyKind::Workspace, START);
    let record = KeyRecord {
        workspace: Some(workspace),
        ..made
    };
    store
        .create_key(&record, &key.digest())
        .await
        .expect("it keeps the key");
    key
}

pub fn plan(slug: &str) -> Plan {
    let agent = |name: &str| PlannedAgent {
        number: Some("+5511900000001".to_owned()),
        channel: Some("whatsapp".to_owned()),
        ..seed::agent(name)
    };
    let connection = |name: &str| PlannedConnection {
        config: "{\"a\":1}".to_owned(),
        secrets_at: BTreeMap::from([("token".to_owned(), START)]),
        fingerprint: "f1".to_owned(),
        ..seed::connection(name, "Acme", "form")
    };
    let with_secrets = PlannedConnection {
        secrets: vec!["token".to_owned()],
        sealed: vec![1, 2, 3],
        ..connection("site")
    };
    Plan {
        name: "Demo".to_owned(),
        rate_limit: 120,
        partners: vec!["Acme".to_owned()],
        agents: vec![agent("Ana"), agent("Bruno")],
        owners: vec![PlannedOwner {
            name: "Olga".to_owned(),
            email: "olga@example.com".to_owned(),
        }],
        connections: vec![with_secrets, connection("portal")],
        products: vec![seed::product("P-1", "Garden flat")],
        ..seed::plan(slug)
    }
}
