//! The plugins of a host, and how each call of one runs.

use std::pin::Pin;

use tokio::sync::{Semaphore, mpsc, oneshot};
use wasmtime::component::Linker;

use super::abi;
use super::bounded_queue::BoundedQueue;
use super::breaker::Breakers;
use super::breaker::OpenCircuit;
use super::budget::CallBudget;
use super::caller;
use super::compile::Compilation;
use super::compile::Compiler;
use super::engine::CodeUse;
use super::engine::Ticker;
use super::error::{EngineError, NotInstalled};
use super::history::CallHistories;
use super::history::VersionCalls;
use super::instance::Allowance;
use super::registry::InstalledVersion;
use super::registry::Registry;
use super::schedule::{Evicted, PluginTask, PluginThreads, QueueBounds, SubmitError};
use super::warm::WarmLoad;
use super::warm::{WarmInstances, WarmPool};
use super::watch::CallWatch;
use super::watch::Watched;
use super::watch::WatchedSend;
use super::{engine, instance, instance_state, memory, schedule};
use crate::prelude::*;
use leadhost_config as config;
use leadhost_domain::clock::SharedClock;
use leadhost_domain::plugin::CircuitFunction;

/// The guest's work for a call.
pub type GuestFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, Fault>> + Send + 'a>>;

#[derive(Clone, Copy)]
pub struct CallAccount<'a> {
    pub lane: &'a str,
    pub digest: &'a Digest,
    pub budget: CallBudget,
}

#[derive(Default)]
pub struct CallStart {
    /// For components that import something from WASI.
    pub environment: Option<CallEnvironment>,
    /// The instances that were made ahead, one of which the call may use.
    pub warm: Option<Arc<WarmInstances>>,
}

/// Returns the contracts that this host offers, such as `leadhost:converter@1.0.0`.
pub fn contracts() -> impl Iterator<Item = &'static str> {
    abi::OFFERED.iter().map(|offer| offer.contract)
}

/// All plugins of this process. Clones share the same state.
#[derive(Clone)]
pub struct Plugins(pub(super) Arc<PluginRuntime>);

pub(super) struct PluginRuntime {
    pub(super) engine: Engine,
    pub(super) ticker: Arc<Ticker>,
    pub(super) bare_linker: Linker<InstanceState>,
    pub(super) wasi_linker: Linker<InstanceState>,
    pub(super) compilation: Compilation,
    pub(super) schema_checks: Arc<Semaphore>,
    /// Lets few trials run, and few wait.
    pub(super) trials: BoundedQueue,
    /// The time that a trial may take, apart from the compilation.
    pub(super) trial_time: Duration,
    pub(super) registry: Registry,
    pub(super) histories: CallHistories,
    pub(super) threads: PluginThreads,
    pub(super) breakers: Breakers,
    pub(super) watch: CallWatch,
    pub(super) clock: SharedClock,
    pub(super) inline: Duration,
    pub(super) deadline: Duration,
    pub(super) memory: usize,
    pub(super) pool: Arc<memory::MemoryPool>,
    pub(super) warm: Arc<WarmPool>,
    pub(super) code: CodeUse,
    pub(super) live_calls: AtomicU64,
    pub(super) output: usize,
    pub(super) component_bytes: usize,
}

/// Characters of the fingerprint that are shown.
pub const FINGERPRINT: usize = 12;

impl Plugins {
    /// Starts the runtime. It compiles in a child process if this program is the service,
    /// and otherwise in this process.
    pub fn new(
        config: &config::PluginsSection,
        data_dir: &Path,
        clock: SharedClock,
    ) -> Result<Self, EngineError> {
        Self::with_compiler(config, data_dir, clock, Compiler::for_this_program())
    }

    /// Starts a runtime that counts the instructions of calls, for commands that show them. Its code is
    /// slower than the service's.
    pub fn counting(
        config: &config::PluginsSection,
        data_dir: &Path,
        clock: SharedClock,
    ) -> Result<Self, EngineError> {
        let compiler = Compiler::for_this_program();
        Self::with_code(CodeUse::Counting, config, data_dir, clock, compiler)
    }

    pub fn with_compiler(
        config: &config::PluginsSection,
        data_dir: &Path,
        clock: SharedClock,
        compiler: Compiler,
    ) -> Result<Self, EngineError> {
        Self::with_code(CodeUse::Serving, config, data_dir, clock, compiler)
    }

