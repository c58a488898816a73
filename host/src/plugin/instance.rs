//! One call: a fresh store and a fresh instance under limits, dropped after the call. No
//! state of a guest reaches another call.
//!
//! A call is a fiber that yields with every tick and may continue on another thread. Its
//! time is the processor time of its slices, so a busy machine is not counted against the
//! plugin. A call whose caller is gone ends at the next tick.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use wasmtime::{Engine, FrameInfo, Store, Trap, UpdateDeadline, WasmBacktrace};

use super::abi::Fault;
use super::error::{CallError, shortened};
use super::imports::Wasi;
use super::memory::{Bounds, MemoryExceeded, Pool, PoolExhausted};
use super::schedule::processor_time_of_slice;

/// The data of a store.
pub struct InstanceState {
    pub bounds: Bounds,
    /// Only for components that import something from WASI.
    pub wasi: Option<Box<Wasi>>,
}

/// The limits of a call.
#[derive(Clone, Copy, Debug)]
pub struct Allowance {
    /// Bytes of all linear memories together.
    pub memory: usize,
    /// Bytes that the guest may return.
    pub output: usize,
    pub time: Duration,
    /// A call past `time` is only cancelled, and not counted against the plugin.
    pub inline: bool,
}

/// State shared by a caller and its call. `gone` means that the caller no longer waits.
#[derive(Debug, Default)]
pub struct Ticket {
    gone: AtomicBool,
    started: AtomicBool,
}

impl Ticket {
    /// Marks the call as abandoned: it ends at the next tick.
    pub fn give_up(&self) {
        self.gone.store(true, Ordering::Relaxed);
    }

    /// Returns whether the call was abandoned.
    pub fn is_given_up(&self) -> bool {
        self.gone.load(Ordering::Relaxed)
    }

    /// Marks the call as started.
    pub fn start(&self) {
        self.started.store(true, Ordering::Relaxed);
    }

    /// Returns whether the call has started.
    pub fn has_started(&self) -> bool {
        self.started.load(Ordering::Relaxed)
    }
}

/// Returns a store under limits. Its time runs from now.
pub fn store(
    engine: &Engine,
    allowance: Allowance,
    pool: &Arc<Pool>,
    ticket: &Arc<Ticket>,
    wasi: Option<Wasi>,
) -> Store<InstanceState> {
    let mut store = Store::new(
        engine,
        InstanceState {
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
        // A slice ends at each callback, so adding this slice's time is enough.
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

/// Returns the result of a call in this store, with what the guest wrote to standard output
/// and error.
///
/// # Errors
/// Returns a [`CallError`] if the guest failed, exceeded a limit, or broke a rule of the
/// host.
pub fn conclude<T>(
    store: &Store<InstanceState>,
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
            budget: allowance.time,
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

/// Returns the root cause, then the functions in which it happened if the component has
/// names for them.
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
