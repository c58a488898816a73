//! The time from the program's start until it is ready, with and without cached compiled
//! plugins, and its memory.

use std::path::Path;
use std::time::{Duration, Instant};

use crate::host::Host;
use crate::load::{self, Load};
use crate::report::{Report, Table, count, time};
use crate::sample::Sample;
use crate::{Arguments, Failure};

const STARTS: usize = 10;
/// Wait before memory is measured: by then the memory for starting is released.
const REST: Duration = Duration::from_secs(2);

pub fn measure(arguments: &Arguments) -> Result<Report, Failure> {
    let folder = arguments.scratch()?;
    let program = &arguments.leadhost;
    let component = arguments.component()?;

    let begin = Instant::now();
    let host = Host::start(program, folder.path(), "")?;
    let empty = begin.elapsed();
    let without_plugins = rested_memory(&host)?;
    host.activate(&component)?;
    let workspace = host.apply()?;
    let loaded = load::start(Load {
        during: arguments.round(),
        ..Load::new(host.gateway, workspace.path)
    })
    .join()?;
    if loaded.failed() > 0 {
        return Err(format!("requests failed: {:?}", loaded.failures).into());
    }
    let after_load = rested_memory(&host)?;
    let most = host.process.memory()?.most;
    host.stop()?;

    let mut warm = vec![];
    let mut cold = vec![];
    let mut idle = 0.0;
    for number in 0..STARTS {
        let begin = Instant::now();
        let host = Host::start(program, folder.path(), "")?;
        warm.push(begin.elapsed());
        if number == 0 {
            idle = rested_memory(&host)?;
        }
        host.stop()?;
        forget_compiled(folder.path())?;
        let begin = Instant::now();
        let host = Host::start(program, folder.path(), "")?;
        cold.push(begin.elapsed());
        host.stop()?;
    }
    let (warm, cold) = (Sample::from_durations(warm), Sample::from_durations(cold));

    let mut report = Report::new("start", "Start and memory");
    let mut table = Table::new(
        format!(
            "From starting the program to a 200 from `/health/ready`, {STARTS} times, on a store of {} leads with one active converter:",
            count(loaded.answers.len() as f64)
        ),
        "start | p50 | slowest",
    );
    for (name, sample) in [
        ("compiled code at hand", &warm),
        ("compiled code missing: compiles the converter", &cold),
    ] {
        table.row([name.into(), time(sample.p50()), time(sample.max())]);
    }
    table.row([
        "the very first, on an empty folder".into(),
        time(empty),
        "".into(),
    ]);
    report.table(table);
    let mut memory = Table::new("Resident memory:", "when | MiB");
    for (name, mebibytes) in [
        ("after the first start, no plugin", without_plugins),
        ("after a start with one converter", idle),
        ("after the load, at rest", after_load),
        ("the most during the load", most),
    ] {
        memory.row([name.into(), format!("{mebibytes:.0}").into()]);
    }
    report.table(memory);
    let binary = std::fs::metadata(program)?.len();
    report.note(format!("The program has {} MiB.", binary >> 20));
    report.note(format!(
        "The load: {} leads in {} s over 64 connections.",
        count(loaded.answers.len() as f64),
        arguments.round().as_secs()
    ));
    Ok(report)
}

fn rested_memory(host: &Host) -> Result<f64, Failure> {
    std::thread::sleep(REST);
    Ok(host.process.memory()?.now)
}

fn forget_compiled(folder: &Path) -> Result<(), Failure> {
    let folder = folder.join("compiled");
    for entry in std::fs::read_dir(&folder)? {
        std::fs::remove_file(entry?.path())?;
    }
    Ok(())
}
