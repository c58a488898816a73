//! `/admin/v1/etl`.

use serde_json::{Value, json};

use super::parts::operation;
use crate::openapi::operation::Operation;
use crate::openapi::schemas::Schemas;
use leadhost_admin_api::etl::{EtlRuns, EtlStatus, RebuildRequest, Rebuilds};

/// Returns the operations of `/admin/v1/etl`, and adds their types to `schemas`.
pub fn operations(schemas: &mut Schemas) -> Vec<Operation> {
    let status = schemas.answer::<EtlStatus>();
    let runs = schemas.answer::<EtlRuns>();
    let rebuilds = schemas.answer::<Rebuilds>();
    let request = schemas.request::<RebuildRequest>();
    let one = json!({"workspace": "acme", "metricSet": "tickets"});
    let begun = json!({"workspace": "acme", "begun": {"tickets": 1}});
    vec![
        operation("get", "/admin/v1/etl")
            .named("showEtl", "etl", "Shows how far analytics are counted")
            .answers(
                200,
                "The state of each metric set.",
                &status,
                &[("counted", "One set is counted", example())],
            ),
        operation("post", "/admin/v1/etl/runs")
            .named("runEtl", "etl", "Counts analytics now")
            .describe("Counts everything that was committed before the request, and answers when that is done. 503 also means that this host cannot count now, because it is stopping or was cut off; try again, or ask another host.")
            .answers(
                200,
                "The run of each metric set.",
                &runs,
                &[("ran", "One set was counted", ran())],
            )
            .refuses(&[507]),
        operation("post", "/admin/v1/etl/rebuilds")
            .named("rebuildEtl", "etl", "Counts analytics again from the beginning")
            .describe("The current counts are shown until the new ones replace them as a whole. A name that is left out stands for all.")
            .may_take(&request, &[("one", "One set of one workspace", one)])
            .answers(
                202,
                "The rebuilds are begun.",
                &rebuilds,
                &[("begun", "One rebuild", begun)],
            )
            .refuses(&[404]),
    ]
}

fn example() -> Value {
    json!({
        "tzdata": "2026a",
        "refreshSeconds": 300,
        "metricSets": [{
            "metricSet": "conversations",
            "asOf": "2026-03-02T12:15:00.000000Z",
            "stale": false,
            "job": "conversations_rollup",
            "endedAt": "2026-03-02T12:15:00.250000Z",
            "changes": 12,
            "behind": [{"workspace": "acme", "asOf": null}],
            "making": [{"workspace": "acme", "build": 7, "readTo": null}],
            "cubes": 3,
            "cubesMaking": 0,
        }],
    })
}

fn ran() -> Value {
    json!({
        "runs": [{
            "metricSet": "conversations",
            "asOf": "2026-03-02T12:15:00.000000Z",
            "changes": 12,
            "seconds": 0.25,
            "unfinished": [],
            "failed": [],
        }],
        "more": false,
    })
}
