//! The task that exports metrics over OTLP.

use std::sync::Arc;

use super::gauges;
use crate::state::Http;
use leadhost_telemetry::MetricExport;

/// Exports metrics at their interval and at shutdown. Returns at once if that is not configured.
pub async fn run(http: Arc<Http>) {
    let core = &http.core;
    let host = core.traces.host();
    let Some(mut export) = MetricExport::new(&core.config.telemetry, host, core.clock.now()) else {
        return;
    };
    loop {
        tokio::select! {
            () = tokio::time::sleep(export.every()) => {}
            () = core.shutdown.begun() => {}
        }
        gauges::refresh(&http).await;
        export.export(&core.metrics.text(), core.clock.now()).await;
        if core.shutdown.has_begun() {
            return;
        }
    }
}
