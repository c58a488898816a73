//! The data that the engine keeps with a call, and the linker that connects a component's
//! imports to it.

use std::any::Any;

use wasmtime::component::{HasData, Linker};
use wasmtime_wasi::p2::bindings::clocks::{monotonic_clock, wall_clock};
use wasmtime_wasi::p2::bindings::random::{insecure, insecure_seed, random};
use wasmtime_wasi::{WasiCtxView, WasiView};

use super::imports::Wasi;
use super::memory::MemoryLimiter;

pub struct InstanceState {
    pub limiter: MemoryLimiter,
    /// Only for components that import something from WASI.
    pub wasi: Option<Box<Wasi>>,
    /// The exports of an instance that was made before its call, in the type of its contract.
    pub started: Option<Box<dyn Any + Send>>,
}

impl InstanceState {
    pub fn take_started<T: 'static>(&mut self) -> Option<T> {
        let started = self.started.take()?;
        started.downcast().ok().map(|exports| *exports)
    }

    pub fn time_was_read(&self) -> bool {
        self.wasi.as_ref().is_some_and(|wasi| wasi.time_was_read())
    }
}

/// Returns the linker for components that import something from WASI.
pub fn wasi_linker(engine: &wasmtime::Engine) -> wasmtime::Result<Linker<InstanceState>> {
    let mut linker = Linker::new(engine);
    wasmtime_wasi::p2::add_to_linker_async(&mut linker)?;
    // The host's deterministic clocks and random numbers replace the standard ones.
    linker.allow_shadowing(true);
    wall_clock::add_to_linker::<InstanceState, Deterministic>(&mut linker, wasi)?;
    monotonic_clock::add_to_linker::<InstanceState, Deterministic>(&mut linker, wasi)?;
    random::add_to_linker::<InstanceState, Deterministic>(&mut linker, wasi)?;
    insecure::add_to_linker::<InstanceState, Deterministic>(&mut linker, wasi)?;
    insecure_seed::add_to_linker::<InstanceState, Deterministic>(&mut linker, wasi)?;
    linker.allow_shadowing(false);
    Ok(linker)
}

impl WasiView for InstanceState {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        wasi(self).view()
    }
}

/// Only components linked with [`wasi_linker`] get here, and their calls have an
/// environment.
fn wasi(state: &mut InstanceState) -> &mut Wasi {
    state
        .wasi
        .as_deref_mut()
        .expect("a call of a component that imports WASI carries it")
}

struct Deterministic;

impl HasData for Deterministic {
    type Data<'a> = &'a mut Wasi;
}
