//! The cost of isolation: one conversion of a portal's lead by the same Rust
//! code, called natively, in a reused instance, and in a fresh instance,
//! which the service creates for every call.
//!
//! Making the input of a call and dropping its output are not part of its time.

use std::hint::black_box;
use std::time::Duration;

use converter_grupo_olx::GrupoOlx;
use leadhost_domain::plugin::PluginDelivery;
use leadhost_plugin::CallBudget;
use leadhost_sdk::__bindings::converter::exports::leadhost::converter::converter::Guest as _;
use leadhost_sdk::Exported;

use super::ways::{self, Timed, Way};
use crate::report::{Report, Table, time};
use crate::{Arguments, Failure, lead};

/// Calls of one way before the next takes its turn, and the number of turns.
const CALLS: usize = 200;
const TURNS: usize = 100;
const WARM_UP: usize = 500;

const MOST_TIMES_NATIVE: f64 = 10.0;
const MOST: Duration = Duration::from_micros(20);

pub fn measure(arguments: &Arguments) -> Result<Report, Failure> {
    let folder = tempfile::tempdir()?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let component = arguments.component()?;
    let size = component.len();
    let (plugins, plugin) = runtime.block_on(ways::load(folder.path(), component, &[]))?;
    let mut ways = [
        Way::new("native: the same Rust code, called as a function"),
        Way::new("reused instance (the service never does this)"),
        Way::new("fresh instance, as served"),
        Way::new("fresh instance through queue and thread, as a request waits for it"),
    ];
    let mut kept = plugins.keep_instance(&plugin)?;
    let mut next = [0; 4];
    for turn in 0..=TURNS {
        // The first turn only warms up.
        let calls = if turn == 0 { WARM_UP } else { CALLS };
        let mut calls = |at: usize, call: &mut dyn FnMut(PluginDelivery) -> Timed| {
            let mut body = Vec::new();
            for _ in 0..calls {
                lead::write(next[at], &mut body);
                next[at] += 1;
                let timed = call(black_box(delivery(&body)));
                ways[at].add(timed, turn > 0)?;
            }
            Ok::<_, Failure>(())
        };
        calls(0, &mut |delivery| {
            let delivery = native(delivery);
            ways::here(
                || Ok::<_, ()>(Exported::<GrupoOlx>::convert(delivery)),
                |answer| answer.items.len() == 1,
            )
        })?;
        calls(1, &mut |delivery| {
            ways::here(|| kept.convert(delivery), ways::has_lead)
        })?;
        calls(2, &mut |delivery| {
            ways::here(|| plugins.convert_here(&plugin, delivery), ways::has_lead)
        })?;
        calls(3, &mut |delivery| {
            runtime.block_on(ways::queued(
                &plugins,
                &plugin,
                delivery,
                CallBudget::Inline,
            ))
        })?;
    }
    Ok(report(&ways, size))
}

fn delivery(body: &[u8]) -> PluginDelivery {
    let headers = [
        ("host", "127.0.0.1:8080"),
        ("user-agent", "olx-group-api"),
        ("accept", "*/*"),
        ("content-type", "application/json"),
        ("content-length", "600"),
    ];
    ways::delivery(0, &headers, body.to_vec())
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
    let times = ways::times_first(ways);
    let mut table = Table::new(
        "One conversion of a lead of 600 bytes by `converter-grupo-olx`:",
        "way | p50 | p99 | times native (p50)",
    );
    ways::rows(ways).for_each(|row| table.row(row));
    let mut report = Report::new("conversion", "The cost of one conversion");
    let fresh = ways[2].sample().p50();
    report.aim(
        "a fresh instance costs at most 10 times the native call",
        format!("{:.1} times", times[2]),
        times[2] <= MOST_TIMES_NATIVE,
    );
    report.aim(
        "a fresh instance takes less than 20 µs (p50)",
        time(fresh),
        fresh < MOST,
    );
    report.table(table);
    report.note(format!(
        "{} calls of each way in alternating turns on one thread, after {WARM_UP} that do not count. The component has {} KiB.",
        CALLS * TURNS,
        size / 1024
    ));
    report.note("Engine, linking, memory cap, epoch deadline and output cap are the service's own. Native and guest code are built with optimisation level 3.");
    report
}
