//! The way of a lead through a host: converters that serve, connections that
//! are declared, deliveries that are sent, and waiting for what happens behind.
//!
//! Waiting is for a condition, looked at again and again within a bound; the
//! host's clock stands until a test moves it.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use leadhost::app::App;
use leadhost::config::Config;
use leadhost::domain::connection::Connection;
use leadhost::domain::delivery::DeliveryStatus;
use leadhost::domain::id::{ConnectionId, DeliveryId};
use leadhost::domain::plugin::Digest;
use leadhost::http::server;
use leadhost::pipeline::apply::{self, ApplyError, Report};
use leadhost::pipeline::deploy::{self, Accept, DeployError, Deployed};
use leadhost::pipeline::{self, fleet, templates};
use leadhost::shutdown::Shutdown;
use leadhost::store::{self, DeliveryDetail, TemplateList};
use serde_json::Value;

use crate::client::{Answer, Ask};
use crate::components::target;
use crate::host::{Host, Options};
use crate::on::On;

/// Far more than anything here takes, also on a machine that does ten other things:
/// a test never fails for want of patience.
const LONG: Duration = Duration::from_secs(300);

/// Between two looks at a condition.
const LOOK: Duration = Duration::from_millis(5);

/// What `look` finds, as soon as it finds something.
///
/// # Panics
/// When that takes far too long; the message says what was waited for.
pub async fn until<T>(what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    let end = Instant::now() + LONG;
    loop {
        if let Some(found) = look().await {
            return found;
        }
        assert!(Instant::now() < end, "still waiting: {what}");
        tokio::time::sleep(LOOK).await;
    }
}

/// What a declaration made.
pub struct Declared {
    pub report: Report,
}

impl Declared {
    pub fn id(&self, connection: &str) -> ConnectionId {
        self.report.connections[connection].clone()
    }

    /// Where the connection's source sends to.
    pub fn address(&self, connection: &str) -> String {
        format!("/ingest-lead/{}", self.id(connection))
    }

    /// The number of an instance.
    pub fn instance(&self, name: &str) -> i64 {
        self.report.instances[name].0
    }

    /// Where the provider of an instance sends to.
    pub fn webhook(&self, instance: &str) -> String {
        self.report.channels[instance].clone()
    }

    /// The token in that address: the channel's connection.
    pub fn channel(&self, instance: &str) -> ConnectionId {
        let address = self.webhook(instance);
        let (_, token) = address.rsplit_once('/').expect("it ends with the token");
        token.parse().expect("a token")
    }

    /// The text of a key that this declaration made.
    pub fn key(&self, label: &str) -> String {
        let made = self.report.keys.iter().find(|key| key.label == label);
        made.and_then(|key| key.key.clone())
            .expect("the declaration made the key")
    }
}

impl Options {
    /// A machine that is busy with other tests makes nothing late: no conversion,
    /// no call to the outside, no answer.
    pub fn patient(on: On) -> Self {
        Self::on(on)
            .with("plugins.inline_ms", 60_000)
            .with("plugins.deadline_ms", 60_000)
            .with("worker.fetch_seconds", 120)
            .with("messages.answer_seconds", 120)
            .with("server.header_seconds", 120)
            .with("server.body_seconds", 120)
            .with("server.answer_seconds", 240)
    }
}

impl Host {
    /// A host whose conversions end within their request, and whose worker runs.
    pub async fn working(on: On) -> Self {
        Self::working_with(Options::patient(on)).await
    }

    pub async fn working_with(options: Options) -> Self {
        let host = Self::start(options).await;
        host.work();
        host
    }

    /// Starts what runs beside the requests.
    pub fn work(&self) {
        drop(pipeline::start(&self.app, &self.app.shutdown));
    }

    /// Makes a component serve.
    pub async fn converter(&self, wasm: Vec<u8>) -> Digest {
        self.upload(wasm, "test")
            .await
            .expect("the component serves")
            .record
            .digest
    }

