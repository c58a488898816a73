//! Removes what is past its retention, in small steps behind live traffic.

use std::sync::Arc;
use std::time::Duration;

use crate::app::App;
use crate::domain::time::Micros;
use crate::shutdown::Shutdown;
use crate::store::Retention;

/// Between two looks.
const PERIOD: Duration = Duration::from_secs(300);

/// Rows of a kind in one step: short enough not to be felt.
const STEP: u32 = 500;

pub async fn run(app: Arc<App>, shutdown: Shutdown) {
    let retention = Retention {
        deliveries: app.config.retention.deliveries_days * Micros::DAY,
        quarantine: app.config.retention.quarantine_days * Micros::DAY,
    };
    while !shutdown.has_begun() {
        match app.store.sweep(&retention, app.clock.now(), STEP).await {
            Ok(0) => {}
            Ok(removed) => {
                tracing::debug!(removed, "rows past their retention are gone");
                tokio::task::yield_now().await;
                continue;
            }
            Err(error) => tracing::warn!(%error, "what is past its retention cannot be removed"),
        }
        tokio::select! {
            () = tokio::time::sleep(PERIOD) => {}
            () = shutdown.begun() => {}
        }
    }
}
