//! The deliveries that wait for their place in a sketch.

use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use tokio::sync::mpsc;

use super::sketch::Leads;
use crate::domain::id::{ConnectionId, WorkspaceId};
use crate::domain::time::Micros;
use crate::limits;
use crate::pipeline::local_rate::LocalRateLimiter;

/// A delivery of a source after its conversion.
pub struct Delivered {
    pub connection: ConnectionId,
    pub workspace: WorkspaceId,
    /// The connection's name.
    pub name: String,
    /// With the secrets masked. `None` if it is too large to be read.
    pub body: Option<Bytes>,
    pub is_form: bool,
    /// The version that was called, for people.
    pub version: String,
    /// `None` if it was not converted.
    pub leads: Option<Leads>,
}

/// The queue, and how many of each connection's deliveries it has got lately. One per host.
pub struct SourceChanges {
    queue: mpsc::Sender<Delivered>,
    /// Until the task takes it.
    waiting: Mutex<Option<mpsc::Receiver<Delivered>>>,
    /// The number of deliveries of a connection that are sketched.
    rate: LocalRateLimiter<ConnectionId>,
}

impl Default for SourceChanges {
    fn default() -> Self {
        let (queue, waiting) = mpsc::channel(limits::SKETCHES_WAITING);
        Self {
            queue,
            waiting: Mutex::new(Some(waiting)),
            rate: LocalRateLimiter::new(
                limits::SKETCHED_AT_ONCE,
                limits::SKETCH_EVERY * limits::SKETCHED_AT_ONCE,
            ),
        }
    }
}

impl SourceChanges {
    /// Returns whether a delivery of the connection is to be offered now, and counts it.
    pub fn wants(&self, connection: &ConnectionId, now: Micros) -> bool {
        self.queue.capacity() > 0 && self.rate.ask(connection, now).is_ok()
    }

    /// Puts a delivery into the queue if there is room.
    pub fn offer(&self, delivered: Delivered) {
        // Some deliveries are enough.
        let _ = self.queue.try_send(delivered);
    }

    /// Returns the other end of the queue, once.
    pub fn waiting(&self) -> Option<mpsc::Receiver<Delivered>> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.take()
    }
}
