//! `POST /admin/v1/etl/runs`: counts everything that was committed before the request, and
//! answers when that is done. The host that gets the request counts by itself, whichever host
//! does the periodic runs: counting the same change twice has no effect.

use super::names::RebuildWorkspaces;
use crate::endpoints::admin::prelude::*;
use leadhost_admin_api::etl::{EtlRun, EtlRuns, UncountedWorkspace};
use leadhost_pipeline::rollup::{self, RollupRun, RoundStop};

describe!(run, |operation| {
    operation
        .summary("Counts analytics now")
        .describe("Counts everything that was committed before the request, and answers when that is done. 503 also means that this host cannot count now, because it is stopping or was cut off; try again, or ask another host.")
        .answers::<EtlRuns>(200, "The run of each metric set.")
        .refuses(&[507])
});
pub async fn run(call: &Call<'_>) -> ApiResult {
    let ran = call.to_end(|http| async move { rollup::now(&http.pipeline).await });
    let round = ran.await?.map_err(refusal)?;
    let names = RebuildWorkspaces::load(&call.http.core.store).await?;
    let runs = round.runs.into_iter().map(|run| etl_run(run, &names));
    let answer = EtlRuns {
        runs: runs.collect(),
        more: round.more,
    };
    // The host with the periodic runs continues with what is left to read.
    if round.more {
        call.http.pipeline.rollup.hurry();
    }
    reply::ok(&answer)
}

fn etl_run(run: RollupRun, names: &RebuildWorkspaces) -> EtlRun {
    let unfinished = run.unfinished.into_iter().map(|id| names.name(id));
    let failed = run.failed.into_iter();
    EtlRun {
        metric_set: run.set,
        as_of: run.as_of,
        changes: run.changes,
        seconds: run.took.as_secs_f64(),
        unfinished: unfinished.collect(),
        failed: failed
            .map(|(id, error)| UncountedWorkspace {
                workspace: names.name(id),
                error,
            })
            .collect(),
    }
}

fn refusal(cut: RoundStop) -> ApiError {
    let (shed, what) = match cut {
        RoundStop::Store(error) => return error.into(),
        RoundStop::Stopping => (
            Shed::Stopping,
            "This host is stopping; try again when it is back, or on another host.",
        ),
        RoundStop::CutOff => (
            Shed::Fleet,
            "This host was cut off and is catching up with the others; try again.",
        ),
        RoundStop::AnotherHost => (Shed::Fleet, "Another host does the job now; try again."),
    };
    ApiError::Overloaded {
        shed,
        what,
        retry_after: limits::READY_AGAIN_AFTER,
    }
}
