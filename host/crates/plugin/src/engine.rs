//! The WebAssembly engine: its settings, its instance pool and the ticker that interrupts
//! calls.
//!
//! All settings that affect the generated code are in [`code_settings`], so that code
//! compiled by another process of the same program fits. Guests are deterministic: no
//! threads, canonical NaNs. [`PROPOSALS`] lists what a guest may use of WebAssembly.

use std::hash::{Hash, Hasher};

use wasmtime::{
    Config, Enabled, InstanceAllocationStrategy, PoolingAllocationConfig, WasmFeatures,
};

use super::error::EngineError;
use super::function_cache::FunctionCache;
use crate::prelude::*;

/// How often running guests are interrupted: the resolution of their budgets.
pub const TICK: Duration = Duration::from_millis(1);

/// What components may use of WebAssembly: what the toolchains of the SDKs emit, and nothing else.
/// A proposal that this build of the runtime has no code for can end the process, and a new one of a
/// later release is off until it is listed here.
const PROPOSALS: WasmFeatures = WasmFeatures::COMPONENT_MODEL
    .union(WasmFeatures::FLOATS)
    .union(WasmFeatures::MUTABLE_GLOBAL)
    .union(WasmFeatures::SIGN_EXTENSION)
    .union(WasmFeatures::SATURATING_FLOAT_TO_INT)
    .union(WasmFeatures::MULTI_VALUE)
    .union(WasmFeatures::BULK_MEMORY)
    .union(WasmFeatures::REFERENCE_TYPES)
    .union(WasmFeatures::SIMD)
    .union(WasmFeatures::EXTENDED_CONST)
    // The runtime's own code between two components in one file has the memories of both.
    .union(WasmFeatures::MULTI_MEMORY);

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CodeUse {
    #[default]
    Serving,
    /// To count the instructions of a call. This code is slower, so all other figures come from
    /// the code that serves.
    Counting,
}

/// Returns the engine for calls, with an instance pool if the machine allows it.
pub fn calling(code: CodeUse, calls: usize, memory: usize) -> Result<Engine, EngineError> {
    let mut config = code_settings(code);
    config.allocation_strategy(pool(calls, memory));
    match Engine::new(&config) {
        Ok(engine) => Ok(engine),
        Err(error) => {
            tracing::warn!(
                error = format!("{error:#}"),
                "plugin instance pool not allocated (no address space), calls are slower"
            );
            Engine::new(&code_settings(code))
                .map_err(|error| EngineError::Configure(format!("{error:#}")))
        }
    }
}

/// Returns an engine for one compilation, to be dropped afterwards: a compiler keeps the
/// memory of its largest function while it lives. Functions that the cache has are not compiled.
pub fn compiling(code: CodeUse, cache: Option<Arc<FunctionCache>>) -> wasmtime::Result<Engine> {
    let mut config = code_settings(code);
    if let Some(cache) = cache {
        config.enable_incremental_compilation(cache)?;
    }
    Engine::new(&config)
}

/// Returns a hash that compiled code must match to run in this engine.
pub fn compatibility(engine: &Engine) -> String {
    let mut hasher = std::hash::DefaultHasher::new();
    engine.precompile_compatibility_hash().hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}

/// Increments the engine's epoch while guests run, and stops while none does, so that an
/// idle service causes no wakeups.
pub struct Ticker {
    running: Arc<AtomicUsize>,
    thread: std::thread::Thread,
}

pub struct RunningGuest<'a>(&'a AtomicUsize);

impl Ticker {
    /// Starts the ticker's thread, which ends with the engine.
    #[expect(
        clippy::disallowed_methods,
        reason = "a thread that does nothing but let time pass"
    )]
    pub fn start(engine: &Engine) -> Result<Self, EngineError> {
        /// How often an idle ticker checks whether its engine still exists.
        const REST: Duration = Duration::from_secs(1);

        let engine = engine.weak();
        let running = Arc::new(AtomicUsize::new(0));
        let watched = Arc::clone(&running);
        let thread = std::thread::Builder::new()
            .name("plugin-ticks".to_owned())
            .spawn(move || {
                while let Some(engine) = engine.upgrade() {
                    if watched.load(Ordering::SeqCst) == 0 {
                        drop(engine);
                        std::thread::park_timeout(REST);
                        continue;
                    }
                    engine.increment_epoch();
                    drop(engine);
                    std::thread::sleep(TICK);
                }
            })
            .map_err(EngineError::Thread)?;
        Ok(Self {
            running,
            thread: thread.thread().clone(),
        })
    }

    pub fn guest_runs(&self) -> RunningGuest<'_> {
        if self.running.fetch_add(1, Ordering::SeqCst) == 0 {
            self.thread.unpark();
        }
        RunningGuest(&self.running)
    }
}

impl Drop for RunningGuest<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

fn code_settings(code: CodeUse) -> Config {
    let mut config = Config::new();
    config
        .concurrency_support(false)
        .wasm_features(WasmFeatures::all(), false)
        .wasm_features(PROPOSALS, true)
        .epoch_interruption(true)
        .max_wasm_stack(limits::PLUGIN_STACK_BYTES)
        .cranelift_nan_canonicalization(true)
        .consume_fuel(code == CodeUse::Counting);
    config
}

fn pool(calls: usize, memory: usize) -> InstanceAllocationStrategy {
    // The margin is for instances that are still being torn down.
    let calls = u32::try_from(calls + 2).unwrap_or(u32::MAX);
    let scan = PoolingAllocationConfig::is_pagemap_scan_available();
    // With the scan only touched pages are reset, so much memory may stay mapped. Without
    // it every kept byte is cleared after each call.
    let keep = if scan { 1 << 20 } else { 64 << 10 };
    if !scan {
        tracing::info!(
            "page scan not available (needs Linux 6.7), plugin calls are slightly slower"
        );
    }
    let mut pool = PoolingAllocationConfig::default();
    pool.pagemap_scan(if scan { Enabled::Yes } else { Enabled::No })
        .total_component_instances(calls)
        .total_core_instances(calls * limits::PLUGIN_CORE_INSTANCES)
        .total_memories(calls * limits::PLUGIN_MEMORIES)
        .total_tables(calls * limits::PLUGIN_TABLES)
        .total_stacks(calls)
        .max_memory_size(memory + limits::PLUGIN_MESSAGE_MEMORY)
        .max_core_instances_per_component(limits::PLUGIN_CORE_INSTANCES)
        .max_memories_per_component(limits::PLUGIN_MEMORIES)
        .max_tables_per_component(limits::PLUGIN_TABLES)
        .table_elements(limits::PLUGIN_TABLE_ELEMENTS)
        .linear_memory_keep_resident(keep)
        .table_keep_resident(64 << 10)
        .max_unused_warm_slots(calls);
    InstanceAllocationStrategy::Pooling(pool)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_from_the_compiling_engine_fits_the_serving_one() {
        let hashes = [CodeUse::Serving, CodeUse::Counting].map(|code| {
            let calling = calling(code, 2, 64 << 20).expect("an engine");
            let compiling = compiling(code, None).expect("an engine");
            assert_eq!(
                compatibility(&calling),
                compatibility(&compiling),
                "{code:?}"
            );
            compatibility(&calling)
        });
        assert_ne!(
            hashes[0], hashes[1],
            "they keep their code in the same folder"
        );
    }
}