    pub fn with_code(
        code: CodeUse,
        config: &config::PluginsSection,
        data_dir: &Path,
        clock: SharedClock,
        compiler: Compiler,
    ) -> Result<Self, EngineError> {
        let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get());
        let threads = match config.threads {
            0 => cores,
            given => given,
        };
        let memory = config.memory_mib << 20;
        let component_bytes = config.component_mib << 20;
        // Only half of the calls may be slow, so that a quick one always finds a place.
        let calls = threads * limits::CALLS_PER_THREAD;
        let bounds = QueueBounds {
            waiting: config.queue,
            begun: calls,
            slow: calls / 2,
            share_percent: config.share_percent,
        };
        let pool = memory::MemoryPool::from_limit(leadhost_config::memory::may_use());
        // Those that a version gave back may still be freed while others take their place.
        let warm = limits::WARM_INSTANCES_OF_ALL + limits::WARM_INSTANCES;
        let engine = engine::calling(code, calls + warm, memory)?;
        let ticker = Arc::new(Ticker::start(&engine)?);
        let compilation = Compilation::new(
            compiler,
            code,
            data_dir,
            engine::compatibility(&engine),
            config,
        )?;
        let wasi_linker = instance_state::wasi_linker(&engine)
            .map_err(|error| EngineError::Configure(format!("{error:#}")))?;
        Ok(Self(Arc::new(PluginRuntime {
            bare_linker: Linker::new(&engine),
            wasi_linker,
            engine,
            ticker,
            compilation,
            schema_checks: Arc::new(Semaphore::new(limits::SCHEMA_CHECKS_AT_ONCE)),
            trials: BoundedQueue::new(limits::TRIALS_AT_ONCE, limits::TRIALS_WAITING),
            trial_time: config.trial_time(),
            registry: Registry::default(),
            histories: CallHistories::new(clock.now()),
            threads: PluginThreads::start(threads, bounds)?,
            breakers: Breakers::new(Arc::clone(&clock)),
            watch: CallWatch::default(),
            clock,
            inline: Duration::from_millis(config.inline_ms),
            deadline: Duration::from_millis(config.deadline_ms),
            memory,
            warm: Arc::new(WarmPool::new(pool.part(config.warm_mib << 20))),
            pool: Arc::new(pool),
            code,
            live_calls: AtomicU64::new(0),
            output: config.output_mib << 20,
            component_bytes,
        })))
    }

    // ---- versions

    /// Installs a version, so that it can be called by its digest. Its calls are counted from now on.
    pub fn install(&self, loaded: &Arc<Loaded>) {
        let Description { name, version, .. } = &loaded.description;
        if let Some(history) = self.0.histories.for_version(name, version, &loaded.digest) {
            // It is set already if the version was installed before.
            let _ = loaded.history.set(history);
        }
        self.0.registry.install(loaded);
    }

    /// Activates an installed version under its name. Returns the version that served
    /// before, which stays installed and finishes the calls that it began.
    pub fn activate(
        &self,
        name: &str,
        digest: &Digest,
    ) -> Result<Option<Arc<Loaded>>, NotInstalled> {
        let before = self.0.registry.activate(name, digest)?;
        if let Some(before) = &before
            && before.digest != *digest
        {
            self.0.breakers.forget(&before.digest);
        }
        if let Some(active) = self.0.registry.by_digest(digest) {
            self.0.warm_from_now_on(&active, before.as_ref());
        }
        Ok(before)
    }

    pub fn active(&self, name: &str) -> Option<Arc<Loaded>> {
        self.0.registry.active(name)
    }

    pub fn by_digest(&self, digest: &Digest) -> Option<Arc<Loaded>> {
        self.0.registry.by_digest(digest)
    }

    /// Uninstalls a version. Its memory is freed when the last call on it ends; that takes
    /// a while, so it happens on a thread of its own.
    pub fn retire(&self, digest: &Digest) {
        self.0.breakers.forget(digest);
        if let Some(loaded) = self.0.registry.retire(digest) {
            loaded.cool();
            schedule::drop_in_background(loaded);
        }
    }

    pub fn forget_code(&self, digest: &Digest) {
        self.0.compilation.forget(digest);
    }

    pub fn list(&self) -> Vec<InstalledVersion> {
        self.0.registry.list()
    }

    /// Returns the open circuits: versions that are called less often for a connection.
    pub fn open_breakers(&self) -> Vec<OpenCircuit> {
        self.0.breakers.open()
    }

    /// Opens no circuit from now on: the only caller tries a plugin that may fail at each call.
    pub fn keep_circuits_closed(&self) {
        self.0.breakers.stay_closed();
    }

    /// Returns whether deliveries of a lane just failed on a version, with no success since, or take so long
    /// that they may never end.
    pub fn is_in_doubt(&self, version: &Loaded, lane: &str) -> bool {
        let breakers = &self.0.breakers;
        breakers.is_in_doubt(&version.digest, lane, CircuitFunction::Delivery)
    }

    /// Closes all circuits, after an operator changed something.
    pub fn close_circuits(&self) {
        self.0.breakers.close_all();
    }

    /// Runs the host's own work on a plugin's result on the plugins' threads. The lane pays
    /// for it, and the work yields with [`give_way`](super::give_way).
    pub async fn compute<T: Send + 'static>(
        &self,
        lane: &str,
        digest: &Digest,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Result<T, CallError> {
        self.0.compute(lane, digest, work).await
    }

    /// Returns what the calls of each version of a plugin came to and needed on this host, as far as
    /// their results may have had an effect.
    pub fn calls_of(&self, name: &str) -> Vec<VersionCalls> {
        self.0.histories.calls_for_plugin(name)
    }

    pub fn calls_counted_since(&self) -> Micros {
        self.0.histories.since()
    }

    pub fn load(&self) -> (usize, usize) {
        self.0.threads.load()
    }

    /// Returns how many calls of live traffic and of the worker there were.
    pub fn live_calls(&self) -> u64 {
        self.0.live_calls.load(Ordering::Relaxed)
    }

    pub fn warm(&self) -> WarmLoad {
        self.0.warm.load()
    }

    /// Returns a hash of everything about the engine that determines the machine code of a
    /// plugin: engines with the same one run the same code.
    pub fn fingerprint(&self) -> &str {
        self.0.compilation.compatibility()
    }

    /// Returns the first characters of the fingerprint, as people compare it.
    pub fn short_fingerprint(&self) -> &str {
        let whole = self.fingerprint();
        whole.get(..FINGERPRINT).unwrap_or(whole)
    }

    /// Returns how long the caller of a call with this budget waits for its answer at most.
    /// Returns how long a call with this budget is waited for.
    pub fn patience(&self, budget: CallBudget) -> Duration {
        self.0.patience(budget)
    }

    /// Returns the calls that end from now on, each with what it used, and the sends. Only one caller
    /// can watch; trials and comparisons are not shown.
    pub fn watch_calls(&self) -> mpsc::Receiver<Watched> {
        self.0.watch.begin()
    }

    /// Shows an attempt to send a message to the watcher, if there is one.
    pub fn tell_send(&self, send: impl FnOnce() -> WatchedSend) {
        self.0.watch.tell(|| Watched::Send(send()));
    }

    /// Stops taking calls. Calls that wait get [`CallError::ShuttingDown`]; calls in
    /// progress finish.
    pub fn close(&self) {
        self.0.threads.close();
    }
}

