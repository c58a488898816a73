//! Whether the client of a request is still there, for work that is done for it alone and may
//! take long.

use tokio::sync::watch;

use crate::prelude::*;

/// Held by the server of the connection, and dropped when the client has left.
#[derive(Debug)]
pub struct PresenceGuard(#[expect(dead_code, reason = "its end is the signal")] watch::Sender<()>);

/// Learns when the client leaves.
#[derive(Clone, Debug, Default)]
pub struct ClientPresence(Option<Arc<watch::Receiver<()>>>);

impl ClientPresence {
    /// Returns a watched client, and the guard that its connection holds. When the guard is
    /// dropped, the client has left.
    pub fn new() -> (PresenceGuard, Self) {
        let (guard, client) = watch::channel(());
        (PresenceGuard(guard), Self(Some(Arc::new(client))))
    }

    /// Returns when the client has left; never, if it is not watched.
    pub async fn left(&self) {
        let Some(client) = &self.0 else {
            return std::future::pending().await;
        };
        let mut client = watch::Receiver::clone(client);
        while client.changed().await.is_ok() {}
    }
}
