//! The cost of isolation: one conversion of a portal's lead by the same Rust
//! code, called natively, in a reused instance, and in a fresh instance,
//! which the service creates for every call.
//!
//! The ways take turns within a round, so that disturbances of the machine
//! affect all of them. Each call is timed separately; making its input and
//! dropping its output are not part of the time.

use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use converter_grupo_olx::GrupoOlx;
use leadhost_config::Config;
use leadhost_domain::clock::SystemClock;
use leadhost_domain::plugin::PluginDelivery;
use leadhost_plugin::{CallBudget, Compiler, Loaded, Plugins};
use leadhost_sdk::__bindings::converter::exports::leadhost::converter::converter::Guest as _;
use leadhost_sdk::Exported;
use serde_json::json;

use crate::report::{Report, Table, time};
use crate::sample::Sample;
use crate::{Arguments, Failure, lead};

/// Calls of one way before the next takes its turn, and the number of turns.
const CALLS: usize = 200;
const TURNS: usize = 100;
/// Calls before the measurement.
const WARM_UP: usize = 500;

const MOST_TIMES_NATIVE: f64 = 10.0;
const MOST: Duration = Duration::from_micros(20);

/// Measures the four ways of a conversion.
pub fn measure(arguments: &Arguments) -> Result<Report, Failure> {
    let folder = tempfile::tempdir()?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let component = arguments.component()?;
    let size = component.len();
    let (plugins, plugin) = runtime.block_on(load(folder.path(), component))?;
    let mut ways = [
        Way::new("native: the same Rust code, called as a function"),
        Way::new("reused instance (the service never does this)"),
        Way::new("fresh instance, as served"),
        Way::new("fresh instance through queue and thread, as a request waits for it"),
    ];
    let mut kept = plugins.keep_instance(&plugin)?;
    for turn in 0..=TURNS {
        // The first turn only warms up.
        let calls = if turn == 0 { WARM_UP } else { CALLS };
        let counts = turn > 0;
        ways[0].turn(calls, counts, |delivery| {
            let delivery = native(delivery);
            let begin = Instant::now();
            let answer = Exported::<GrupoOlx>::convert(delivery);
            (
                begin.elapsed(),
                answer.is_ok_and(|answer| answer.items.len() == 1),
            )
        })?;
        ways[1].turn(calls, counts, |delivery| {
            let begin = Instant::now();
            let answer = kept.convert(delivery);
            let took = begin.elapsed();
            (
                took,
                matches!(answer, Ok(Ok(answer)) if answer.items.len() == 1),
            )
        })?;
        ways[2].turn(calls, counts, |delivery| {
            let begin = Instant::now();
            let answer = plugins.convert_here(&plugin, delivery);
            let took = begin.elapsed();
            (
                took,
                matches!(answer, Ok(Ok(answer)) if answer.items.len() == 1),
            )
        })?;
        ways[3].turn(calls, counts, |delivery| {
            runtime.block_on(async {
                let begin = Instant::now();
                let answer = plugins
                    .convert(&plugin, "lane", delivery, CallBudget::Inline)
                    .await;
                let took = begin.elapsed();
                (
                    took,
                    matches!(answer, Ok(Ok(answer)) if answer.items.len() == 1),
                )
            })
        })?;
    }
    Ok(report(&ways, size))
}

async fn load(folder: &Path, component: Vec<u8>) -> Result<(Plugins, Arc<Loaded>), Failure> {
    let config = Config::load(None, &[])?;
    let clock = Arc::new(SystemClock);
    let plugins = Plugins::with_compiler(&config.plugins, folder, clock, Compiler::InProcess)?;
    let prepared = plugins.prepare(component).await?;
    plugins.install(&prepared.loaded);
    Ok((plugins, prepared.loaded))
}

struct Way {
    name: &'static str,
    times: Vec<Duration>,
    next: u64,
}

