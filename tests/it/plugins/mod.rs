//! Plugins: refusals before activation, the limits of a call, what a guest can see,
//! and swaps under load.

mod adapter_bounds;
mod adapters;
mod calls;
mod compiling;
mod connected;
mod deploying;
mod dev;
mod hostile;
mod lanes;
mod lead_bounds;
mod local;
mod mailer;
mod new_project;
mod owners;
mod proposals;
mod refusals;
mod registry;
pub(crate) mod rollout;
mod rollout_disturbed;
mod rollout_guards;
mod rollout_orders;
mod rollout_sends;
mod rollout_stages;
mod schemas;
mod service_tls;
mod swaps;
mod trials;
mod trusted_keys;
mod verify;
mod warm;
mod wasi;
pub(crate) mod wrong_values;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use leadhost_config::{self as config, Config};
use leadhost_domain::clock::ManualClock;
use leadhost_domain::exchange::InputProblem;
use leadhost_domain::plugin::{ConverterOutput, PluginDelivery};
use leadhost_domain::time::Micros;
use leadhost_plugin::{CallBudget, CallError, LoadError, Loaded, Plugins};
use leadhost_tests::compiled::share_compiled_code;
use leadhost_tests::guests;
use tempfile::TempDir;

/// How often a call is retried that is refused because all threads are busy.
const BUSY_TRIES: usize = 10;

struct Bench {
    plugins: Plugins,
    data: TempDir,
}

impl Bench {
    fn new(overrides: &[(&str, &str)]) -> Self {
        let data = tempfile::tempdir().unwrap();
        share_compiled_code(data.path());
        let plugins = plugins(data.path(), overrides);
        Self { plugins, data }
    }

    /// With the converter that does what its configuration asks for.
    async fn misbehaving(overrides: &[(&str, &str)]) -> (Self, Arc<Loaded>) {
        let bench = Self::new(overrides);
        let loaded = bench.misbehave().await;
        (bench, loaded)
    }

    fn without_code(overrides: &[(&str, &str)]) -> Self {
        let data = tempfile::tempdir().unwrap();
        let plugins = plugins(data.path(), overrides);
        Self { plugins, data }
    }

    fn compiled_folder(&self) -> PathBuf {
        self.data.path().join("compiled")
    }

    async fn misbehave(&self) -> Arc<Loaded> {
        self.prepared(guests::misbehave()).await
    }

    async fn misbehave_adapter(&self) -> Arc<Loaded> {
        self.prepared(guests::misbehave_adapter()).await
    }

    async fn prepared(&self, wasm: Vec<u8>) -> Arc<Loaded> {
        self.plugins.prepare(wasm).await.unwrap().loaded
    }

    /// Returns why a component is refused.
    async fn refused(&self, wasm: Vec<u8>) -> LoadError {
        self.plugins.prepare(wasm).await.unwrap_err()
    }

    /// Returns the result of a conversion, which is made again while the host is busy.
    async fn convert(&self, loaded: &Arc<Loaded>, config: &str) -> Converted {
        unless_busy(|| self.convert_in("lane", loaded, config, CallBudget::Worker)).await
    }

    async fn convert_in(
        &self,
        lane: &str,
        loaded: &Arc<Loaded>,
        config: &str,
        budget: CallBudget,
    ) -> Converted {
        let plugins = &self.plugins;
        plugins
            .convert(loaded, lane, delivery(config), budget)
            .await
    }

    /// Converts an empty delivery, which must succeed.
    async fn works(&self, loaded: &Arc<Loaded>) -> ConverterOutput {
        self.convert(loaded, "{}").await.unwrap().unwrap()
    }
}

type Converted = Result<Result<ConverterOutput, InputProblem>, CallError>;

/// Returns the result of a call, which is made again while other programs leave it too
/// little processor time.
async fn unless_busy<T>(call: impl AsyncFn() -> Result<T, CallError>) -> Result<T, CallError> {
    for _ in 1..BUSY_TRIES {
        let result = call().await;
        if !matches!(result, Err(CallError::Busy)) {
            return result;
        }
    }
    call().await
}

/// How long a component may take to compile and to be tried, unless a test says otherwise: a
/// loaded machine compiles slowly, and only the tests of these limits are about that.
const PATIENCE: [(&str, &str); 2] = [("compile_seconds", "3600"), ("trial_seconds", "3600")];

fn settings(overrides: &[(&str, &str)]) -> config::PluginsSection {
    let overrides: Vec<(String, String)> = PATIENCE
        .iter()
        .chain(overrides)
        .map(|(key, value)| (format!("plugins.{key}"), (*value).to_owned()))
        .collect();
    Config::load(None, &overrides).unwrap().plugins
}

fn clock() -> Arc<ManualClock> {
    ManualClock::at(Micros(1_772_452_800_000_000))
}

fn plugins(data_dir: &Path, overrides: &[(&str, &str)]) -> Plugins {
    Plugins::new(&settings(overrides), data_dir, clock()).unwrap()
}

fn delivery(config: &str) -> PluginDelivery {
    PluginDelivery {
        id: "018f0000-0000-7000-8000-000000000001".to_owned(),
        received_at: "2026-03-02T12:00:00.250000Z".to_owned(),
        method: "POST".to_owned(),
        path: "/ingest-lead/x".to_owned(),
        query: vec![("a".to_owned(), "1".to_owned())],
        headers: vec![("content-type".to_owned(), "application/json".to_owned())],
        body: b"{}".to_vec().into(),
        config: config.to_owned(),
        context: vec![("region".to_owned(), "BR".to_owned())],
    }
}

fn out_of_time(budget: Duration, inline: bool) -> CallError {
    CallError::OutOfTime {
        budget,
        place: String::new(),
        inline,
        log: Vec::new(),
    }
}

fn out_of_memory(mebibytes: usize) -> CallError {
    CallError::OutOfMemory {
        limit: mebibytes << 20,
        place: String::new(),
        log: Vec::new(),
    }
}

fn too_much_output(mebibytes: usize) -> CallError {
    CallError::TooMuchOutput {
        limit: mebibytes << 20,
        log: Vec::new(),
    }
}

/// The error without the functions in which the call was.
fn without_place(mut error: CallError) -> CallError {
    if let CallError::OutOfTime { place, .. } | CallError::OutOfMemory { place, .. } = &mut error {
        place.clear();
    }
    error
}
