//! One call: a fresh store and a fresh instance under limits, thrown away
//! after it. Nothing that a guest leaves behind reaches another call.
//!
//! Time is the processor time of the thread, looked at with every tick: a busy
//! machine is not the plugin's fault. A call whose caller is gone ends at the
//! next tick.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use wasmtime::{Engine, FrameInfo, Store, Trap, UpdateDeadline, WasmBacktrace};

use super::abi::Fault;
use super::error::CallError;
use super::imports::Wasi;
use super::limits::{Bounds, MemoryExceeded};
use crate::domain::text::kept;

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

/// Runs `guest` in a store of its own. The second part of the answer is what
/// the guest wrote to its standard output and error.
pub fn run<T>(
    engine: &Engine,
    allowance: Allowance,
    ticket: &Arc<Ticket>,
    wasi: Option<Wasi>,
    guest: impl FnOnce(&mut Store<State>) -> Result<T, Fault>,
) -> Result<(T, Vec<String>), CallError> {
    let mut store = store(engine, allowance, ticket, wasi);
    let answer = guest(&mut store);
    let log = store
        .data()
        .wasi
        .as_ref()
        .map(|wasi| wasi.log_lines())
        .unwrap_or_default();
    match answer {
        Ok(answer) => Ok((answer, log)),
        Err(Fault::Rule(what)) => Err(CallError::Refused { what: kept(what) }),
        Err(Fault::Lacks { kind, function }) => Err(CallError::Lacks { kind, function }),
        Err(Fault::Guest(error)) => Err(explain(&error, allowance, log)),
    }
}

/// A store under limits, whose time runs from now.
pub fn store(
    engine: &Engine,
    allowance: Allowance,
    ticket: &Arc<Ticket>,
    wasi: Option<Wasi>,
) -> Store<State> {
    let mut store = Store::new(
        engine,
        State {
            bounds: Bounds::new(allowance.memory),
            wasi: wasi.map(Box::new),
        },
    );
    store.limiter(|state| &mut state.bounds);
    store.set_hostcall_fuel(allowance.output);
    store.set_epoch_deadline(1);
    let ends = processor_time() + allowance.time;
    let watched = Arc::clone(ticket);
    store.epoch_deadline_callback(move |_| {
        let over = watched.is_given_up() || processor_time() >= ends;
        Ok(if over {
            UpdateDeadline::Interrupt
        } else {
            UpdateDeadline::Continue(1)
        })
    });
    store
}

fn explain(error: &wasmtime::Error, allowance: Allowance, log: Vec<String>) -> CallError {
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

fn shortened(message: String) -> String {
    let mut message = kept(message);
    const MOST: usize = 1_000;
    if message.len() > MOST {
        message.truncate(message.floor_char_boundary(MOST));
        message.push_str("...");
    }
    message
}

fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::try_from(time).unwrap_or_default()
}
