//! The way of a lead, as stories: `intake` takes a delivery in, `worker` does
//! what waits, `fetch` gets what a pointer points at, `deploy` makes a plugin
//! serve, `fleet` keeps hosts that share a store together, `redrive` and `replay` convert again what failed or what an operator
//! asks for. Plain steps they share stand beside them.

pub mod apply;
pub mod check;
pub mod connections;
pub mod convert;
pub mod deploy;
pub mod fetch;
pub mod fleet;
pub mod intake;
pub mod kept;
pub mod mask;
pub mod normalise;
pub mod redrive;
pub mod replay;
pub mod slots;
pub mod sweep;
pub mod worker;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::Notify;

use crate::app::App;
use crate::config::Config;
use crate::egress::Egress;
use crate::seal::Sealer;
use crate::shutdown::Shutdown;
use crate::store::Store;

use connections::Connections;

/// What the stories share, one per host.
pub struct Pipeline {
    pub connections: Connections,
    pub egress: Egress,
    /// Work was stored that is due now.
    wake: Notify,
    /// Deliveries waiting for conversion, as last counted, and those added since.
    waiting: AtomicU64,
    /// Activations happen one at a time.
    deploying: tokio::sync::Mutex<()>,
}

impl Pipeline {
    pub fn new(config: &Config, store: Arc<dyn Store>, sealer: Arc<Sealer>) -> Self {
        Self {
            connections: Connections::new(store, sealer),
            egress: Egress::new(Duration::from_secs(config.worker.fetch_seconds)),
            wake: Notify::new(),
            waiting: AtomicU64::new(0),
            deploying: tokio::sync::Mutex::new(()),
        }
    }

    /// Something is due: the worker looks at once.
    pub fn wake(&self) {
        self.wake.notify_one();
    }

    fn is_full(&self, bound: u64) -> bool {
        self.waiting.load(Ordering::Relaxed) >= bound
    }

    fn one_more_waits(&self) {
        self.waiting.fetch_add(1, Ordering::Relaxed);
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
    tokio::spawn(async move {
        let output = work.await;
        drop(hold);
        output
    })
}

/// Starts what runs beside the requests: the worker, the sweep, the inbox, and
/// what was cut short by the last stop.
pub fn start(app: &Arc<App>, shutdown: &Shutdown) -> Vec<tokio::task::JoinHandle<()>> {
    let mut tasks = vec![
        tokio::spawn(worker::run(Arc::clone(app), shutdown.clone())),
        tokio::spawn(sweep::run(Arc::clone(app), shutdown.clone())),
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
