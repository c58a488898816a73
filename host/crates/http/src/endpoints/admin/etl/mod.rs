pub mod names;
pub mod run;

use self::names::RebuildWorkspaces;
use crate::endpoints::admin::prelude::*;
use crate::endpoints::admin::workspaces;
use leadhost_admin_api::etl::{
    BuildView, EtlStatus, MetricSetFreshness, MetricSetView, RebuildRequest, Rebuilds,
    WorkspaceBehind,
};
use leadhost_domain::analytics::MetricSet;
use leadhost_domain::zone;
use leadhost_pipeline::fleet;
use leadhost_store::{Announcement, RollupStatus, is_stale};

describe!(show, |operation| operation
    .summary("Shows how far analytics are counted")
    .answers::<EtlStatus>(200, "The state of each metric set."));
pub async fn show(call: &Call<'_>) -> ApiResult {
    let http = call.http;
    let names = RebuildWorkspaces::load(&http.core.store).await?;
    let mut metric_sets = Vec::new();
    for status in http.core.store.rollup_status().await? {
        let freshness = freshness(http, &status);
        let behind = status.behind.into_iter();
        let making = status.making.into_iter();
        metric_sets.push(MetricSetView {
            freshness,
            job: status.set.job().to_owned(),
            ended_at: status.finished_at,
            changes: status.changes,
            behind: behind
                .map(|(id, as_of)| WorkspaceBehind {
                    workspace: names.name(id),
                    as_of,
                })
                .collect(),
            making: making
                .map(|(build, read_to)| BuildView {
                    workspace: names.name(build.workspace),
                    build: build.number,
                    read_to: (read_to.0 > 0).then_some(read_to),
                })
                .collect(),
            cubes: status.cubes,
            cubes_making: status.cubes_making,
        });
    }
    reply::ok(&EtlStatus {
        tzdata: zone::tzdata().to_owned(),
        refresh_seconds: http.core.config.analytics.refresh_seconds,
        metric_sets,
    })
}

describe!(rebuild, |operation| {
    operation
        .summary("Counts analytics again from the beginning")
        .describe("The current counts are shown until the new ones replace them as a whole. A name that is left out stands for all.")
        .may_take::<RebuildRequest>(&[("one", "One set of one workspace", json!({"workspace": "acme", "metricSet": "tickets"}))])
        .answers::<Rebuilds>(202, "The rebuilds are begun.")
        .refuses(&[404])
});
pub async fn rebuild(call: &Call<'_>, body: UnreadBody) -> ApiResult {
    let request: RebuildRequest = read_json(call, body).await?;
    let store = &call.http.core.store;
    let sets = match &request.metric_set {
        None => MetricSet::ALL.to_vec(),
        Some(text) => vec![MetricSet::from_text(text).ok_or_else(|| unknown(text))?],
    };
    let workspace = match &request.workspace {
        None => None,
        Some(text) => Some(workspaces::find(store, text).await?),
    };
    let mut begun = BTreeMap::new();
    for set in sets {
        let id = workspace.as_ref().map(|workspace| workspace.id);
        let count = store.rollup_rebuild(set, id).await?;
        begun.insert(set, count);
    }
    fleet::announce(&call.http.pipeline, Announcement::Analytics).await;
    let answer = Rebuilds {
        workspace: workspace.map(|workspace| workspace.slug),
        begun,
    };
    reply::json(StatusCode::ACCEPTED, &answer)
}

fn unknown(text: &str) -> ApiError {
    let known = MetricSet::ALL.map(MetricSet::as_str).join(" and ");
    ApiError::BadRequest(format!(
        "There is no metric set `{text}`: there are {known}."
    ))
}

pub fn freshness(http: &Http, status: &RollupStatus) -> MetricSetFreshness {
    MetricSetFreshness {
        metric_set: status.set,
        as_of: status.as_of,
        stale: is_stale(status.as_of, http.core.clock.now()),
    }
}
