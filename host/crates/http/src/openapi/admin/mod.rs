//! The operations of the admin API, a file for each resource.

mod activity;
mod apply;
mod audit;
mod connections;
mod contacts;
mod deals;
mod deliveries;
mod etl;
mod instances;
mod keys;
mod outbox;
pub mod parts;
mod people;
mod plugins;
mod repairs;
mod rollouts;
mod status;
mod workspaces;

use serde_json::json;

use super::operation::Operation;
use super::schemas::Schemas;
use crate::error::Family;
use crate::route::Access;

/// Returns all operations of the admin API and that of the metrics, and adds their types to
/// `schemas`.
pub fn operations(schemas: &mut Schemas) -> Vec<Operation> {
    let mut all = vec![metrics()];
    all.extend(activity::operations(schemas));
    all.extend(apply::operations(schemas));
    all.extend(audit::operations(schemas));
    all.extend(connections::operations(schemas));
    all.extend(contacts::operations(schemas));
    all.extend(deals::operations(schemas));
    all.extend(deliveries::operations(schemas));
    all.extend(etl::operations(schemas));
    all.extend(instances::operations(schemas));
    all.extend(keys::operations(schemas));
    all.extend(outbox::operations(schemas));
    all.extend(people::operations(schemas));
    all.extend(plugins::operations(schemas));
    all.extend(repairs::operations(schemas));
    all.extend(rollouts::operations(schemas));
    all.extend(status::operations(schemas));
    all.extend(workspaces::operations(schemas));
    all
}

fn metrics() -> Operation {
    let text = json!({
        "application/openmetrics-text": {"schema": {"type": "string"}},
        "text/plain": {"schema": {"type": "string"}},
    });
    Operation::new("get", "/metrics", Family::Admin, Access::Anyone)
        .named("readMetrics", "service", "Returns the metrics")
        .answers_content(
            200,
            "The metrics: as OpenMetrics text if `Accept` names it, as Prometheus does, else in its older text format, \
             without exemplars.",
            text,
        )
}