impl Way {
    fn new(name: &'static str) -> Self {
        Self {
            name,
            times: Vec::with_capacity(CALLS * TURNS),
            next: 0,
        }
    }

    /// `call` returns its time, and whether it returned one lead.
    fn turn(
        &mut self,
        calls: usize,
        counts: bool,
        mut call: impl FnMut(PluginDelivery) -> (Duration, bool),
    ) -> Result<(), Failure> {
        let mut body = Vec::new();
        for _ in 0..calls {
            lead::write(self.next, &mut body);
            self.next += 1;
            let (took, right) = call(black_box(delivery(&body)));
            if !right {
                return Err(format!("{}: a conversion gave no lead", self.name).into());
            }
            if counts {
                self.times.push(took);
            }
        }
        Ok(())
    }
}

fn delivery(body: &[u8]) -> PluginDelivery {
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    PluginDelivery {
        id: "0196f0a8-7b1c-7d42-9a53-6f1e2d3c4b5a".to_owned(),
        received_at: "2026-03-02T09:15:31.000000Z".to_owned(),
        method: "POST".to_owned(),
        path: "/ingest-lead/BenchBenchBenchBench00".to_owned(),
        query: vec![],
        headers: vec![
            pair("host", "127.0.0.1:8080"),
            pair("user-agent", "olx-group-api"),
            pair("accept", "*/*"),
            pair("content-type", "application/json"),
            pair("content-length", "600"),
        ],
        body: body.to_vec().into(),
        config: "{}".to_owned(),
        context: vec![pair("time-zone", "America/Sao_Paulo"), pair("region", "BR")],
    }
}

fn native(delivery: PluginDelivery) -> leadhost_sdk::Delivery {
    leadhost_sdk::Delivery {
        id: delivery.id,
        received_at: delivery.received_at,
        method: delivery.method,
        path: delivery.path,
        query: delivery.query,
        headers: delivery.headers,
        body: leadhost_sdk::Content::Text(
            String::from_utf8(delivery.body.into()).expect("a lead's body is text"),
        ),
        config: delivery.config,
        context: delivery.context,
    }
}

fn report(ways: &[Way; 4], size: usize) -> Report {
    let samples = ways
        .each_ref()
        .map(|way| Sample::from_durations(way.times.iter().copied()));
    let native = samples[0].p50().as_secs_f64();
    let times = |sample: &Sample| sample.p50().as_secs_f64() / native;
    let mut table = Table::new(
        "One conversion of a lead of 600 bytes by `converter-grupo-olx`:",
        &["way", "p50", "p99", "times native (p50)"],
    );
    let mut data = Vec::new();
    for (way, sample) in ways.iter().zip(&samples) {
        table.row([
            way.name.to_owned(),
            time(sample.p50()),
            time(sample.p99()),
            format!("{:.1}", times(sample)),
        ]);
        data.push(json!({
            "way": way.name,
            "p50Nanos": sample.p50().as_nanos() as u64,
            "p99Nanos": sample.p99().as_nanos() as u64,
            "calls": sample.len(),
        }));
    }
    let mut report = Report::new("conversion", "The cost of one conversion");
    let fresh = &samples[2];
    report.aim(
        "a fresh instance costs at most 10 times the native call",
        format!("{:.1} times", times(fresh)),
        times(fresh) <= MOST_TIMES_NATIVE,
    );
    report.aim(
        "a fresh instance takes less than 20 µs (p50)",
        time(fresh.p50()),
        fresh.p50() < MOST,
    );
    report.table(table);
    report.note(format!(
        "{} calls of each way in alternating turns on one thread, after {WARM_UP} that do not count. The component has {} KiB.",
        CALLS * TURNS,
        size / 1024
    ));
    report.note("Engine, linking, memory cap, epoch deadline and output cap are the service's own. Native and guest code are built with optimisation level 3.");
    report.data("ways", json!(data));
    report
}
