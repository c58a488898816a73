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

use leadhost_config::{self as config, Config};
use leadhost_domain::clock::ManualClock;
use leadhost_domain::exchange::InputProblem;
use leadhost_domain::plugin::{ConverterOutput, PluginDelivery};
use leadhost_domain::time::Micros;
use leadhost_plugin::{CallBudget, CallError, Loaded, Plugins};
use leadhost_tests::compiled::share_compiled_code;
use leadhost_tests::guests;
use tempfile::TempDir;

/// How often a call is retried that is refused because all threads are busy.
const BUSY_TRIES: usize = 10;

/// Plugins with their own data folder.
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

    /// Without compiled code.
    fn without_code(overrides: &[(&str, &str)]) -> Self {
        let data = tempfile::tempdir().unwrap();
        let plugins = plugins(data.path(), overrides);
        Self { plugins, data }
    }

    fn compiled_folder(&self) -> PathBuf {
        self.data.path().join("compiled")
    }

    /// The converter that does what its configuration asks for.
    async fn misbehave(&self) -> Arc<Loaded> {
        self.prepared(guests::misbehave()).await
    }

    /// The adapter that does what its configuration asks for.
    async fn misbehave_adapter(&self) -> Arc<Loaded> {
        self.prepared(guests::misbehave_adapter()).await
    }

    async fn prepared(&self, wasm: Vec<u8>) -> Arc<Loaded> {
        self.plugins.prepare(wasm).await.unwrap().loaded
    }

    /// Returns the result of a conversion, which is made again while the host is busy.
    async fn convert(
        &self,
        loaded: &Arc<Loaded>,
        config: &str,
    ) -> Result<Result<ConverterOutput, InputProblem>, CallError> {
        unless_busy(|| self.call(loaded, config)).await
    }

    async fn call(
        &self,
        loaded: &Arc<Loaded>,
        config: &str,
    ) -> Result<Result<ConverterOutput, InputProblem>, CallError> {
        self.plugins
            .convert(loaded, "lane", delivery(config), CallBudget::Worker)
            .await
    }
}

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

/// How long a component may take to compile and to be tried, unless a test says otherwise:
/// a loaded machine compiles slowly, and no test but those of these limits is about that.
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

/// The error without the functions in which the call was.
fn without_place(mut error: CallError) -> CallError {
    if let CallError::OutOfTime { place, .. } | CallError::OutOfMemory { place, .. } = &mut error {
        place.clear();
    }
    error
}
