//! For benchmarks only: a conversion on the calling thread, and one in an instance that is kept,
//! which the service never does. Engine, linking and limits are the service's.

use std::pin::pin;
use std::task::{Context, Poll, Waker};

use super::abi::KeptInstance;
use super::instance::{self, Allowance};
use crate::prelude::*;

impl Plugins {
    /// Converts in a fresh instance like the service, without the queue and the thread
    /// before it.
    pub fn convert_here(
        &self,
        plugin: &Loaded,
        delivery: PluginDelivery,
    ) -> Result<Result<ConverterOutput, InputProblem>, CallError> {
        let mut store = self.store(plugin);
        let answer = at_once(async {
            let guest = plugin.guest.converter("convert")?;
            guest.convert(&mut store, delivery).await
        });
        instance::conclude(&store, self.allowance(), answer).map(|(answer, _)| answer)
    }

    pub fn keep_instance(&self, plugin: &Loaded) -> Result<ReusedInstance, String> {
        let mut store = self.store(plugin);
        let guest = at_once(async {
            let guest = plugin.guest.converter("convert")?;
            Ok::<_, Fault>(guest.keep(&mut store).await?)
        });
        let guest = guest.map_err(|fault| format!("{fault:?}"))?;
        Ok(ReusedInstance { store, guest })
    }

    fn store(&self, plugin: &Loaded) -> Store<InstanceState> {
        let allowance = self.allowance();
        let environment = plugin
            .imports_wasi
            .then(|| CallEnvironment::new("018f0000-0000-7000-8000-000000000001", ""));
        let (engine, pool) = (&self.0.engine, &self.0.pool);
        let mut store = instance::store(engine, allowance.memory, pool, environment.as_ref());
        instance::begin(&mut store, allowance, &Arc::new(CallHandle::default()));
        store
    }

    fn allowance(&self) -> Allowance {
        Allowance {
            memory: self.0.memory,
            output: self.0.output,
            // The time of a kept instance adds up over its calls.
            time: std::time::Duration::from_secs(3_600),
            inline: true,
            code: self.0.code,
        }
    }
}

/// Runs a call on the calling thread, slice by slice.
fn at_once<T>(call: impl Future<Output = T>) -> T {
    let mut call = pin!(call);
    let mut context = Context::from_waker(Waker::noop());
    loop {
        if let Poll::Ready(answer) = call.as_mut().poll(&mut context) {
            return answer;
        }
    }
}

pub struct ReusedInstance {
    store: Store<InstanceState>,
    guest: KeptInstance,
}

impl ReusedInstance {
    pub fn convert(
        &mut self,
        delivery: PluginDelivery,
    ) -> Result<Result<ConverterOutput, InputProblem>, String> {
        at_once(self.guest.convert(&mut self.store, delivery)).map_err(|fault| format!("{fault:?}"))
    }
}
