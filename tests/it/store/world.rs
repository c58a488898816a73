//! A store with one workspace, and helpers for the tests.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use leadhost_domain::clock::ManualClock;
use leadhost_domain::contact;
use leadhost_domain::delivery::DeliveryStatus;
use leadhost_domain::exchange::{HttpRequest, HttpResponse, TextSegment, UrlScheme};
use leadhost_domain::id::{AgentId, ConnectionId, DealId, DeliveryId, WorkspaceId};
use leadhost_domain::key::{KeyKind, KeyRecord, PlainKey};
use leadhost_domain::lead::Action;
use leadhost_domain::phone::Phone;
use leadhost_domain::plugin::{Digest, RanWith};
use leadhost_domain::row::Entity;
use leadhost_domain::time::Micros;
use leadhost_store::*;
use leadhost_tests::{On, seed, until};
use serde_json::{Map, Value, json};

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
    pub fn folder(&self) -> &std::path::Path {
        &self.folder
    }

    /// Moves the clock of the caller and of the store forward.
    pub async fn advance(&self, seconds: i64) {
        self.clock.advance_seconds(seconds);
        self.on.turn_clock(self.now()).await;
    }

    pub fn now(&self) -> Micros {
        use leadhost_domain::clock::Clock as _;
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
        let result = converted(items);
        Write::Accept(Box::new(Acceptance {
            keys: Vec::new(),
            delivery,
            peer: None,
            result,
        }))
    }

    /// A delivery stored without items, in this state.
    pub fn accept_with(&self, status: DeliveryStatus) -> Write {
        let result = ConversionResult {
            status: Some(status),
            error: Some("why".to_owned()),
            ..converted(Vec::new())
        };
        Write::Accept(Box::new(Acceptance {
            keys: Vec::new(),
            delivery: self.delivery(),
            peer: None,
            result,
        }))
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

    pub async fn commit_one(&self, write: Write) -> DeliveryOutcome {
        done(self.commit(&[write]).await.remove(0))
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
            dedupe: Some(DedupeKey {
                key: format!("id:{external_id}"),
                window: None,
            }),
            external_id: Some(external_id.to_owned()),
            ..self.lead()
        }
    }

    pub fn fetch(&self, external_id: &str) -> NewFetch {
        NewFetch {
            connection: self.site.clone(),
            dedupe: Some(DedupeKey {
                key: format!("id:{external_id}"),
                window: None,
            }),
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

    pub async fn deal(&self, id: DealId) -> Value {
        let id = id.to_string();
        let deals = self.all(Entity::Deals).await;
        deals
            .into_iter()
            .find(|deal| deal["id"] == json!(id))
            .expect("the deal is exported")
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
        let until = self.now().plus(Duration::from_mins(1));
        self.store
            .claim(&ClaimTurns::new(limit), self.now(), until)
            .await
            .expect("it claims")
    }

    pub async fn claim_fetch(&self) -> HeldFetch {
        let mut jobs = self.claim(1).await;
        match jobs.pop() {
            Some(Job::Fetch(held)) => *held,
            other => panic!("no fetch was due: {other:?}"),
        }
    }

    pub async fn claim_delivery(&self, id: DeliveryId) -> HeldDelivery {
        let until = self.now().plus(Duration::from_mins(1));
        let held = self.store.claim_delivery(id, self.now(), until).await;
        held.expect("it claims").expect("it is free")
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

/// The converter `form`; the digest is that of the version's text.
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

pub fn done(written: WriteOutcome) -> DeliveryOutcome {
    match written {
        WriteOutcome::Done(outcome) => outcome,
        other => panic!("not done: {other:?}"),
    }
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
