//! Analytics runs and the state of their counts.

use std::time::Duration;

use super::register::{Counter, Family, Gauge, Histograms, labels, metrics, set};
use leadhost_domain::analytics::MetricSet;
use leadhost_domain::time::Micros;
use leadhost_domain::word::words;
use leadhost_store::RollupStatus;

labels! {
    SetLabel { set: &'static str }
    SetLabels { set: &'static str, outcome: &'static str }
}

words! {
    /// How an analytics run ended.
    RunEnd: "the end of a run" {
        Ended = "ended",
        /// Another host does the job now, this host stops or was cut off, or the store failed.
        Cut = "cut",
    }
}

metrics! {
    AnalyticsMetrics {
        runs: Family<SetLabels, Counter> =
            add("rollup_runs", "Analytics runs on this host, by metric set: ended or cut short");
        seconds: Histograms<SetLabel> =
            seconds_by("rollup_run_duration", "Time of an analytics run");
        changes: Family<SetLabel, Counter> =
            add("rollup_changes", "Changes that analytics runs on this host have read");
        age: Family<SetLabel, Gauge> =
            with_seconds(Family::default(), "rollup_age", "Age of the counts that analytics shows; -1 before the first run has ended");
        behind: Family<SetLabel, Gauge> =
            add("rollup_behind", "Workspaces that the last run could not count, or could not finish");
        making: Family<SetLabel, Gauge> = add("rollup_making", "Analytics builds in progress");
        cubes: Family<SetLabel, Gauge> =
            add("rollup_cubes", "Time zones with counts by local day, over all workspaces");
    }
}

impl AnalyticsMetrics {
    /// Counts an analytics run of a metric set. The time of one that was cut short says nothing.
    pub fn run(&self, set: MetricSet, end: RunEnd, changes: u64, took: Duration) {
        let set = set.as_str();
        let outcome = end.as_str();
        self.runs.get_or_create(&SetLabels { set, outcome }).inc();
        match end {
            RunEnd::Ended => self
                .seconds
                .get_or_create(&SetLabel { set })
                .observe(took.as_secs_f64()),
            RunEnd::Cut => {}
        }
        self.changes
            .get_or_create(&SetLabel { set })
            .inc_by(changes);
    }

    /// Sets the state of the rollups, including those that another host computes.
    pub fn rollups(&self, rollups: &[RollupStatus], now: Micros) {
        for rollup in rollups {
            let label = SetLabel {
                set: rollup.set.as_str(),
            };
            let age = rollup.as_of.map_or(-1, |as_of| {
                i64::try_from(now.since(as_of).as_secs()).unwrap_or(i64::MAX)
            });
            self.age.get_or_create(&label).set(age);
            set(&self.behind.get_or_create(&label), rollup.behind.len());
            set(&self.making.get_or_create(&label), rollup.making.len());
            let cubes = i64::try_from(rollup.cubes).unwrap_or(i64::MAX);
            self.cubes.get_or_create(&label).set(cubes);
        }
    }
}
