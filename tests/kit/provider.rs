//! A double of a messaging provider for a test. Calls of the double that block
//! run off the runtime, so that a host in the same runtime can answer. Nothing
//! comes back by itself: the test says what comes back, and when.

use std::io;
use std::ops::Deref;
use std::sync::Arc;

pub use xtask::double::channel::{
    Accepted, Callback, CallbackAnswer, Flush, Inbound, Key, Misbehaviour, Taken,
};
use xtask::double::channel::{Channel, Provider};
use xtask::double::twilio::Messages;
use xtask::double::whatsapp::Cloud;

use crate::host_actions::eventually;

/// The time of a double at first: the time at which every test starts.
pub const BEGINNING: u64 = 1_894_708_800;

/// What `cargo xtask double whatsapp` starts too.
pub type WhatsApp = Double<Cloud>;

/// What `cargo xtask double twilio` starts too.
pub type Twilio = Double<Messages>;

/// A running double. It stops when the last of its handles is dropped.
pub struct Double<P: Provider>(Arc<Channel<P>>);

impl<P: Provider> Clone for Double<P> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<P: Provider> Deref for Double<P> {
    type Target = Channel<P>;

    fn deref(&self) -> &Channel<P> {
        &self.0
    }
}

impl<P: Provider + Default> Double<P> {
    /// Starts one with the default options on a free port. Its time stands at [`BEGINNING`].
    pub fn start() -> Self {
        let started = Channel::start(P::default(), BEGINNING);
        Self(Arc::new(started.expect("a free port on loopback")))
    }
}

impl<P: Provider> Double<P> {
    /// Sends all waiting events, one in each request, in order. An event that is not
    /// answered with 2xx waits again.
    pub async fn flush(&self) -> Vec<CallbackAnswer> {
        self.flush_as(Flush::default()).await
    }

    /// Like [`Double::flush`], in batches or in another order.
    pub async fn flush_as(&self, how: Flush) -> Vec<CallbackAnswer> {
        self.try_flush(how).await.expect("the callback answers")
    }

    /// Like [`Double::flush_as`], for a callback that may be gone.
    pub async fn try_flush(&self, how: Flush) -> io::Result<Vec<CallbackAnswer>> {
        self.blocking(move |channel| channel.flush(how)).await
    }

    pub async fn send_raw(
        &self,
        content_type: &'static str,
        body: impl Into<Vec<u8>>,
        key: Key,
    ) -> CallbackAnswer {
        let body = body.into();
        let answer = self
            .blocking(move |channel| channel.send_raw(content_type, &body, key))
            .await;
        answer.expect("the callback answers")
    }

    pub async fn hangs(&self, many: usize) {
        eventually(&format!("{many} sends hang"), async || {
            self.hanging() >= many
        })
        .await;
    }

    async fn blocking<T: Send + 'static>(
        &self,
        what: impl FnOnce(&Channel<P>) -> T + Send + 'static,
    ) -> T {
        let channel = Arc::clone(&self.0);
        let done = tokio::task::spawn_blocking(move || what(&channel)).await;
        done.expect("a double does not panic")
    }
}
