//! A double of a messaging provider for a test. Calls of the double that block
//! run off the runtime, so that a host in the same runtime can answer. Nothing
//! comes back by itself: the test says what comes back, and when.

use std::io;
use std::ops::Deref;
use std::sync::Arc;

use xtask::double::channel::Channel;
pub use xtask::double::channel::{
    Accepted, Callback, CallbackAnswer, Event, Flush, Inbound, Key, Misbehaviour, Provider, Status,
    Taken,
};

use crate::host_actions::until;

/// The time of a double at first: the time at which every test starts.
pub const BEGINNING: u64 = 1_894_708_800;

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

impl<P: Provider> Double<P> {
    /// Returns the first handle of a running double.
    pub(crate) fn new(channel: Channel<P>) -> Self {
        Self(Arc::new(channel))
    }

    /// Sends all waiting events, one in each request, in order, and returns the
    /// answers.
    /// An event that is not answered with 2xx waits again.
    ///
    /// # Panics
    /// If there is no callback, or if it does not answer.
    pub async fn flush(&self) -> Vec<CallbackAnswer> {
        self.flush_as(Flush::default()).await
    }

    /// Like [`Double::flush`], in batches or in another order.
    ///
    /// # Panics
    /// If there is no callback, or if it does not answer.
    pub async fn flush_as(&self, how: Flush) -> Vec<CallbackAnswer> {
        self.try_flush(how).await.expect("the callback answers")
    }

    /// Like [`Double::flush_as`], for a callback that may be gone.
    pub async fn try_flush(&self, how: Flush) -> io::Result<Vec<CallbackAnswer>> {
        self.blocking(move |channel| channel.flush(how)).await
    }

    /// Sends any body to the callback, signed like this.
    ///
    /// # Panics
    /// If there is no callback, or if it does not answer.
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

    /// Performs the webhook handshake with this token, or with the right one.
    /// Returns whether the callback passed, and its answer.
    ///
    /// # Panics
    /// If there is no callback, or if it does not answer.
    pub async fn handshake(&self, verify_token: Option<&str>) -> (bool, CallbackAnswer) {
        let token = verify_token.map(str::to_owned);
        let shown = self
            .blocking(move |channel| channel.handshake(token.as_deref()))
            .await;
        shown.expect("the callback answers")
    }

    /// Waits until this many messages were accepted, and returns them all.
    pub async fn takes(&self, many: usize) -> Vec<Accepted> {
        until(&format!("{} takes {many} messages", P::NAME), async || {
            let accepted = self.accepted();
            (accepted.len() >= many).then_some(accepted)
        })
        .await
    }

    /// Waits until this many sends arrived, including refused ones.
    pub async fn asked(&self, many: usize) {
        until(&format!("{} is asked {many} times", P::NAME), async || {
            (self.sends().len() >= many).then_some(())
        })
        .await;
    }

    /// Waits until this many sends hang.
    pub async fn hangs(&self, many: usize) {
        until(&format!("{many} sends hang"), async || {
            (self.hanging() >= many).then_some(())
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
