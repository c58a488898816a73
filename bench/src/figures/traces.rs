//! The cost of traces: leads ingested durably over HTTP from 64 keep-alive connections, by the same
//! build without traces, with the default share of traces exported, and with all of them.

use crate::host::{self, Host};
use crate::load::{CONNECTIONS, Load, LoadBody};
use crate::provider::Provider;
use crate::report::{Report, Table};
use crate::round::{self, BaselineRatio, Round};
use crate::rows::StoredRows;
use crate::{Arguments, Failure, lead};

const LEAST: f64 = 0.97;

/// The shares of traces that are exported, per mille. `None`: traces are off.
const SIDES: [(&str, Option<u32>); 3] = [
    ("without traces", None),
    ("10 of 1000 traces exported", Some(10)),
    ("all traces exported", Some(1_000)),
];

pub fn measure(arguments: &Arguments) -> Result<Report, Failure> {
    let mut sides: Vec<_> = SIDES
        .into_iter()
        .map(|(name, share)| (name, share, Vec::new()))
        .collect();
    for number in 1..=arguments.rounds {
        for (name, share, rounds) in round::in_turn(&mut sides, number) {
            rounds.push(round::told(number, name, one_round(arguments, *share))?);
        }
    }
    Ok(report(arguments, &sides))
}

fn one_round(arguments: &Arguments, share: Option<u32>) -> Result<Round, Failure> {
    let folder = arguments.scratch()?;
    let path = folder.path();
    // It takes any request. Its work is a batch a second or so.
    let receiver = Provider::start(std::time::Duration::ZERO)?;
    let section = share.map_or_else(String::new, |share| {
        format!(
            "\n[telemetry]\notlp_endpoint = \"http://{}\"\ntraces_per_mille = {share}\n",
            receiver.address
        )
    });
    let (host, workspace) = Host::with_workspace(arguments, &arguments.leadhost, path, &section)?;
    let load = Load::new(host.gateway, workspace.path);
    let round = round::run(arguments, load, &host.process, None)?;
    host.stop()?;
    let rows = StoredRows::Sqlite(host::database(path));
    round::check(&rows, LoadBody::Lead, &round)?;
    if share.is_some() != (receiver.taken() > 0) {
        return Err(format!("the receiver got {} exports", receiver.taken()).into());
    }
    Ok(round)
}

fn report(arguments: &Arguments, sides: &[(&'static str, Option<u32>, Vec<Round>)]) -> Report {
    let mut table = Table::new(
        format!(
            "Distinct leads of {} bytes, {CONNECTIONS} keep-alive connections, answered after the sync of their commit. Median of {} alternating rounds of {} s:",
            lead::BYTES,
            arguments.rounds,
            arguments.round().as_secs()
        ),
        &format!(
            "{} | leads/s, times those without | p50, times | processor time, times",
            round::COLUMNS
        ),
    );
    let mut report = Report::new("traces", "What traces cost");
    let (_, _, without) = &sides[0];
    for (name, share, rounds) in sides {
        let ratio = share.map(|_| BaselineRatio::from_rounds(rounds, without));
        let beside = BaselineRatio::cells(ratio);
        table.row(round::cells(name, rounds).into_iter().chain(beside));
        if let Some(ratio) = ratio
            && *share == Some(10)
        {
            report.aim(
                "with 1 % of the traces exported at most 3 % fewer leads a second",
                format!("{:.3} times", ratio.rate),
                ratio.rate >= LEAST,
            );
        }
    }
    report.table(table);
    report.note("The spans of each request are made on both sides with traces, since it is known at the end of a trace whether one failed. The receiver answers at once and decodes nothing.");
    let all = sides.iter().flat_map(|(_, _, rounds)| rounds);
    report.note(round::generator(all));
    report
}