    /// Makes a component serve, if nothing stands against it.
    pub async fn upload(&self, wasm: Vec<u8>, origin: &str) -> Result<Deployed, DeployError> {
        self.know_compiled(&wasm);
        let deployed = deploy::upload(&self.app, wasm, origin, true, &Accept::default()).await;
        self.keep_compiled();
        deployed
    }

    /// Applies a workspace file; workspace, partner, agent and keys are there already.
    pub async fn declare(&self, connections: &str) -> Declared {
        self.try_declare(connections)
            .await
            .expect("the declaration holds")
    }

    pub async fn try_declare(&self, connections: &str) -> Result<Declared, ApplyError> {
        let text = format!("{BEGINNING}{connections}");
        let file: Value = toml::from_str(&text).expect("TOML");
        let report = apply::apply(&self.app, &file, false).await?;
        Ok(Declared { report })
    }

    /// What came of a delivery that was just sent, as the store has it.
    pub async fn delivery(&self, answer: &Answer) -> DeliveryDetail {
        let id = answer.json()["deliveryId"].clone();
        let id = id.as_str().expect("an id").parse().expect("an id");
        self.stored(id).await
    }

    pub async fn stored(&self, id: DeliveryId) -> DeliveryDetail {
        let found = self.store().delivery(id).await.expect("a store");
        found.expect("the delivery is stored")
    }

    /// The deliveries with this status, newest first.
    pub async fn with_status(&self, status: DeliveryStatus) -> Vec<DeliveryId> {
        let filter = store::DeliveryFilter {
            status: Some(status),
            limit: 1_000,
            ..Default::default()
        };
        let found = self.store().deliveries(&filter).await.expect("a store");
        found.iter().map(|delivery| delivery.id).collect()
    }

    /// Waits until the delivery is this, and gives it.
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

    /// The deals that a partner finds.
    pub async fn deals(&self, declared: &Declared, query: &str) -> Vec<Value> {
        let ask = self.get(&format!("/deal?{query}"));
        let ask = ask.header("x-service-api-key", &declared.key("partner"));
        let found = ask.send().await.expect(200).json();
        found.as_array().expect("a list").clone()
    }

    /// All rows of an export.
    pub async fn rows(&self, declared: &Declared, entity: &str) -> Vec<Value> {
        let key = format!("Bearer {}", declared.key("workspace"));
        let mut rows = Vec::new();
        let mut from = String::new();
        loop {
            let ask = self.get(&format!("/v1/export/{entity}?limit=1000{from}"));
            let page = ask.header("authorization", &key).send().await;
            let page = page.expect(200).json();
            rows.extend_from_slice(page["data"].as_array().expect("rows"));
            match page["next_cursor"].as_str() {
                Some(next) => from = format!("&cursor={next}"),
                None => return rows,
            }
        }
    }

    /// Asks the provider of an instance for its templates, rather than to wait for
    /// the host to do so by itself.
    pub async fn list_templates(&self, channel: &ConnectionId) -> Arc<TemplateList> {
        let live = self.app.pipeline.connections.get(channel).await;
        let live = live.expect("a store").expect("the channel is there");
        let list = templates::sync(&self.app, &live).await;
        list.expect("a store")
    }

    pub async fn connection(&self, id: &ConnectionId) -> Connection {
        let found = self.store().connection(id).await.expect("a store");
        found.expect("the connection is there")
    }

    /// Lets a paused connection go on.
    pub async fn resume(&self, id: &ConnectionId) {
        let store = self.store();
        store.pause_connection(id, None).await.expect("a store");
        self.app.pipeline.wake();
    }

    /// Time passes, and the worker looks what is due.
    pub async fn pass(&self, seconds: i64) {
        self.advance(seconds).await;
        self.app.pipeline.wake();
    }

