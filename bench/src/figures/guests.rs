//! The cost of isolation for guests that are slow to start: one conversion of a form's lead by
//! a Python and a JavaScript converter, in a reused instance, in a fresh one, and in a warm one,
//! which the service makes ahead of the call.
//!
//! All calls are due at a steady rate, since warm instances are made between them.

use std::time::{Duration, Instant};

use leadhost_domain::plugin::PluginDelivery;
use leadhost_plugin::CallBudget;
use serde_json::json;

use super::ways::{self, Timed, Way};
use crate::report::{Report, Table};
use crate::{Arguments, Failure};

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

pub fn measure(arguments: &Arguments) -> Result<Report, Failure> {
    let mut report = Report::new("guests", "Calls of guests that are slow to start");
    let mut table = Table::new(
        format!("One conversion of a form's lead, at {RATE} leads a second:"),
        "guest | way | p50 | p99 | times reused (p50)",
    );
    for (language, file) in GUESTS {
        let component = arguments.plugin(&format!("../guests/{file}"));
        let component =
            component.map_err(|error| format!("{error}; `cargo xtask guests` builds it"))?;
        let ways = measure_guest(component)?;
        for row in ways::rows(&ways) {
            table.row(std::iter::once(language.into()).chain(row));
        }
        let [.., warm] = ways::times_first(&ways);
        report.aim(
            format!("{language}: a call takes at most {MOST_TIMES_REUSED} times as long as in a reused instance (p50)"),
            format!("{warm:.2} times"),
            warm <= MOST_TIMES_REUSED,
        );
    }
    report.table(table);
    report.note(format!(
        "{} calls of each way, in alternating turns. All ways run on a thread of the service through its queue, but the reused instance, which runs on the calling thread.",
        CALLS * TURNS
    ));
    Ok(report)
}

fn measure_guest(component: Vec<u8>) -> Result<[Way; 3], Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let folder = tempfile::tempdir()?;
    let cold = [("plugins.warm_mib".to_owned(), "0".to_owned())];
    let fresh = runtime.block_on(ways::load(folder.path(), component.clone(), &cold))?;
    let warm = runtime.block_on(ways::load(folder.path(), component, &[]))?;
    let mut kept = fresh.0.keep_instance(&fresh.1)?;
    let mut ways = [
        Way::new("reused instance (the service never does this)"),
        Way::new("fresh instance (plugins.warm_mib = 0)"),
        Way::new("warm instance, as served"),
    ];
    for turn in 0..=TURNS {
        // The first turn only warms up.
        let counts = turn > 0;
        paced(&mut ways[0], counts, |delivery| {
            ways::here(|| kept.convert(delivery), ways::has_lead)
        })?;
        for (way, (plugins, plugin)) in ways[1..].iter_mut().zip([&fresh, &warm]) {
            paced(way, counts, |delivery| {
                runtime.block_on(ways::queued(plugins, plugin, delivery, CallBudget::Worker))
            })?;
        }
    }
    Ok(ways)
}

/// Makes the calls of one turn, each at its time.
fn paced(
    way: &mut Way,
    counts: bool,
    mut call: impl FnMut(PluginDelivery) -> Timed,
) -> Result<(), Failure> {
    let begun = Instant::now();
    for number in 0..CALLS {
        let due = begun + number * Duration::from_secs(1) / RATE;
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
        way.add(call(delivery(number)), counts)?;
    }
    Ok(())
}

fn delivery(number: u32) -> PluginDelivery {
    let body = json!({
        "id": format!("f-{number}"),
        "nome": "Lia Campos",
        "telefone": "+55 21 90000-0003",
        "email": "lia@example.com",
        "imovel": "AP-17",
        "mensagem": "Quero visitar o apartamento",
        "origem": "site",
    });
    let headers = [
        ("host", "127.0.0.1:8080"),
        ("content-type", "application/json"),
    ];
    ways::delivery(number.into(), &headers, body.to_string().into_bytes())
}
