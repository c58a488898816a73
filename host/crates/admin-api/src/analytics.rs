use crate::prelude::*;
use leadhost_domain::analytics::{Granularity, MetricSet};

/// The counts of a workspace, period by period.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkspaceAnalytics {
    /// The workspace's slug.
    pub workspace: String,
    pub metric_set: MetricSet,
    pub granularity: Granularity,
    /// The time zone of the days.
    pub tz: String,
    /// The lower bound, inclusive, at a whole quarter of an hour.
    pub from: Micros,
    /// The upper bound, exclusive.
    pub to: Micros,
    /// Everything before this time is counted. Null: nothing is counted yet.
    pub as_of: Option<Micros>,
    /// Whether the counts are too old to be shown without a warning.
    pub stale: bool,
    /// The dimensions by which the series are kept apart.
    pub group_by: Vec<String>,
    /// The first local day of each period, the oldest first. Periods without counts are here too.
    pub periods: Vec<String>,
    /// One for each combination of the dimensions that has counts.
    pub series: Vec<AnalyticsSeries>,
}

/// The counts of one combination of the dimensions.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AnalyticsSeries {
    /// Null: there is none, or the series are not kept apart by it.
    pub agent_type: Option<String>,
    /// Null: there is none, or the series are not kept apart by it.
    pub agent_id: Option<i64>,
    /// Null: there is none, or the series are not kept apart by it.
    pub source: Option<String>,
    /// By measure, the count of each period.
    pub counts: BTreeMap<String, Vec<i64>>,
}