    /// Whether these bytes stand anywhere in what the host keeps, in its folder
    /// or in its database.
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
        app.shutdown.drain(LONG).await;
        let (config, sealer) = (app.config.clone(), app.sealer.clone());
        drop(app);
        let place = on.location(folder.path());
        let store = until("the old host lets go of its store", async || {
            store::open(&place, clock.clone()).await.ok()
        })
        .await;
        let app = App::new(config, clock.clone(), store, sealer, Shutdown::new())
            .expect("a plugin engine");
        deploy::load_active(&app).await.expect("a store");
        let addresses = server::start(&app).await.expect("free ports");
        let host = Self {
            app,
            on,
            clock,
            addresses,
            folder,
        };
        host.work();
        host
    }

    /// Another host on the same database, started as `leadhost serve` starts one:
    /// it has joined the others when this returns.
    pub async fn beside(&self, name: &str) -> Self {
        self.beside_with(name, |_| {}).await
    }

    /// The same, with another configuration.
    pub async fn beside_with(&self, name: &str, change: impl FnOnce(&mut Config)) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let mut config = self.app.config.clone();
        config.store.data_dir = folder.path().to_owned();
        name.clone_into(&mut config.server.name);
        change(&mut config);
        let store = store::open(&self.on.location(folder.path()), self.clock.clone())
            .await
            .expect("the database is there");
        let (clock, sealer) = (self.clock.clone(), self.app.sealer.clone());
        let app = App::new(config, clock, store, sealer, Shutdown::new()).expect("an engine");
        let compiled = folder.path().join("compiled");
        for file in files(&shared()) {
            // Not there yet, or there already: both are well.
            let _ = fs::copy(&file, compiled.join(name_of(&file)));
        }
        deploy::load_active(&app).await.expect("a store");
        fleet::join(&app).await.expect("a store");
        let addresses = server::start(&app).await.expect("free ports");
        let host = Self {
            app,
            on: self.on.clone(),
            clock: self.clock.clone(),
            addresses,
            folder,
        };
        host.work();
        host
    }

    /// Compiling takes longest: what an earlier host compiled is taken from there.
    fn know_compiled(&self, wasm: &[u8]) {
        let digest = Digest::of(wasm).to_string();
        for file in files(&shared()) {
            let name = name_of(&file);
            if name.starts_with(&digest) {
                // Not there yet, or there already: both are well.
                let _ = fs::copy(&file, self.compiled().join(name));
            }
        }
    }

    fn keep_compiled(&self) {
        let shared = shared();
        for file in files(&self.compiled()) {
            let name = name_of(&file);
            if name.ends_with(".cwasm") && !shared.join(&name).exists() {
                let aside = tempfile::NamedTempFile::new_in(&shared).expect("a file");
                fs::copy(&file, aside.path()).expect("a copy");
                aside.persist(shared.join(&name)).expect("a name");
            }
        }
    }

    fn compiled(&self) -> PathBuf {
        self.folder.path().join("compiled")
    }
}

impl Ask {
    /// With HTTP Basic.
    pub fn basic(self, credentials: &str) -> Self {
        use base64::Engine as _;
        let text = base64::engine::general_purpose::STANDARD.encode(credentials);
        self.header("authorization", &format!("Basic {text}"))
    }

    /// Signed as Meta signs.
    pub fn signed(self, header: &str, prefix: &str, secret: &str, body: &[u8]) -> Self {
        let signature = signature(secret, body);
        self.header(header, &format!("{prefix}{signature}"))
            .body(body.to_vec())
    }
}

/// HMAC-SHA256 in hex.
pub fn signature(secret: &str, message: &[u8]) -> String {
    use hmac::{KeyInit as _, Mac as _};
    let mut mac =
        hmac::Hmac::<sha2::Sha256>::new_from_slice(secret.as_bytes()).expect("any length");
    mac.update(message);
    let bytes = mac.finalize().into_bytes();
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// With a rate that no test exceeds which asks until something has happened, while
/// the clock stands.
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

/// What hosts of all tests have compiled.
fn shared() -> PathBuf {
    let folder = target().join("tmp").join("compiled");
    fs::create_dir_all(&folder).expect("a folder");
    folder
}

fn files(folder: &std::path::Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder");
    entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .collect()
}

fn name_of(path: &std::path::Path) -> String {
    path.file_name()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default()
}
