//! Announcements: an operator's act on one host counts on the others at once.
//! Where one gets lost, caches end by their age and the next look finds the rest.

use std::sync::Arc;

use tokio::sync::broadcast::error::RecvError;

use crate::app::App;
use crate::shutdown::Shutdown;
use crate::store::Announcement;

pub async fn run(app: Arc<App>, shutdown: Shutdown) {
    let mut announced = app.store.announcements();
    // The first connection may have been made before anybody listened here.
    heed(&app, Announcement::Everything);
    loop {
        let heard = tokio::select! {
            heard = announced.recv() => heard,
            () = shutdown.ended() => return,
        };
        match heard {
            Ok(what) => heed(&app, what),
            Err(RecvError::Lagged(_)) => heed(&app, Announcement::Everything),
            Err(RecvError::Closed) => return,
        }
    }
}

/// Tells every host of an operator's act, this one first.
pub async fn tell(app: &App, what: Announcement) {
    heed(app, what);
    if app.store.is_shared()
        && let Err(error) = app.store.announce(what).await
    {
        tracing::debug!(%error, "the other hosts are not told; they find out by themselves");
    }
}

fn heed(app: &App, what: Announcement) {
    let all = what == Announcement::Everything;
    if all || what == Announcement::Connections {
        app.pipeline.connections.forget();
        app.plugins.close_circuits();
        app.pipeline.templates.forget();
        app.pipeline.wake();
    }
    if all || what == Announcement::Keys {
        app.http.keys.forget();
    }
    if all || what == Announcement::Plugins {
        app.fleet.look.notify_one();
    }
    if all || what == Announcement::Analytics {
        app.pipeline.rollup.hurry();
    }
    if all || what == Announcement::Hosts {
        app.fleet.said.notify_waiters();
    }
}
