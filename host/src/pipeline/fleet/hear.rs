//! Announcements: an operator's act on one host counts on the others at once.
//! Where one gets lost, caches end by their age and the next look finds the rest.

use std::sync::Arc;

use tokio::sync::broadcast::error::RecvError;

use crate::pipeline::state::Pipeline;
use crate::shutdown::Shutdown;
use crate::store::Announcement;

pub async fn run(pipeline: Arc<Pipeline>, shutdown: Shutdown) {
    let mut announced = pipeline.core.store.announcements();
    // The first connection may have been made before anybody listened here.
    heed(&pipeline, Announcement::Everything);
    loop {
        let heard = tokio::select! {
            heard = announced.recv() => heard,
            () = shutdown.ended() => return,
        };
        match heard {
            Ok(what) => heed(&pipeline, what),
            Err(RecvError::Lagged(_)) => heed(&pipeline, Announcement::Everything),
            Err(RecvError::Closed) => return,
        }
    }
}

/// Tells every host of an operator's act, this one first.
pub async fn tell(pipeline: &Pipeline, what: Announcement) {
    heed(pipeline, what);
    if pipeline.core.store.is_shared()
        && let Err(error) = pipeline.core.store.announce(what).await
    {
        tracing::debug!(%error, "the other hosts are not told; they find out by themselves");
    }
}

fn heed(pipeline: &Pipeline, what: Announcement) {
    let all = what == Announcement::Everything;
    if all || what == Announcement::Connections {
        pipeline.connections.forget();
        pipeline.core.plugins.close_circuits();
        pipeline.templates.forget();
        pipeline.wake();
    }
    if all || what == Announcement::Keys {
        pipeline.keys.forget();
    }
    if all || what == Announcement::Plugins {
        pipeline.fleet.look.notify_one();
    }
    if all || what == Announcement::Analytics {
        pipeline.rollup.hurry();
    }
    if all || what == Announcement::Hosts {
        pipeline.fleet.said.notify_waiters();
    }
}
