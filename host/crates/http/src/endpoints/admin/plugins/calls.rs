use crate::endpoints::admin::activity::{PeriodSlots, period};
use crate::endpoints::admin::prelude::*;
use leadhost_admin_api::plugin_calls::{AllowedPerCall, PluginCallHistory, VersionCallHistory};
use leadhost_plugin::{CallCounts, VersionCalls};

describe!(show, |operation| {
    operation
        .summary("Shows the outcomes and the cost of each version's calls over time")
        .describe("Each host counts its own calls, in memory, from its start. Trials and comparisons are not counted. How much output a call returned is not known, only whether it was too much.")
        .period()
        .answers::<PluginCallHistory>(200, "The calls on this host.")
        .refuses(&[400, 404])
});
pub async fn show(call: &Call<'_>, name: &str) -> ApiResult {
    let period = period(&call.query())?;
    let core = &call.http.core;
    let stored = core.store.plugins().await?;
    if !stored.iter().any(|one| one.description.name == name) {
        return Err(ApiError::NotFound(format!(
            "There is no plugin `{name}`; `leadhost plugin list` shows those that exist."
        )));
    }
    let slots = PeriodSlots::ending_at(period, core.clock.now());
    let all = core.plugins.calls_of(name);
    let mut versions: Vec<_> = all.iter().filter_map(|one| view(one, &slots)).collect();
    versions.sort_by(|a, b| b.calls.cmp(&a.calls).then_with(|| a.digest.cmp(&b.digest)));
    let config = &core.config.plugins;
    reply::ok(&PluginCallHistory {
        host: call.http.pipeline.fleet.name().to_owned(),
        counted_since: core.plugins.calls_counted_since(),
        period,
        slots: slots.starts(),
        allowed: AllowedPerCall {
            processor_ms: config.deadline_ms,
            inline_processor_ms: config.inline_ms,
            memory_bytes: (config.memory_mib as u64) << 20,
            output_bytes: (config.output_mib as u64) << 20,
        },
        versions,
    })
}

/// Returns the calls of a version. `None` if it was not called in this time.
fn view(calls: &VersionCalls, slots: &PeriodSlots) -> Option<VersionCallHistory> {
    let counted = if slots.of_hours {
        &calls.hours
    } else {
        &calls.slots
    };
    let zeros = vec![0; slots.len()];
    let mut sums = vec![CallCounts::default(); slots.len()];
    let mut outcomes: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    let mut all = 0;
    for (place, counts) in slots.within(counted) {
        sums[place].merge(counts);
        for (outcome, count) in &counts.outcomes {
            let of_it = outcomes.entry(outcome.to_string());
            of_it.or_insert_with(|| zeros.clone())[place] += count;
            all += count;
        }
    }
    let micros = |time: std::time::Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
    let longest = sums.iter().map(|one| one.longest).max();
    (all > 0).then(|| VersionCallHistory {
        version: calls.version.clone(),
        digest: calls.digest.clone(),
        outcomes,
        mean_processor_micros: sums
            .iter()
            .map(|one| micros(one.processor) / one.ran.max(1))
            .collect(),
        most_memory_bytes: sums.iter().map(|one| one.memory).collect(),
        calls: all,
        longest_processor_micros: longest.map_or(0, micros),
        largest_memory_bytes: sums.iter().map(|one| one.memory).max().unwrap_or_default(),
    })
}
