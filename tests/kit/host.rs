//! A host as `leadhost serve` creates it, on port 0 and in its own folder.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper::Method;
use leadhost::app::App;
use leadhost_config::Config;
use leadhost_config::shutdown::Shutdown;
use leadhost_domain::clock::{Clock as _, ManualClock};
use leadhost_domain::time::{self, Micros};
use leadhost_egress::seal::Sealer;
use leadhost_http::listen::{self, Addresses};
use leadhost_pipeline::core::Core;
use leadhost_pipeline::rollup::{self, Round};
use leadhost_store::{self as store, Store};
use tempfile::TempDir;
use tokio::net::TcpStream;

use crate::client::Ask;
use crate::compiled::share_compiled_code;
use crate::on::On;

/// The store of a host, and the settings that differ from the defaults.
pub struct Options {
    pub on: On,
    /// `section.key` and value, as on the command line.
    pub config: Vec<(&'static str, String)>,
}

impl Options {
    pub fn on(on: On) -> Self {
        Self {
            on,
            config: Vec::new(),
        }
    }

    pub fn with(mut self, key: &'static str, value: impl ToString) -> Self {
        self.config.push((key, value.to_string()));
        self
    }
}

pub struct Host {
    pub app: App,
    pub on: On,
    /// Move it with [`Host::advance`]: the store may have a clock of its own.
    pub clock: Arc<ManualClock>,
    pub addresses: Addresses,
    /// Deleted with the host.
    pub folder: TempDir,
}

impl Host {
    pub async fn new(on: On) -> Self {
        Self::start(Options::on(on)).await
    }

    /// Starts a host in a folder of its own, at the time at which every test starts. Nothing
    /// works in the background yet.
    pub async fn start(options: Options) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        share_compiled_code(folder.path());
        let mut overrides = vec![
            ("server.listen".to_owned(), "127.0.0.1:0".to_owned()),
            ("server.admin_listen".to_owned(), "127.0.0.1:0".to_owned()),
            (
                "store.data_dir".to_owned(),
                folder.path().display().to_string(),
            ),
        ];
        for (key, value) in options.config {
            overrides.push((key.to_owned(), value));
        }
        let config = Config::load(None, &overrides).expect("a configuration");
        let on = options.on;
        let clock = ManualClock::at(beginning());
        on.turn_clock(clock.now()).await;
        let store = store::open(&on.location(folder.path()), clock.clone())
            .await
            .expect("a store");
        let sealer = Arc::new(Sealer::throwaway());
        let core = Core::new(config, clock.clone(), store, sealer, Shutdown::new());
        let app = App::new(core.expect("a plugin engine"));
        Self::listening(app, on, clock, folder).await
    }

    pub(crate) async fn listening(
        app: App,
        on: On,
        clock: Arc<ManualClock>,
        folder: TempDir,
    ) -> Self {
        let addresses = listen::start(&app.http).await.expect("free ports");
        Self {
            app,
            on,
            clock,
            addresses,
            folder,
        }
    }

    pub fn now(&self) -> Micros {
        self.clock.now()
    }

    pub async fn advance(&self, seconds: i64) {
        // The store's clock first: work that becomes due by the host's clock may run
        // at once, and the store stamps it.
        self.on.turn_clock(self.now().plus_seconds(seconds)).await;
        self.clock.advance_seconds(seconds);
    }

    pub fn store(&self) -> &Store {
        &self.app.core.store
    }

    /// Returns a request to the data API if the path starts with `/v1/`, otherwise to the
    /// gateway.
    pub fn ask(&self, method: &str, target: &str) -> Ask {
        let method = Method::from_bytes(method.as_bytes()).expect("a method");
        let path = target.split('?').next().unwrap_or_default();
        let to = if path.starts_with("/v1/") {
            self.addresses.data
        } else {
            self.addresses.gateway
        };
        Ask::new(to, method, target)
    }

    pub fn get(&self, target: &str) -> Ask {
        self.ask("GET", target)
    }

    pub fn post(&self, target: &str) -> Ask {
        self.ask("POST", target)
    }

    pub fn admin(&self, method: &str, target: &str) -> Ask {
        let method = Method::from_bytes(method.as_bytes()).expect("a method");
        Ask::admin(self.addresses.admin, method, target)
    }

    pub fn console(&self, method: &str, target: &str) -> Ask {
        self.console_as(&self.addresses.admin.to_string(), method, target)
    }

    /// A request to the console, which names this host.
    pub fn console_as(&self, host: &str, method: &str, target: &str) -> Ask {
        let method = Method::from_bytes(method.as_bytes()).expect("a method");
        Ask::new(self.addresses.admin, method, target).header("host", host)
    }

    pub fn admin_address(&self) -> SocketAddr {
        self.addresses.admin
    }

    pub async fn raw(&self) -> TcpStream {
        connect(self.addresses.gateway).await
    }

    /// Counts analytics as its job does, including requested zones, until nothing is
    /// left. Returns the result of the last round.
    pub async fn count_analytics(&self) -> Round {
        loop {
            let round = rollup::now(&self.app.pipeline)
                .await
                .expect("a round to its end");
            if !round.more {
                return round;
            }
        }
    }

    /// Runs a query of one number directly on the store.
    pub async fn count(&self, query: &'static str) -> i64 {
        self.on.count(self.folder.path(), query).await
    }

    /// Stops as on a signal. Returns how many requests were cut off.
    pub async fn stop(&self, within: Duration) -> usize {
        self.app.core.shutdown.drain(within).await
    }
}

async fn connect(address: SocketAddr) -> TcpStream {
    TcpStream::connect(address).await.expect("the host listens")
}

/// The time at which every test starts.
fn beginning() -> Micros {
    time::parse("2030-01-15T12:00:00Z").expect("a time")
}
