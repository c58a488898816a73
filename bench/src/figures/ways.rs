//! The ways of a conversion: the same lead in a reused instance, in a fresh one, and so on. They take turns, so
//! that disturbances of the machine affect all of them. Each call is timed separately.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use leadhost_config::Config;
use leadhost_domain::clock::SystemClock;
use leadhost_domain::plugin::{ConverterOutput, PluginDelivery};
use leadhost_plugin::{CallBudget, Compiler, Loaded, Plugins};

use crate::Failure;
use crate::report::Cell;
use crate::sample::Sample;

/// The time of a call, and whether it gave its one lead.
pub type Timed = (Duration, bool);

pub async fn load(
    folder: &Path,
    component: Vec<u8>,
    overrides: &[(String, String)],
) -> Result<(Plugins, Arc<Loaded>), Failure> {
    let config = Config::load(None, overrides)?;
    let clock = Arc::new(SystemClock);
    let plugins = Plugins::with_compiler(&config.plugins, folder, clock, Compiler::InProcess)?;
    let loaded = plugins.prepare(component).await?.loaded;
    plugins.install(&loaded);
    plugins.activate(&loaded.description.name, &loaded.digest)?;
    Ok((plugins, loaded))
}

/// Times a call that runs on this thread.
pub fn here<A, E, F>(
    call: impl FnOnce() -> Result<Result<A, E>, F>,
    has_lead: fn(&A) -> bool,
) -> Timed {
    let begin = Instant::now();
    let answer = call();
    let took = begin.elapsed();
    (took, matches!(answer, Ok(Ok(answer)) if has_lead(&answer)))
}

/// Times a call through the queue and a thread of the service, as a request waits for it.
pub async fn queued(
    plugins: &Plugins,
    plugin: &Arc<Loaded>,
    delivery: PluginDelivery,
    budget: CallBudget,
) -> Timed {
    let begin = Instant::now();
    let answer = plugins.convert(plugin, "lane", delivery, budget).await;
    let took = begin.elapsed();
    (took, matches!(answer, Ok(Ok(answer)) if has_lead(&answer)))
}

pub fn has_lead(answer: &ConverterOutput) -> bool {
    answer.items.len() == 1
}

pub struct Way {
    pub name: &'static str,
    times: Vec<Duration>,
}

impl Way {
    pub fn new(name: &'static str) -> Self {
        Self {
            name,
            times: Vec::new(),
        }
    }

    /// Adds the time of a call, if it counts.
    pub fn add(&mut self, (took, right): Timed, counts: bool) -> Result<(), Failure> {
        if !right {
            return Err(format!("{}: a conversion gave no lead", self.name).into());
        }
        if counts {
            self.times.push(took);
        }
        Ok(())
    }

    pub fn sample(&self) -> Sample {
        Sample::from_durations(self.times.iter().copied())
    }
}

/// How many times the p50 of the first way each one takes.
pub fn times_first<const N: usize>(ways: &[Way; N]) -> [f64; N] {
    let p50 = ways.each_ref().map(|way| way.sample().p50().as_secs_f64());
    p50.map(|way| way / p50[0])
}

/// The cells of the columns `way | p50 | p99 | times the first (p50)`.
pub fn rows<const N: usize>(ways: &[Way; N]) -> impl Iterator<Item = [Cell; 4]> {
    ways.iter().zip(times_first(ways)).map(|(way, times)| {
        let [p50, p99, _] = way.sample().cells();
        [way.name.into(), p50, p99, format!("{times:.1}").into()]
    })
}

pub fn delivery(number: u64, headers: &[(&str, &str)], body: Vec<u8>) -> PluginDelivery {
    let pair = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    let context = [("time-zone", "America/Sao_Paulo"), ("region", "BR")];
    PluginDelivery {
        id: format!("0196f0a8-7b1c-7d42-9a53-{number:012x}"),
        received_at: "2026-03-02T09:15:31.000000Z".to_owned(),
        method: "POST".to_owned(),
        path: "/ingest-lead/BenchBenchBenchBench00".to_owned(),
        query: vec![],
        headers: headers.iter().map(pair).collect(),
        body: body.into(),
        config: "{}".to_owned(),
        context: context.iter().map(pair).collect(),
    }
}
