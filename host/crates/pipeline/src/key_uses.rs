//! Periodically stores when each key was last used.

use crate::prelude::*;

pub async fn run(pipeline: Arc<Pipeline>) {
    loop {
        let ends = tokio::select! {
            () = tokio::time::sleep(limits::KEY_USES_EVERY) => false,
            () = pipeline.shutdown.ended() => true,
        };
        if let Err(error) = pipeline.keys.write_uses(&pipeline.store).await
            && !error.is_logged()
        {
            tracing::warn!(%error, "last use of keys not stored");
        }
        if ends {
            return;
        }
    }
}
