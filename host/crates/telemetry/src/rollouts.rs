//! Rollouts of plugin versions: their stages, and how the versions compare.

use super::register::{Counter, Family, Gauge, OTHER, PluginLabel, labels, metrics};
use leadhost_domain::plugin::Digest;
use leadhost_domain::rollout::RolloutStage;
use leadhost_domain::word::words;

labels! {
    /// The comparisons of one candidate.
    ComparisonLabels { plugin: String, digest: String, result: &'static str }
    DifferenceLabels { plugin: String, digest: String, field: &'static str }
    /// The stage of a rollout.
    StageLabels { plugin: String, stage: &'static str }
}

/// The fields of leads, events, sends and pointers that have lines of their own, and the names of
/// differences that are of no field. All others share one: plugins name them.
pub const DIFFERENCES: [&str; 40] = [
    "name",
    "phone",
    "email",
    "externalId",
    "listing",
    "message",
    "action",
    "title",
    "event",
    "state",
    "word",
    "recipient",
    "sender",
    "kind",
    "text",
    "replyTo",
    "template",
    "status",
    "contact",
    "keys",
    "optOut",
    "at",
    "request",
    "connection",
    "request.method",
    "request.host",
    "request.path",
    "answer.result",
    "answer.ids",
    "answer.status",
    "answer.category",
    "answer.code",
    "error",
    "reason",
    "newlyFailing",
    "noLongerFailing",
    "vanished",
    "appeared",
    "vanishedEvents",
    "appearedEvents",
];

words! {
    /// How the results of both versions of a rollout compare.
    ComparisonResult: "the result of a comparison" {
        Same = "same",
        /// They differ, and the candidate's does no harm.
        Different = "different",
        Harmful = "harmful",
    }
}

metrics! {
    RolloutMetrics {
        rolled_back: Family<PluginLabel, Counter> =
            add("rollouts_rolled_back", "Rollouts that a guard ended, by plugin");
        comparisons: Family<ComparisonLabels, Counter> =
            add("rollout_comparisons", "Deliveries and sends on which both versions of a rollout were compared, by plugin, candidate and result: same, different or harmful");
        differences: Family<DifferenceLabels, Counter> =
            add("rollout_differences", "Differences between both versions of a rollout, by plugin, candidate and field, or by what vanishes, appears or fails");
        dropped: Family<PluginLabel, Gauge> =
            add("rollout_dropped", "Deliveries and sends that the current rollout did not compare on this host, because too many waited");
        stage: Family<StageLabels, Gauge> =
            add("rollout_stage", "The stage of the last rollout of a plugin: 1 for its stage, 0 for the others");
    }
}

impl RolloutMetrics {
    /// Counts a comparison of both versions of a rollout, with the number of differences by their name.
    pub fn compared<'a>(
        &self,
        plugin: &str,
        candidate: &Digest,
        result: ComparisonResult,
        fields: impl Iterator<Item = (&'a str, u64)>,
    ) {
        let labels = ComparisonLabels {
            plugin: plugin.to_owned(),
            digest: candidate.short().to_owned(),
            result: result.as_str(),
        };
        self.comparisons.get_or_create(&labels).inc();
        for (field, count) in fields {
            let known = DIFFERENCES.iter().find(|known| **known == field);
            let labels = DifferenceLabels {
                plugin: plugin.to_owned(),
                digest: candidate.short().to_owned(),
                field: known.unwrap_or(&OTHER),
            };
            self.differences.get_or_create(&labels).inc_by(count);
        }
    }

    /// Sets the stage of the last rollout of a plugin, and what this host did not compare.
    pub fn stage(&self, plugin: &str, stage: RolloutStage, dropped: u64) {
        // The counter is there before the first one, so that its increase is seen.
        let label = PluginLabel {
            plugin: plugin.to_owned(),
        };
        let _ = self.rolled_back.get_or_create(&label);
        let dropped = i64::try_from(dropped).unwrap_or(i64::MAX);
        self.dropped.get_or_create(&label).set(dropped);
        for one in RolloutStage::ALL {
            let labels = StageLabels {
                plugin: plugin.to_owned(),
                stage: one.as_str(),
            };
            let gauge = self.stage.get_or_create(&labels);
            gauge.set(i64::from(one == stage));
        }
    }

    /// Counts a rollout that a guard ended.
    pub fn rolled_back(&self, plugin: &str) {
        let plugin = PluginLabel {
            plugin: plugin.to_owned(),
        };
        self.rolled_back.get_or_create(&plugin).inc();
    }
}
