//! Announcements: an operator's change on one host takes effect on the others at once. If
//! an announcement is lost, caches expire and the next poll finds the rest.

use tokio::sync::broadcast::error::RecvError;

use crate::prelude::*;
use leadhost_store::Announcement;

pub async fn run(pipeline: Arc<Pipeline>, shutdown: Shutdown) {
    let mut announced = pipeline.store.announcements();
    // The first connection may have been made before this task listened.
    apply(&pipeline, Announcement::Everything);
    loop {
        let announcement = tokio::select! {
            announcement = announced.recv() => announcement,
            () = shutdown.ended() => return,
        };
        match announcement {
            Ok(what) => apply(&pipeline, what),
            Err(RecvError::Lagged(_)) => apply(&pipeline, Announcement::Everything),
            Err(RecvError::Closed) => return,
        }
    }
}

/// Announces an operator's change to every host, this one first.
pub async fn announce(pipeline: &Pipeline, what: Announcement) {
    apply(pipeline, what);
    if pipeline.store.is_shared()
        && let Err(error) = pipeline.store.announce(what).await
    {
        tracing::debug!(%error, "announcement not sent, other hosts notice the change later");
    }
}

fn apply(pipeline: &Pipeline, what: Announcement) {
    let all = what == Announcement::Everything;
    if all || what == Announcement::Connections {
        pipeline.connections.forget();
        pipeline.plugins.close_circuits();
        pipeline.templates.forget();
        pipeline.wake();
    }
    if all || what == Announcement::Keys {
        pipeline.keys.forget();
    }
    if all || what == Announcement::Plugins {
        pipeline.fleet.look.notify_one();
        pipeline.rollouts.hurry();
    }
    if all || what == Announcement::Analytics {
        pipeline.rollup.hurry();
    }
    if all || what == Announcement::Hosts {
        pipeline.fleet.said.notify_waiters();
    }
}
