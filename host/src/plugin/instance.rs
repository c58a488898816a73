//! One call: a fresh store and a fresh instance under limits, thrown away
//! after it. Nothing that a guest leaves behind reaches another call.
//!
//! A call is a fiber that gives way with every tick, and may go on on another
//! thread. Its time is the processor time of its slices: a busy machine is not
//! the plugin's fault. A call whose caller is gone ends at the next tick.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use wasmtime::{Engine, FrameInfo, Store, Trap, UpdateDeadline, WasmBacktrace};

use super::abi::Fault;
use super::error::{CallError, shortened};
use super::imports::Wasi;
use super::memory::{Bounds, MemoryExceeded, Pool, PoolExhausted};
use super::schedule::processor_time_of_slice;

/// What a store carries.
pub struct State {
    pub bounds: Bounds,
    /// Only of components that import something of WASI.
    pub wasi: Option<Box<Wasi>>,
}

/// What a call may take.
#[derive(Clone, Copy, Debug)]
pub struct Allowance {
    /// Bytes, all memories together.
    pub memory: usize,
    /// Bytes that come out of the guest.
    pub output: usize,
    pub time: Duration,
    /// Past `time` the call is only cancelled, not held against the plugin.
    pub inline: bool,
}

/// Between a caller and its call: gone means that nobody waits any more.
#[derive(Debug, Default)]
pub struct Ticket {
    gone: AtomicBool,
    started: AtomicBool,
}

impl Ticket {
    pub fn give_up(&self) {
        self.gone.store(true, Ordering::Relaxed);
    }

    pub fn is_given_up(&self) -> bool {
        self.gone.load(Ordering::Relaxed)
    }

    pub fn start(&self) {
        self.started.store(true, Ordering::Relaxed);
    }

    pub fn has_started(&self) -> bool {
        self.started.load(Ordering::Relaxed)
    }
}

/// A store under limits, whose time runs from now.
pub fn store(
    engine: &Engine,
    allowance: Allowance,
    pool: &Arc<Pool>,
    ticket: &Arc<Ticket>,
    wasi: Option<Wasi>,
) -> Store<State> {
    let mut store = Store::new(
        engine,
        State {
            bounds: Bounds::new(allowance.memory, Arc::clone(pool)),
            wasi: wasi.map(Box::new),
        },
    );
    store.limiter(|state| &mut state.bounds);
    store.set_hostcall_fuel(allowance.output);
    store.set_epoch_deadline(1);
    let mut before = Duration::ZERO;
    let watched = Arc::clone(ticket);
    store.epoch_deadline_callback(move |_| {
        // Each time a slice ends here, so this one's time is all there is to add.
        before += processor_time_of_slice();
        let over = watched.is_given_up() || before >= allowance.time;
        Ok(if over {
            UpdateDeadline::Interrupt
        } else {
            UpdateDeadline::Yield(1)
        })
    });
    store
}

/// What a call in this store came to. The second part of the answer is what the
/// guest wrote to its standard output and error.
pub fn conclude<T>(
    store: &Store<State>,
    allowance: Allowance,
    answer: Result<T, Fault>,
) -> Result<(T, Vec<String>), CallError> {
    let wasi = store.data().wasi.as_ref();
    let log = wasi.map(|wasi| wasi.log_lines()).unwrap_or_default();
    match answer {
        Ok(answer) => Ok((answer, log)),
        Err(Fault::Rule(what)) => Err(CallError::Refused {
            what: shortened(what),
        }),
        Err(Fault::Lacks { kind, function }) => Err(CallError::Lacks { kind, function }),
        Err(Fault::Guest(error)) => Err(explain(&error, allowance, log)),
    }
}

fn explain(error: &wasmtime::Error, allowance: Allowance, log: Vec<String>) -> CallError {
    if error.is::<PoolExhausted>() {
        return CallError::Busy;
    }
    if error.is::<MemoryExceeded>() {
        return CallError::OutOfMemory {
            limit: allowance.memory,
        };
    }
    if error.downcast_ref::<Trap>() == Some(&Trap::Interrupt) {
        return CallError::OutOfTime {
            budget_ms: u64::try_from(allowance.time.as_millis()).unwrap_or(u64::MAX),
            inline: allowance.inline,
        };
    }
    let message = cause_first(error);
    // The engine's error for this has no public type.
    if message.contains("fuel allocated for hostcalls has been exhausted") {
        return CallError::TooMuchOutput {
            limit: allowance.output,
        };
    }
    CallError::Trapped {
        message: shortened(message),
        log,
    }
}

/// What happened, then where it happened if the component has names for that.
fn cause_first(error: &wasmtime::Error) -> String {
    const FRAMES: usize = 5;
    let mut message = error.root_cause().to_string();
    if let Some(trace) = error.downcast_ref::<WasmBacktrace>() {
        let named = trace.frames().iter().filter_map(FrameInfo::func_name);
        for (index, name) in named.take(FRAMES).enumerate() {
            message.push_str(if index == 0 { ", in " } else { " < " });
            message.push_str(name);
        }
    }
    message
}
