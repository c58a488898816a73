use crate::prelude::*;
use leadhost_domain::analytics::MetricSet;

/// How far analytics are counted.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct EtlStatus {
    /// The version of the rules of time zones, such as `2026a`.
    pub tzdata: String,
    /// Seconds between two periodic runs.
    pub refresh_seconds: u64,
    pub metric_sets: Vec<MetricSetView>,
}

/// The state of a metric set.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct MetricSetView {
    #[serde(flatten)]
    pub freshness: MetricSetFreshness,
    /// The job that counts the set, as the freshness report names it.
    pub job: String,
    /// When the last successful run ended. Null: none has ended yet.
    pub ended_at: Option<Micros>,
    /// Changes that this run read.
    pub changes: u64,
    /// Workspaces whose counts are older, because the last run could not count them completely.
    pub behind: Vec<WorkspaceBehind>,
    /// Builds in progress, as the first build or beside the serving one.
    pub making: Vec<BuildView>,
    /// The number of time zones with counts of local days, over all workspaces.
    pub cubes: u64,
    /// The number of those whose counts are not complete yet.
    pub cubes_making: u64,
}

/// The freshness of a metric set.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct MetricSetFreshness {
    pub metric_set: MetricSet,
    /// Everything before this time is counted. Null: nothing is counted yet.
    pub as_of: Option<Micros>,
    /// Whether the counts are too old to be shown without a warning.
    pub stale: bool,
}

/// A workspace whose counts lag behind other workspaces.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkspaceBehind {
    /// The workspace's slug, or its id if it no longer exists.
    pub workspace: String,
    /// Everything before this time is counted. Null: nothing is counted yet.
    pub as_of: Option<Micros>,
}

/// A build in progress.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct BuildView {
    /// The workspace's slug, or its id if it no longer exists.
    pub workspace: String,
    /// The number of the build, unique in the store.
    pub build: i64,
    /// The time up to which changes are read. Null at the beginning.
    pub read_to: Option<Micros>,
}

/// The result of a run.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct EtlRuns {
    /// One for each metric set.
    pub runs: Vec<EtlRun>,
    /// Whether some work is left for the next run, which begins at once.
    pub more: bool,
}

/// The result of a run for a metric set.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct EtlRun {
    pub metric_set: MetricSet,
    /// Everything before this time is counted, except for workspaces that failed or have more to
    /// read.
    pub as_of: Micros,
    /// Changes that the run read.
    pub changes: u64,
    /// How long the run took.
    pub seconds: f64,
    /// The slugs of workspaces with more to read than a run has time for.
    pub unfinished: Vec<String>,
    /// Workspaces that could not be counted. They keep their previous counts.
    pub failed: Vec<UncountedWorkspace>,
}

/// A workspace that could not be counted.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct UncountedWorkspace {
    /// The workspace's slug, or its id if it no longer exists.
    pub workspace: String,
    pub error: String,
}

/// The counts to make again. A name that is left out stands for all.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RebuildRequest {
    /// The workspace's slug or id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<MetricSet>)]
    pub metric_set: Option<String>,
}

/// The rebuilds that were begun.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct Rebuilds {
    /// The workspace's slug. Null for all workspaces.
    pub workspace: Option<String>,
    /// The number of rebuilds that this request began, by metric set. Zero: they were already in
    /// progress.
    pub begun: BTreeMap<MetricSet, u64>,
}

columns! {
    MetricSetView as set {
        "Metric set" => set.freshness.metric_set.as_str(),
        "Counted until" => Cell::from(set.freshness.as_of).or("nothing yet"),
        "Stale" => Cell::from(set.freshness.stale).tag(if set.freshness.stale { "warn" } else { "" }),
        "Run ended" => set.ended_at,
        "Changes" number => set.changes,
        "Behind" number => set.behind.len(),
        "Rebuilds" number => set.making.len(),
        "Zones with days" => match set.cubes_making {
            0 => set.cubes.to_string(),
            making => format!("{} ({making} in progress)", set.cubes),
        },
    }

    InSet<'_, WorkspaceBehind> as of {
        "Behind" => &of.one.workspace,
        "Metric set" => of.set.freshness.metric_set.as_str(),
        "Counted until" => of.one.as_of,
    }

    InSet<'_, BuildView> as of {
        "Rebuild" => &of.one.workspace,
        "Metric set" => of.set.freshness.metric_set.as_str(),
        "Build" => of.one.build,
        "Read to" => of.one.read_to,
    }
}

pub struct InSet<'a, T> {
    pub set: &'a MetricSetView,
    pub one: &'a T,
}
