//! The way of a lead and of a message, as stories: `intake` takes a delivery in,
//! `notify` a message that is to go out, `deals` what partners do to deals, `worker` does what waits, `fetch` gets
//! what a pointer points at, `send` sends, `templates` keeps what providers have
//! approved, `deploy` makes a plugin serve, `fleet` keeps hosts that share a
//! store together, `import` takes catalogues in, `catalogue` keeps product names in memory for searching, `rollup` keeps
//! analytics counted, `redrive` and `replay` convert again what failed or what an
//! operator asks for, `erase` forgets a person. Plain steps they share stand beside them.

mod answering;
pub mod apply;
pub mod catalogue;
pub mod check;
pub mod connections;
pub mod convert;
pub mod deals;
pub mod deploy;
pub mod desk;
pub mod erase;
pub mod events;
pub mod fetch;
pub mod fleet;
pub mod greeting;
pub mod import;
pub mod intake;
pub mod kept;
pub mod mask;
pub mod normalise;
pub mod notify;
pub mod parts;
mod props;
pub mod redrive;
pub mod replay;
pub mod rollup;
pub mod routing;
pub mod send;
pub mod slots;
pub mod sweep;
pub mod templates;
pub mod turns;
pub mod unanswered;
pub mod waiting;
pub mod worker;

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;

use crate::app::App;
use crate::config::Config;
use crate::domain::id::ConnectionId;
use crate::egress::Egress;
use crate::limits;
use crate::seal::Sealer;
use crate::shutdown::Shutdown;
use crate::store::Store;

use catalogue::Catalogue;
use connections::Connections;
use rollup::Rollup;
use templates::Templates;
use turns::Turns;
use waiting::Waiting;

/// What the stories share, one per host.
pub struct Pipeline {
    pub catalogue: Catalogue,
    pub connections: Connections,
    pub egress: Egress,
    pub rollup: Rollup,
    pub templates: Templates,
    pub turns: Turns,
    /// Work was stored that is due now.
    wake: Notify,
    pub waiting: Waiting,
    /// Activations happen one at a time.
    deploying: tokio::sync::Mutex<()>,
}

impl Pipeline {
    pub fn new(config: &Config, store: Arc<dyn Store>, sealer: Arc<Sealer>) -> Self {
        Self {
            catalogue: Catalogue::new(config.search.memory_mib),
            turns: Turns::new(limits::TURNS_PER_WRITE * store.writes_of_one()),
            connections: Connections::new(store, sealer),
            egress: Egress::new(Duration::from_secs(config.worker.fetch_seconds)),
            rollup: Rollup::default(),
            templates: Templates::default(),
            wake: Notify::new(),
            waiting: Waiting::default(),
            deploying: tokio::sync::Mutex::new(()),
        }
    }

    /// Something is due: the worker looks at once.
    pub fn wake(&self) {
        self.wake.notify_one();
    }

    fn one_more_waits(&self, connection: &ConnectionId) {
        self.waiting.one_more(connection);
        self.wake();
    }
}

/// Runs a piece of work to its end, whoever stops waiting for it: a sender that
/// hangs up does not end it, and a shutdown waits for it.
pub fn spawn<F>(app: &App, work: F) -> tokio::task::JoinHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    let hold = app.shutdown.hold();
    // A task is moved a few times before it is where it stays, and this is large.
    let work = Box::pin(work);
    tokio::spawn(async move {
        let output = work.await;
        drop(hold);
        output
    })
}

/// A wait between attempts, after this many: doubling from the first, up to the longest.
fn doubled(first: i64, longest: i64, attempts: u32) -> i64 {
    let doublings = attempts.saturating_sub(1).min(20);
    first.saturating_mul(1 << doublings).min(longest)
}

/// Starts what runs beside the requests: the worker, the periodic jobs, the inbox, and
/// what was cut short by the last stop.
pub fn start(app: &Arc<App>, shutdown: &Shutdown) -> Vec<tokio::task::JoinHandle<()>> {
    let mut tasks = vec![
        tokio::spawn(worker::run(Arc::clone(app), shutdown.clone())),
        tokio::spawn(sweep::run(Arc::clone(app), shutdown.clone())),
        tokio::spawn(templates::run(Arc::clone(app), shutdown.clone())),
        tokio::spawn(unanswered::run(Arc::clone(app), shutdown.clone())),
        tokio::spawn(rollup::run(Arc::clone(app), shutdown.clone())),
        spawn(app, redrive::resume(Arc::clone(app))),
    ];
    tasks.extend(fleet::start(app, shutdown));
    if !app.config.plugins.inbox.is_empty() {
        tasks.push(tokio::spawn(deploy::watch_inbox(
            Arc::clone(app),
            shutdown.clone(),
        )));
    }
    tasks
}
