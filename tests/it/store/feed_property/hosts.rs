//! Hosts from their start to their end, on a store that outlives them: one on a file,
//! two on a database. Inside the store, transactions pause now and then where it is
//! worst: before they take the feed's clock, while they hold it, and just before the
//! commit.

use std::sync::Arc;
use std::time::Duration;

use leadhost::app::App;
use leadhost_config::Config;
use leadhost_config::shutdown::Shutdown;
use leadhost_domain::clock::{Clock as _, ManualClock};
use leadhost_domain::key::PlainKey;
use leadhost_domain::row::Entity;
use leadhost_egress::seal::Sealer;
use leadhost_http::listen::{self, Addresses};
use leadhost_pipeline::core::Core;
use leadhost_store::*;
use leadhost_tests::{On, until};
use rusqlite::Connection;
use sqlx::Executor as _;
use tempfile::TempDir;

use super::Stepping;
use super::client::Feeds;
use super::feed::{Feed, Row};
use crate::store::deals;
use crate::store::world::{self, World};

/// A file cannot sleep, but it can work: making random bytes takes as long.
const PAUSES_OF_A_FILE: &str = "
create trigger pause_before before insert on feed_clock
when abs(random()) % 20 = 0
begin select length(randomblob(abs(random()) % 3000000)); end;
create trigger pause_after after update on feed_clock
when abs(random()) % 20 = 0
begin select length(randomblob(abs(random()) % 3000000)); end";

const PAUSES_OF_A_DATABASE: &str = "
create function test_clock.pause() returns trigger language plpgsql as $$
begin
  if random() < 0.05 then
    perform pg_sleep(random() * 0.05);
  end if;
  return null;
end $$;
create trigger pause_before before insert on leadhost.feed_clock
for each statement execute function test_clock.pause();
create trigger pause_after after insert on leadhost.feed_clock
for each statement execute function test_clock.pause();
create constraint trigger pause_at_commit after insert or update on leadhost.feed_clock
deferrable initially deferred
for each row execute function test_clock.pause()";

/// Connections in the middle of a transaction.
const CUT: &str = "
select count(pg_terminate_backend(pid))
from pg_stat_activity
where datname = current_database()
and application_name = 'leadhost'
and state <> 'idle'";

/// The parts that outlive hosts.
pub struct Environment {
    on: On,
    folder: TempDir,
    clock: Arc<Stepping>,
    seed: u64,
}

impl Environment {
    pub async fn new(on: On, seed: u64) -> Self {
        let environment = Self {
            on,
            folder: tempfile::tempdir().expect("a folder"),
            clock: Arc::default(),
            seed,
        };
        let store = environment.open().await;
        environment.on.shift_clock(0).await;
        match &environment.on {
            On::Sqlite => {
                let file = environment.folder.path().join("leadhost.db");
                let connection = Connection::open(file).expect("the file is there");
                let made = connection.execute_batch(PAUSES_OF_A_FILE);
                made.expect("triggers");
            }
            On::Postgres(database) => {
                let made = database.connect().await.execute(PAUSES_OF_A_DATABASE).await;
                made.expect("triggers");
                // The clock of a server elsewhere may be ahead of ours.
                let query = "select (extract(epoch from clock_timestamp()) * 1000000)::bigint";
                let before = environment.clock.now().0;
                let theirs = environment.on.count(environment.folder.path(), query).await;
                environment.clock.is_behind(theirs - before);
            }
        }
        drop(store);
        environment
    }

    async fn open(&self) -> Arc<Store> {
        let location = self.on.location(self.folder.path());
        // The last host may still have the file open while it shuts down.
        until("the store is free", async || {
            open(&location, Arc::clone(&self.clock) as _).await.ok()
        })
        .await
    }
}

struct RunningHost {
    app: App,
    addresses: Addresses,
}

pub struct RunningHosts {
    pub on: On,
    pub clock: Arc<Stepping>,
    pub world: World,
    pub partner: ByPartner,
    hosts: Vec<RunningHost>,
    key: PlainKey,
    seed: u64,
}

impl RunningHosts {
    pub async fn begin(environment: &Environment) -> Self {
        let mut hosts = Vec::new();
        for _ in 0..hosts_of(&environment.on) {
            hosts.push(RunningHost::start(environment).await);
        }
        let store = Arc::clone(&hosts[0].app.core.store);
        let standing = ManualClock::at(world::START);
        let mut world = World::with_store(store, standing, Box::new(())).await;
        world.on = environment.on.clone();
        // Clients here send more requests than a rate limit would allow.
        let plan = Plan {
            rate_limit: 1_000_000,
            ..world::plan("demo")
        };
        let applied = world.apply(&plan, world::START, false).await;
        applied.expect("the plan holds");
        Self {
            on: environment.on.clone(),
            clock: Arc::clone(&environment.clock),
            partner: deals::acme(&world).await,
            key: world::key(&world.store, world.workspace).await,
            world,
            hosts,
            seed: environment.seed,
        }
    }

    pub async fn end(self) {
        drop(self.world);
        for host in self.hosts {
            host.app.core.shutdown.drain(Duration::from_secs(5)).await;
        }
    }

    pub fn store(&self, number: usize) -> &Store {
        &self.hosts[number % self.hosts.len()].app.core.store
    }

    /// A feed for one client.
    pub fn feeds(&self, entity: Entity, number: usize) -> Feeds {
        let host = &self.hosts[number % self.hosts.len()];
        let store = Feed::Store {
            store: Arc::clone(&host.app.core.store),
            scope: self.world.scope,
            entity,
        };
        let http = Feed::Http {
            to: host.addresses.data,
            key: self.key.clone(),
            entity,
        };
        Feeds {
            feeds: vec![store, http],
            clock: Some(Arc::clone(&self.clock)),
        }
    }

    /// Returns all rows of a feed, after checking that the store and HTTP agree.
    pub async fn truth(&self, entity: Entity) -> Vec<Row> {
        let [store, http] = &self.feeds(entity, 0).feeds[..] else {
            panic!("there are two ways");
        };
        let truth = store.all().await;
        assert!(http.all().await == truth, "two ways, seed {}", self.seed);
        truth
    }

    pub async fn step_clock(&self, shift: i64) {
        self.clock.step_to(shift);
        self.on.shift_clock(shift).await;
    }

    /// Cuts the hosts' running transactions in the database.
    pub async fn cut_connections(&self) {
        if let On::Postgres(database) = &self.on {
            let cut = database.connect().await.execute(CUT).await;
            cut.expect("the connections are the owner's own");
        }
    }
}

impl RunningHost {
    async fn start(environment: &Environment) -> Self {
        let folder = environment.folder.path().display().to_string();
        let settings = [
            ("server.listen", "127.0.0.1:0"),
            ("server.admin_listen", "127.0.0.1:0"),
            ("store.data_dir", &folder),
        ];
        let settings = settings.map(|(key, value)| (key.to_owned(), value.to_owned()));
        let config = Config::load(None, &settings).expect("a configuration");
        let clock = Arc::clone(&environment.clock);
        let store = environment.open().await;
        let sealer = Arc::new(Sealer::throwaway());
        let core = Core::new(config, clock, store, sealer, Shutdown::new());
        let app = App::new(core.expect("a plugin engine"));
        let addresses = listen::start(&app.http).await.expect("free ports");
        Self { app, addresses }
    }
}

/// A file has one host. On a database two write, and their stamps still have one
/// order.
fn hosts_of(on: &On) -> usize {
    match on {
        On::Sqlite => 1,
        On::Postgres(_) => 2,
    }
}