impl PluginRuntime {
    /// Runs `guest` on a thread for guests, in a warm instance if one is ready. Returns its
    /// answer and what it wrote to standard output and error.
    pub async fn call<T: Send + 'static>(
        &self,
        whose: CallAccount<'_>,
        start: CallStart,
        guest: impl for<'a> FnOnce(&'a mut Store<InstanceState>) -> GuestFuture<'a, T> + Send + 'static,
    ) -> Result<(T, Vec<String>), CallError> {
        self.call_with(Arc::default(), whose, start, guest).await
    }

    /// Like [`PluginRuntime::call`], with a handle that the caller keeps.
    pub async fn call_with<T: Send + 'static>(
        &self,
        handle: Arc<CallHandle>,
        whose: CallAccount<'_>,
        start: CallStart,
        guest: impl for<'a> FnOnce(&'a mut Store<InstanceState>) -> GuestFuture<'a, T> + Send + 'static,
    ) -> Result<(T, Vec<String>), CallError> {
        let inline = whose.budget.is_short();
        let time = self.time(whose.budget);
        let allowance = Allowance {
            memory: self.memory,
            output: self.output,
            time,
            inline,
            code: self.code,
        };
        // Abandons the call even if the caller is dropped.
        let waiting = CancelOnDrop(Arc::clone(&handle));
        let (answer, answered) = oneshot::channel();
        let engine = self.engine.clone();
        let pool = Arc::clone(&self.pool);
        let warm = Arc::clone(&self.warm);
        let ticker = Arc::clone(&self.ticker);
        let evicted = Arc::new(Evicted::default());
        let future = Box::pin(async move {
            if handle.is_abandoned() {
                return;
            }
            handle.start();
            let running = ticker.guest_runs();
            let environment = start.environment.as_ref();
            let warm = start
                .warm
                .and_then(|instances| instances.take(&warm, environment));
            let mut store = warm
                .unwrap_or_else(|| instance::store(&engine, allowance.memory, &pool, environment));
            instance::begin(&mut store, allowance, &handle);
            let result = guest(&mut store).await;
            handle.measure(&store);
            let result = instance::conclude(&store, allowance, result);
            drop(running);
            // Fails if the caller no longer waits, and then the result is not needed.
            let _ = answer.send(result);
            // Freeing the memory of an interpreter takes long, and the caller does not wait for it.
            drop(store);
        });
        let work = PluginTask {
            future,
            evicted: Arc::clone(&evicted),
        };
        self.threads
            .submit(&caller::lane(whose.lane), whose.digest, true, work)
            .map_err(refused)?;
        let out_of_time = CallError::OutOfTime {
            budget: time,
            place: String::new(),
            inline,
            log: Vec::new(),
        };
        // The budget is processor time, and a limit on wall-clock time applies as well. A
        // call that began and did not get its processor time is not at fault.
        match tokio::time::timeout(self.patience(whose.budget), answered).await {
            Ok(Ok(result)) => result,
            Ok(Err(_)) if evicted.is_set() && inline => Err(out_of_time),
            Ok(Err(_)) if evicted.is_set() => Err(CallError::Busy),
            Ok(Err(_)) if waiting.0.has_started() => Err(CallError::Trapped {
                message: "the host failed during the call; see its log".to_owned(),
                log: Vec::new(),
            }),
            Ok(Err(_)) => Err(CallError::ShuttingDown),
            Err(_) if waiting.0.has_started() && inline => Err(out_of_time),
            Err(_) => Err(CallError::Busy),
        }
    }

    pub fn time(&self, budget: CallBudget) -> Duration {
        match budget {
            CallBudget::FirstTry => self.inline / limits::FIRST_TRY_PART,
            _ if budget.is_short() => self.inline,
            _ => self.deadline,
        }
    }

    /// Returns how long a call with this budget is waited for.
    pub fn patience(&self, budget: CallBudget) -> Duration {
        let at_least = match budget {
            CallBudget::Inline => Duration::ZERO,
            CallBudget::Brief | CallBudget::Control => limits::BRIEF_CALL_PATIENCE,
            CallBudget::Worker
            | CallBudget::FirstTry
            | CallBudget::Operator
            | CallBudget::Trial => limits::SLOW_CALL_PATIENCE,
            CallBudget::Leased => limits::LEASED_CALL_PATIENCE,
        };
        (self.time(budget) * WALL_FACTOR).max(at_least)
    }

    /// Runs the host's own work on a plugin's result. The lane pays for it, and the work
    /// yields with [`give_way`](super::give_way).
    pub async fn compute<T: Send + 'static>(
        &self,
        lane: &str,
        digest: &Digest,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Result<T, CallError> {
        let (answer, answered) = oneshot::channel();
        let future = Box::pin(async move {
            let result = work.await;
            let _ = answer.send(result);
        });
        let work = PluginTask {
            future,
            evicted: Arc::default(),
        };
        self.threads
            .submit(&caller::lane(lane), digest, false, work)
            .map_err(refused)?;
        answered.await.map_err(|_| CallError::ShuttingDown)
    }
}

pub fn refused(refused: SubmitError) -> CallError {
    match refused {
        SubmitError::Full => CallError::Busy,
        SubmitError::Closed => CallError::ShuttingDown,
    }
}

/// A call's wall-clock limit as a multiple of its processor time.
pub const WALL_FACTOR: u32 = 4;

pub struct CancelOnDrop(pub Arc<CallHandle>);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.abandon();
    }
}
