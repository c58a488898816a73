//! Whether the client that asked is still there, for work that is done for it
//! alone and may take long.

use std::sync::Arc;

use tokio::sync::watch;

/// Held by whoever serves the connection: dropped when the client has left.
#[derive(Debug)]
pub struct Here(#[expect(dead_code, reason = "its end is what is told")] watch::Sender<()>);

/// Hears when the client leaves.
#[derive(Clone, Debug, Default)]
pub struct Client(Option<Arc<watch::Receiver<()>>>);

impl Client {
    pub fn new() -> (Here, Self) {
        let (here, client) = watch::channel(());
        (Here(here), Self(Some(Arc::new(client))))
    }

    /// Returns when it has left; never, for one that is not watched.
    pub async fn left(&self) {
        let Some(client) = &self.0 else {
            return std::future::pending().await;
        };
        let mut client = watch::Receiver::clone(client);
        while client.changed().await.is_ok() {}
    }
}
