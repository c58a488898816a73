//! Plugins at work: components compiled once, kept by digest, swapped whole
//! while calls run, and called with a fresh instance under limits each time.
//!
//! The rules inside. A version is prepared (compiled, linked, tried, its golden
//! cases run) before anybody can see it. Guests run on threads of their own,
//! never on those that serve. A call gives an answer or a [`CallError`] that
//! says whether the version is at fault. This module knows nothing of the store
//! and decides nothing about deliveries. Only it names the runtime, and only
//! `abi/` names generated bindings.

mod abi;
#[cfg(feature = "bench")]
pub mod bench;
mod calls;
mod compile;
mod engine;
mod error;
mod golden;
mod imports;
pub mod inbox;
mod instance;
mod limits;
mod load;
mod registry;
pub mod rules;
pub mod schema;
mod threads;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;
use wasmtime::component::Linker;
use wasmtime::{Engine, Store};

pub use self::compile::{
    Compiler, EXIT_INVALID as COMPILE_EXIT_INVALID, translate as compile_component,
};
pub use self::error::{CallError, EngineError, LoadError, NotInstalled};
pub use self::load::{Loaded, Prepared};
pub use self::registry::Listed;

use self::abi::Fault;
use self::compile::Compilation;
use self::engine::Ticker;
use self::imports::Wasi;
use self::instance::{Allowance, State, Ticket};
use self::registry::Registry;
use self::threads::{Length, Shares, Threads};
use crate::clock::SharedClock;
use crate::config;
use crate::domain::plugin::Digest;

/// How long a call may compute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Budget {
    /// Inside a request: short, and past it the delivery waits for the worker.
    Inline,
    /// The worker's: past it the version is at fault.
    Worker,
}

/// The contracts that this host offers: `leadhost:converter@1.0.0` and more.
pub fn contracts() -> impl Iterator<Item = &'static str> {
    abi::OFFERED.iter().map(|offer| offer.contract)
}

/// All plugins of this process. Clones are the same.
#[derive(Clone)]
pub struct Plugins(Arc<Inner>);

struct Inner {
    engine: Engine,
    ticker: Arc<Ticker>,
    bare_linker: Linker<State>,
    wasi_linker: Linker<State>,
    compilation: Compilation,
    registry: Registry,
    threads: Threads,
    clock: SharedClock,
    inline: Duration,
    deadline: Duration,
    memory: usize,
    output: usize,
    component_bytes: usize,
}

impl Plugins {
    /// Compiles in a child process where this program is the service, else in
    /// this one.
    pub fn new(
        config: &config::Plugins,
        data_dir: &Path,
        clock: SharedClock,
    ) -> Result<Self, EngineError> {
        Self::with_compiler(config, data_dir, clock, Compiler::of_this_program())
    }

