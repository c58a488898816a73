//! The path of a lead through a host: activating converters, declaring connections,
//! sending deliveries, and waiting for background work.
//!
//! Waiting polls a condition within a time limit. The host's clock stands until a test
//! moves it.

use std::fmt::Display;
use std::fs;
use std::sync::Arc;
use std::time::{Duration, Instant};

use leadhost::app::App;
use leadhost_config::Config;
use leadhost_config::shutdown::Shutdown;
use leadhost_domain::accept::AcceptWord;
use leadhost_domain::connection::Connection;
use leadhost_domain::delivery::DeliveryStatus;
use leadhost_domain::id::{ConnectionId, DeliveryId};
use leadhost_domain::plugin::Digest;
use leadhost_pipeline::apply::{self, ApplyError, ApplyOutcome, FileExtent};
use leadhost_pipeline::core::Core;
use leadhost_pipeline::deploy::{self, AcceptedWords, Activated, DeployError, Deployed};
use leadhost_pipeline::{self as pipeline, fleet, templates};
use leadhost_store::{self as store, ClaimTurns, DeliveryDetail, Job, TemplateList};
use serde_json::Value;
use xtask::double::proof::base64;
pub use xtask::double::proof::hmac_sha256_hex as signature;

use crate::client::{Answer, Ask};
use crate::compiled::share_compiled_code;
use crate::guests;
use crate::host::{Host, Options};
use crate::load::exported;
use crate::on::On;

/// Far more than anything here takes, even on a machine that is busy with ten other
/// things: a test never fails because it waits too briefly.
pub const LONG: Duration = Duration::from_secs(300);

/// The interval for polling a condition: at first, and at most. Many tests wait at once, and what each
/// looks at costs them processor time.
const LOOK: Duration = Duration::from_millis(5);
const LOOK_AT_MOST: Duration = Duration::from_millis(50);

/// Polls `look` until it returns something, and returns that.
pub async fn until<T>(what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    let end = Instant::now() + LONG;
    let mut pause = LOOK;
    loop {
        if let Some(found) = look().await {
            return found;
        }
        assert!(Instant::now() < end, "still waiting: {what}");
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(LOOK_AT_MOST);
    }
}

/// Polls a condition until it holds.
pub async fn eventually(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    until(what, async || holds().await.then_some(())).await;
}

pub struct Declared {
    pub report: ApplyOutcome,
}

impl Declared {
    pub fn id(&self, connection: &str) -> ConnectionId {
        self.report.connections[connection].clone()
    }

    /// The path that the connection's source sends to.
    pub fn address(&self, connection: &str) -> String {
        format!("/ingest-lead/{}", self.id(connection))
    }

    pub fn instance(&self, name: &str) -> i64 {
        self.report.instances[name].0
    }

    /// The path that the provider of an instance sends to.
    pub fn webhook(&self, instance: &str) -> String {
        self.report.channels[instance].clone()
    }

    /// The token in that path: the channel's connection.
    pub fn channel(&self, instance: &str) -> ConnectionId {
        let address = self.webhook(instance);
        let (_, token) = address.rsplit_once('/').expect("it ends with the token");
        token.parse().expect("a token")
    }

    /// The text of a key that this declaration created.
    pub fn key(&self, label: &str) -> String {
        let made = self.report.keys.iter().find(|key| key.label == label);
        made.and_then(|key| key.key.clone())
            .expect("the declaration made the key")
    }
}

impl Options {
    /// Time limits that a machine busy with other tests does not reach: for
    /// conversions, comparisons, outgoing calls and answers.
    pub fn patient(on: On) -> Self {
        Self::on(on)
            .with("plugins.inline_ms", 60_000)
            .with("plugins.deadline_ms", 60_000)
            .with("verify.seconds", 240)
            .with("worker.fetch_seconds", 120)
            .with("messages.answer_seconds", 120)
            .with("server.header_seconds", 120)
            .with("server.body_seconds", 120)
            .with("server.answer_seconds", 240)
    }
}

impl Host {
    /// A host whose conversions finish within their request, and whose worker runs.
    pub async fn working(on: On) -> Self {
        Self::working_with(Options::patient(on)).await
    }

    pub async fn working_with(options: Options) -> Self {
        let host = Self::start(options).await;
        host.work();
        host
    }

    pub fn work(&self) {
        drop(pipeline::start(&self.app.pipeline, &self.app.core.shutdown));
    }

