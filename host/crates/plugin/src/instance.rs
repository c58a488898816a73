//! One call: a fresh store and a fresh instance under limits, dropped after the call. No
//! state of a guest reaches another call.
//!
//! A call is a fiber that yields with every tick and may continue on another thread. Its
//! time is the processor time of its slices, so a busy machine is not counted against the
//! plugin. A call whose caller no longer waits ends at the next tick.

use wasmtime::{Trap, UpdateDeadline};

use super::engine::CodeUse;
use super::frames::{cause_first, place_of};
use super::imports::Wasi;
use super::memory::{MemoryLimiter, MemoryPool, PoolExhausted};
use super::schedule::processor_time_of_slice;
use super::usage::CallUsage;
use crate::prelude::*;

#[derive(Clone, Copy, Debug)]
pub struct Allowance {
    pub memory: usize,
    pub output: usize,
    pub time: Duration,
    /// A call past `time` is only cancelled, and not counted against the plugin.
    pub inline: bool,
    pub code: CodeUse,
}

/// Fuel of a call whose instructions are counted: more than any call burns.
const FUEL: u64 = i64::MAX as u64;

/// The handle that a caller and its call share. `abandoned` means that the caller no longer
/// waits.
#[derive(Debug, Default)]
pub struct CallHandle {
    abandoned: AtomicBool,
    started: AtomicBool,
    /// Nanoseconds of processor time of the slices that have ended.
    processor: AtomicU64,
    /// The bytes of memory that the call needed at the end of those slices.
    memory: AtomicU64,
    /// Filled when the call ends, if the caller asks for it.
    usage: Option<OnceLock<CallUsage>>,
}

impl CallHandle {
    /// Returns the handle of a call whose usage its caller reads afterwards.
    pub fn measured() -> Self {
        Self {
            usage: Some(OnceLock::new()),
            ..Self::default()
        }
    }

    /// Records what the call in this store used, in full only if its caller asks for it. It belongs
    /// into the last slice of the call, after the guest has ended.
    pub fn measure(&self, store: &Store<InstanceState>) {
        let state = store.data();
        let (processor, memory) = (
            self.processor() + processor_time_of_slice(),
            state.limiter.needed(),
        );
        self.set_needs(processor, memory);
        let Some(usage) = &self.usage else {
            return;
        };
        let wasi = state.wasi.as_ref();
        let _ = usage.set(CallUsage {
            processor,
            memory,
            // An engine that does not count has no fuel.
            instructions: store.get_fuel().ok().map(|left| FUEL.saturating_sub(left)),
            log: wasi.map(|wasi| wasi.log_lines()).unwrap_or_default(),
        });
    }

    /// Returns what the call used: until its last slice, if it did not end. Nothing if it is not measured.
    pub fn usage(&self) -> CallUsage {
        let Some(usage) = &self.usage else {
            return CallUsage::default();
        };
        usage.get().cloned().unwrap_or_else(|| CallUsage {
            processor: self.processor(),
            memory: self.memory(),
            ..CallUsage::default()
        })
    }

    pub(super) fn set_needs(&self, processor: Duration, memory: u64) {
        self.slice_ends(processor);
        self.memory.store(memory, Ordering::Relaxed);
    }

    /// Returns the processor time of the call, without a slice that has not ended.
    pub fn processor(&self) -> Duration {
        Duration::from_nanos(self.processor.load(Ordering::Relaxed))
    }

    /// Returns the bytes of memory that the call needed, without a slice that has not ended.
    pub fn memory(&self) -> u64 {
        self.memory.load(Ordering::Relaxed)
    }

    fn slice_ends(&self, processor: Duration) {
        let nanos = u64::try_from(processor.as_nanos()).unwrap_or(u64::MAX);
        self.processor.store(nanos, Ordering::Relaxed);
    }

    pub fn abandon(&self) {
        self.abandoned.store(true, Ordering::Relaxed);
    }

    pub fn is_abandoned(&self) -> bool {
        self.abandoned.load(Ordering::Relaxed)
    }

    pub fn start(&self) {
        self.started.store(true, Ordering::Relaxed);
    }

    pub fn has_started(&self) -> bool {
        self.started.load(Ordering::Relaxed)
    }
}

/// Returns a store for an instance with at most this many bytes of memory. `environment` is the call's, for
/// components that import something from WASI. A call in it begins with [`begin`].
pub fn store(
    engine: &Engine,
    memory: usize,
    pool: &Arc<MemoryPool>,
    environment: Option<&CallEnvironment>,
) -> Store<InstanceState> {
    let mut store = Store::new(
        engine,
        InstanceState {
            limiter: MemoryLimiter::new(memory, Arc::clone(pool)),
            wasi: environment.map(|call| Box::new(Wasi::new(call))),
            started: None,
        },
    );
    store.limiter(|state| &mut state.limiter);
    store
}

/// Puts a store under the limits of a call. Its time runs from now.
pub fn begin(store: &mut Store<InstanceState>, allowance: Allowance, handle: &Arc<CallHandle>) {
    store.set_hostcall_fuel(allowance.output);
    if allowance.code == CodeUse::Counting {
        // It fails only in engines without fuel.
        let _ = store.set_fuel(FUEL);
    }
    store.set_epoch_deadline(1);
    let mut before = Duration::ZERO;
    let watched = Arc::clone(handle);
    store.epoch_deadline_callback(move |store| {
        // A slice ends at each callback, so adding this slice's time is enough.
        before += processor_time_of_slice();
        let over = watched.is_abandoned() || before >= allowance.time;
        if over {
            return Ok(UpdateDeadline::Interrupt);
        }
        // Its caller may stop waiting before it ends.
        watched.set_needs(before, store.data().limiter.needed());
        Ok(UpdateDeadline::Yield(1))
    });
}

/// Returns the result of a call in this store, with what the guest wrote to standard output
/// and error.
pub fn conclude<T>(
    store: &Store<InstanceState>,
    allowance: Allowance,
    answer: Result<T, Fault>,
) -> Result<(T, Vec<String>), CallError> {
    let wasi = store.data().wasi.as_ref();
    let log = wasi.map(|wasi| wasi.log_lines()).unwrap_or_default();
    if store.data().limiter.was_exceeded() {
        return Err(CallError::OutOfMemory {
            limit: allowance.memory,
            place: match &answer {
                Err(Fault::Guest(error)) => place_of(error),
                _ => String::new(),
            },
            log,
        });
    }
    match answer {
        Ok(answer) => Ok((answer, log)),
        Err(Fault::Rule(what)) => Err(CallError::Refused {
            what: shortened(what),
            log,
        }),
        Err(Fault::Lacks { kind, function }) => Err(CallError::Lacks { kind, function }),
        Err(Fault::Guest(error)) => Err(explain(&error, allowance, log)),
    }
}

fn explain(error: &wasmtime::Error, allowance: Allowance, log: Vec<String>) -> CallError {
    if error.is::<PoolExhausted>() {
        return CallError::Busy;
    }
    if error.downcast_ref::<Trap>() == Some(&Trap::Interrupt) {
        return CallError::OutOfTime {
            budget: allowance.time,
            place: place_of(error),
            inline: allowance.inline,
            log,
        };
    }
    let message = cause_first(error);
    // The engine's error for this has no public type.
    if message.contains("fuel allocated for hostcalls has been exhausted") {
        return CallError::TooMuchOutput {
            limit: allowance.output,
            log,
        };
    }
    CallError::Trapped {
        message: shortened(message),
        log,
    }
}