    pub fn with_compiler(
        config: &config::Plugins,
        data_dir: &Path,
        clock: SharedClock,
        compiler: Compiler,
    ) -> Result<Self, EngineError> {
        // Two at least: one may be held by a long call while a request waits.
        let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get());
        let threads = match config.threads {
            0 => cores.max(2),
            given => given,
        };
        let memory = config.memory_mib << 20;
        let engine = engine::serving(threads, memory)?;
        let ticker = Arc::new(Ticker::start(&engine)?);
        let compilation = Compilation::new(
            compiler,
            data_dir,
            engine::compatibility(&engine),
            Duration::from_secs(config.compile_seconds),
            config.compile_memory_mib,
        )?;
        let wasi_linker = imports::wasi_linker(&engine)
            .map_err(|error| EngineError::Configure(format!("{error:#}")))?;
        Ok(Self(Arc::new(Inner {
            bare_linker: Linker::new(&engine),
            wasi_linker,
            engine,
            ticker,
            compilation,
            registry: Registry::default(),
            threads: Threads::start(Shares {
                threads,
                queue: config.queue,
                percent: config.share_percent,
            })?,
            clock,
            inline: Duration::from_millis(config.inline_ms),
            deadline: Duration::from_millis(config.deadline_ms),
            memory,
            output: config.output_mib << 20,
            component_bytes: config.component_mib << 20,
        })))
    }

    /// Checks, compiles, links and tries a component. It is not installed yet.
    pub async fn prepare(&self, wasm: Vec<u8>) -> Result<Prepared, LoadError> {
        load::prepare(self, wasm).await
    }

    // ---- which versions there are

    /// Makes a version callable by its digest.
    pub fn install(&self, loaded: &Arc<Loaded>) {
        self.0.registry.install(loaded);
    }

    /// Makes an installed version serve under its name; the one that served
    /// before is returned, stays installed, and finishes the calls that it began.
    pub fn activate(
        &self,
        name: &str,
        digest: &Digest,
    ) -> Result<Option<Arc<Loaded>>, NotInstalled> {
        self.0.registry.activate(name, digest)
    }

    pub fn active(&self, name: &str) -> Option<Arc<Loaded>> {
        self.0.registry.active(name)
    }

    pub fn by_digest(&self, digest: &Digest) -> Option<Arc<Loaded>> {
        self.0.registry.by_digest(digest)
    }

    /// Forgets a version. Its memory is given back when the last call on it
    /// ends; that takes a while, so it happens on a thread of its own.
    pub fn retire(&self, digest: &Digest) {
        if let Some(loaded) = self.0.registry.retire(digest) {
            let dropping = std::thread::Builder::new()
                .name("plugin-drop".to_owned())
                .spawn(move || drop(loaded));
            // Without a thread it was dropped just now, here.
            drop(dropping);
        }
    }

    pub fn list(&self) -> Vec<Listed> {
        self.0.registry.list()
    }

    /// Calls that wait for a thread, and calls that run.
    pub fn load(&self) -> (usize, usize) {
        self.0.threads.load()
    }

    /// Takes no more calls; those that wait hear [`CallError::ShuttingDown`],
    /// those that run end by themselves.
    pub fn close(&self) {
        self.0.threads.close();
    }
}

impl Inner {
    /// Runs `guest` on a thread for guests. The second part of the answer is
    /// what it wrote to its standard output and error.
    async fn call<T: Send + 'static>(
        &self,
        lane: &str,
        budget: Budget,
        imports_wasi: bool,
        (id, received_at): (String, String),
        guest: impl FnOnce(&mut Store<State>) -> Result<T, Fault> + Send + 'static,
    ) -> Result<(T, Vec<String>), CallError> {
        let (time, length) = match budget {
            Budget::Inline => (self.inline, Length::Short),
            Budget::Worker => (self.deadline, Length::Long),
        };
        let allowance = Allowance {
            memory: self.memory,
            output: self.output,
            time,
            inline: budget == Budget::Inline,
        };
        let ticket = Arc::new(Ticket::default());
        // Also when the caller is dropped.
        let waiting = Waiting(Arc::clone(&ticket));
        let (answer, answered) = oneshot::channel();
        let engine = self.engine.clone();
        let ticker = Arc::clone(&self.ticker);
        let job = Box::new(move || {
            if ticket.is_given_up() {
                return;
            }
            ticket.start();
            let wasi = imports_wasi.then(|| Wasi::new(&id, &received_at));
            let running = ticker.guest_runs();
            let result = instance::run(&engine, allowance, &ticket, wasi, guest);
            drop(running);
            // Nobody waits any more: then nobody misses it.
            let _ = answer.send(result);
        });
        self.threads.submit(lane, length, job)?;
        // The budget is processor time; the wall clock has the last word.
        match tokio::time::timeout(time * WALL_FACTOR, answered).await {
            Ok(Ok(result)) => result,
            Ok(Err(_)) if waiting.0.has_started() => Err(CallError::Trapped {
                message: "the host failed at it; its log says more".to_owned(),
                log: Vec::new(),
            }),
            Ok(Err(_)) => Err(CallError::ShuttingDown),
            Err(_) if waiting.0.has_started() => Err(CallError::OutOfTime {
                budget_ms: u64::try_from(time.as_millis()).unwrap_or(u64::MAX),
                inline: allowance.inline,
            }),
            Err(_) => Err(CallError::Busy),
        }
    }
}

/// A call's wall-clock limit as a multiple of its processor time.
const WALL_FACTOR: u32 = 4;

struct Waiting(Arc<Ticket>);

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.give_up();
    }
}