    pub async fn converter(&self, wasm: Vec<u8>) -> Digest {
        self.upload(wasm, "test")
            .await
            .expect("the component serves")
            .record
            .digest
    }

    pub async fn activate(&self, package: &str) -> Digest {
        self.converter(guests::rust_component(package)).await
    }

    /// Activates a component, unless a check refuses it. Differences on stored deliveries are
    /// accepted: versions of tests differ on purpose.
    pub async fn upload(&self, wasm: Vec<u8>, origin: &str) -> Result<Deployed, DeployError> {
        let accept = AcceptedWords::from_iter([AcceptWord::Drift]);
        deploy::upload(&self.app.pipeline, wasm, origin, true, &accept).await
    }

    /// Activates the version before the active one, as an operator who accepts nothing else.
    pub async fn roll_back(&self, plugin: &str) -> Result<Activated, DeployError> {
        let (pipeline, accept) = (&self.app.pipeline, AcceptedWords::default());
        deploy::rollback(pipeline, plugin, true, &accept, None).await
    }

    /// Stores a component, and leaves what is active as it is.
    pub async fn keep_version(&self, wasm: Vec<u8>) -> Digest {
        let (pipeline, accept) = (&self.app.pipeline, AcceptedWords::default());
        let kept = deploy::upload(pipeline, wasm, "test", false, &accept).await;
        kept.expect("the component is stored").record.digest
    }

    /// Applies a workspace file with these connections. A workspace, a partner, an
    /// agent and keys are added.
    pub async fn declare(&self, connections: &str) -> Declared {
        self.try_declare(connections)
            .await
            .expect("the declaration holds")
    }

    /// Declares connections, if the file has no problems.
    pub async fn try_declare(&self, connections: &str) -> Result<Declared, ApplyError> {
        let text = format!("{BEGINNING}{connections}");
        let file: Value = toml::from_str(&text).expect("TOML");
        let report = apply::apply(&self.app.pipeline, &file, FileExtent::Whole, false).await?;
        Ok(Declared { report })
    }

    /// Sends an empty delivery, which the connection takes.
    pub async fn deliver(&self, declared: &Declared, connection: &str) -> Answer {
        let ask = self.post(&declared.address(connection));
        ask.send().await.expect(200)
    }

    /// Sends a delivery in JSON, which the connection takes.
    pub async fn deliver_json(
        &self,
        declared: &Declared,
        connection: &str,
        body: &Value,
    ) -> Answer {
        let ask = self.post(&declared.address(connection)).json(body);
        ask.send().await.expect(200)
    }

    pub async fn due(&self) -> Vec<Job> {
        let now = self.now();
        let claimed = self.store().claim(&ClaimTurns::new(9), now, now).await;
        claimed.expect("a store")
    }

    pub async fn delivery(&self, answer: &Answer) -> DeliveryDetail {
        let id = answer.json()["deliveryId"].clone();
        let id = id.as_str().expect("an id").parse().expect("an id");
        self.stored(id).await
    }

    pub async fn stored(&self, id: DeliveryId) -> DeliveryDetail {
        let found = self.store().delivery(id).await.expect("a store");
        found.expect("the delivery is stored")
    }

    /// Returns the deliveries with this status, newest first.
    pub async fn with_status(&self, status: DeliveryStatus) -> Vec<DeliveryId> {
        let filter = store::DeliveryFilter {
            status: Some(status),
            limit: 1_000,
            ..Default::default()
        };
        let found = self.store().deliveries(&filter).await.expect("a store");
        found.iter().map(|delivery| delivery.id).collect()
    }

    pub async fn becomes(&self, id: DeliveryId, status: DeliveryStatus) -> DeliveryDetail {
        until(
            &format!("delivery {id} becomes {}", status.as_str()),
            async || {
                let delivery = self.stored(id).await;
                (delivery.summary.status == status).then_some(delivery)
            },
        )
        .await
    }

    pub async fn deals(&self, declared: &Declared, query: &str) -> Vec<Value> {
        let ask = self.get(&format!("/deal?{query}"));
        let ask = ask.header("x-service-api-key", &declared.key("partner"));
        let found = ask.send().await.expect(200).json();
        found.as_array().expect("a list").clone()
    }

    pub async fn rows(&self, declared: &Declared, entity: &str) -> Vec<Value> {
        exported(self.addresses.data, &declared.key("workspace"), entity).await
    }

    /// Returns the exported row with this id.
    pub async fn row(&self, declared: &Declared, entity: &str, id: impl Display) -> Value {
        let id = id.to_string();
        let rows = self.rows(declared, entity).await;
        let row = rows.into_iter().find(|row| row["id"] == id.as_str());
        row.unwrap_or_else(|| panic!("{id} is not among the exported {entity}"))
    }

