//! The cost of isolation for guests that are slow to start: one conversion of a form's lead by
//! a Python and a JavaScript converter, in a reused instance, in a fresh one, and in a warm one,
//! which the service makes ahead of the call.
//!
//! All calls are due at a steady rate, since warm instances are made between them. The ways take
//! turns, so that disturbances of the machine affect all of them.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use leadhost_config::Config;
use leadhost_domain::clock::SystemClock;
use leadhost_domain::plugin::{ConverterOutput, PluginDelivery};
use leadhost_plugin::{CallBudget, Compiler, Loaded, Plugins};
use serde_json::json;

use crate::report::{Report, Table, time};
use crate::sample::Sample;
use crate::{Arguments, Failure};

/// Leads a second.
const RATE: u32 = 100;
/// Calls of one way before the next takes its turn, and the number of turns that count.
const CALLS: u32 = 100;
const TURNS: u32 = 8;

const MOST_TIMES_REUSED: f64 = 2.0;

/// The guests, and their files below `target/guests`.
const GUESTS: [(&str, &str); 2] = [
    ("Python", "example-form-py.wasm"),
    ("JavaScript", "example-form-js.wasm"),
];

/// Measures each guest.
pub fn measure(arguments: &Arguments) -> Result<Report, Failure> {
    let mut report = Report::new("guests", "Calls of guests that are slow to start");
    let mut table = Table::new(
        &format!("One conversion of a form's lead, at {RATE} leads a second:"),
        &["guest", "way", "p50", "p99", "times reused (p50)"],
    );
    let mut data = Vec::new();
    for (language, file) in GUESTS {
        let path = arguments.plugins.join("../guests").join(file);
        let component = std::fs::read(&path).map_err(|error| {
            format!(
                "{}: {error}; `cargo xtask guests` builds it",
                path.display()
            )
        })?;
        let ways = Ways::measure(component)?;
        let reused = ways.reused.p50().as_secs_f64();
        let times = |sample: &Sample| sample.p50().as_secs_f64() / reused;
        report.aim(
            &format!("{language}: a call takes at most {MOST_TIMES_REUSED} times that of a reused instance (p50)"),
            format!("{:.2} times", times(&ways.warm)),
            times(&ways.warm) <= MOST_TIMES_REUSED,
        );
        for (way, sample) in [
            (
                "reused instance (the service never does this)",
                &ways.reused,
            ),
            ("fresh instance (plugins.warm_mib = 0)", &ways.fresh),
            ("warm instance, as served", &ways.warm),
        ] {
            table.row([
                language.to_owned(),
                way.to_owned(),
                time(sample.p50()),
                time(sample.p99()),
                format!("{:.1}", times(sample)),
            ]);
            data.push(json!({
                "guest": language,
                "way": way,
                "p50Nanos": sample.p50().as_nanos() as u64,
                "p99Nanos": sample.p99().as_nanos() as u64,
                "calls": sample.len(),
            }));
        }
    }
    report.table(table);
    report.note(format!(
        "{} calls of each way, in alternating turns. All ways run on a thread of the service through its queue, but the reused instance, which runs on the calling thread.",
        CALLS * TURNS
    ));
    report.data("ways", json!(data));
    Ok(report)
}

struct Ways {
    reused: Sample,
    fresh: Sample,
    warm: Sample,
}

impl Ways {
    fn measure(component: Vec<u8>) -> Result<Self, Failure> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .build()?;
        let folder = tempfile::tempdir()?;
        let cold = [("plugins.warm_mib".to_owned(), "0".to_owned())];
        let (fresh, fresh_plugin) =
            runtime.block_on(load(folder.path(), component.clone(), &cold))?;
        let (warm, warm_plugin) = runtime.block_on(load(folder.path(), component, &[]))?;
        let mut kept = fresh.keep_instance(&fresh_plugin)?;
        let mut took: [Vec<Duration>; 3] = Default::default();
        for turn in 0..=TURNS {
            // The first turn only warms up.
            let counts = turn > 0;
            let mut times = paced(|delivery| {
                let begin = Instant::now();
                let answer = kept.convert(delivery);
                (begin.elapsed(), has_lead(answer.ok().and_then(Result::ok)))
            })?;
            if counts {
                took[0].append(&mut times);
            }
            for (way, plugins, plugin) in [(1, &fresh, &fresh_plugin), (2, &warm, &warm_plugin)] {
                let mut times = paced(|delivery| {
                    runtime.block_on(async {
                        let begin = Instant::now();
                        let answer = plugins
                            .convert(plugin, "lane", delivery, CallBudget::Worker)
                            .await;
                        (begin.elapsed(), has_lead(answer.ok().and_then(Result::ok)))
                    })
                })?;
                if counts {
                    took[way].append(&mut times);
                }
            }
        }
        let [reused, fresh, warm] = took.map(Sample::from_durations);
        Ok(Self {
            reused,
            fresh,
            warm,
        })
    }
}

fn has_lead(answer: Option<ConverterOutput>) -> bool {
    answer.is_some_and(|answer| answer.items.len() == 1)
}

async fn load(
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

/// Makes the calls of one turn, each at its time. `call` returns its time, and whether it gave
/// the lead.
fn paced(
    mut call: impl FnMut(PluginDelivery) -> (Duration, bool),
) -> Result<Vec<Duration>, Failure> {
    let begun = Instant::now();
    let mut times = Vec::new();
    for number in 0..CALLS {
        let due = begun + number * Duration::from_secs(1) / RATE;
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
        let (took, right) = call(delivery(number));
        if !right {
            return Err("a conversion gave no lead".into());
        }
        times.push(took);
    }
    Ok(times)
}

fn delivery(number: u32) -> PluginDelivery {
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let body = json!({
        "id": format!("f-{number}"),
        "nome": "Lia Campos",
        "telefone": "+55 21 90000-0003",
        "email": "lia@example.com",
        "imovel": "AP-17",
        "mensagem": "Quero visitar o apartamento",
        "origem": "site",
    });
    PluginDelivery {
        id: format!("0196f0a8-7b1c-7d42-9a53-{number:012x}"),
        received_at: "2026-03-02T09:15:31.000000Z".to_owned(),
        method: "POST".to_owned(),
        path: "/ingest-lead/BenchBenchBenchBench00".to_owned(),
        query: vec![],
        headers: vec![
            pair("host", "127.0.0.1:8080"),
            pair("content-type", "application/json"),
        ],
        body: body.to_string().into_bytes().into(),
        config: "{}".to_owned(),
        context: vec![pair("time-zone", "America/Sao_Paulo"), pair("region", "BR")],
    }
}