    /// Asks the provider of an instance for its templates, instead of waiting until
    /// the host does it by itself.
    pub async fn list_templates(&self, channel: &ConnectionId) -> Arc<TemplateList> {
        let live = self.app.pipeline.connections.get(channel).await;
        let live = live.expect("a store").expect("the channel is there");
        let list = templates::sync(&self.app.pipeline, &live).await;
        list.expect("a store")
    }

    pub async fn connection(&self, id: &ConnectionId) -> Connection {
        let found = self.store().connection(id).await.expect("a store");
        found.expect("the connection is there")
    }

    pub async fn resume(&self, id: &ConnectionId) {
        let store = self.store();
        store.pause_connection(id, None).await.expect("a store");
        self.app.pipeline.wake();
    }

    /// Moves the clock forward, and lets the worker look for due work.
    pub async fn pass(&self, seconds: i64) {
        self.advance(seconds).await;
        self.app.pipeline.wake();
    }

    /// Whether these bytes are anywhere in the host's folder or database.
    pub async fn keeps(&self, needle: &str) -> bool {
        let files = fs::read_dir(self.folder.path()).expect("the folder");
        let in_a_file = files
            .map(|file| file.expect("an entry").path())
            .filter(|path| path.is_file())
            .any(|path| {
                let bytes = fs::read(path).expect("a file");
                bytes
                    .windows(needle.len())
                    .any(|window| window == needle.as_bytes())
            });
        in_a_file
            || match &self.on {
                On::Sqlite => false,
                On::Postgres(database) => database.keeps(needle).await,
            }
    }

    /// Stops, and starts again on the same folder, as the same command would.
    pub async fn restart(self) -> Self {
        let Self {
            app,
            on,
            clock,
            folder,
            ..
        } = self;
        app.core.shutdown.drain(LONG).await;
        let (config, sealer) = (app.core.config.clone(), app.core.sealer.clone());
        drop(app);
        let place = on.location(folder.path());
        let store = until("the old host lets go of its store", async || {
            store::open(&place, clock.clone()).await.ok()
        })
        .await;
        let core = Core::new(config, clock.clone(), store, sealer, Shutdown::new());
        let app = App::new(core.expect("a plugin engine"));
        deploy::load_active(&app.pipeline).await.expect("a store");
        let host = Self::listening(app, on, clock, folder).await;
        host.work();
        host
    }

    /// Starts another host on the same database, as `leadhost serve` does: it has
    /// joined the fleet when this returns.
    pub async fn beside(&self, name: &str) -> Self {
        self.beside_with(name, |_| {}).await
    }

    pub async fn beside_with(&self, name: &str, change: impl FnOnce(&mut Config)) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        share_compiled_code(folder.path());
        let mut config = self.app.core.config.clone();
        config.store.data_dir = folder.path().to_owned();
        name.clone_into(&mut config.server.name);
        change(&mut config);
        let store = store::open(&self.on.location(folder.path()), self.clock.clone())
            .await
            .expect("the database is there");
        let (clock, sealer) = (self.clock.clone(), self.app.core.sealer.clone());
        let core = Core::new(config, clock, store, sealer, Shutdown::new());
        let app = App::new(core.expect("a plugin engine"));
        deploy::load_active(&app.pipeline).await.expect("a store");
        fleet::join(&app.pipeline).await.expect("a store");
        let host = Self::listening(app, self.on.clone(), self.clock.clone(), folder).await;
        host.work();
        host
    }
}

impl Ask {
    pub fn basic(self, credentials: &str) -> Self {
        let text = base64(credentials.as_bytes());
        self.header("authorization", &format!("Basic {text}"))
    }

    /// Signed as Meta signs.
    pub fn signed(self, header: &str, prefix: &str, secret: &str, body: &[u8]) -> Self {
        let signature = signature(secret, body);
        self.header(header, &format!("{prefix}{signature}"))
            .body(body.to_vec())
    }
}

/// A rate limit that no polling test reaches while the clock stands.
const BEGINNING: &str = r#"
[workspace]
slug = "demo"
name = "Demo"
rate_limit = 1000000
[[partners]]
name = "acme"
[[instances]]
name = "desk"
[[keys]]
kind = "partner"
label = "partner"
partner = "acme"
[[keys]]
kind = "workspace"
label = "workspace"
"#;
