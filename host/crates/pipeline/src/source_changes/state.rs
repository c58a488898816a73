//! The deliveries that wait for their place in a sketch.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use tokio::sync::mpsc;

use super::sketch::counts::Leads;
use crate::local_rate::LocalRateLimiter;
use leadhost_domain::connection::ConnectionKind;
use leadhost_domain::id::{ConnectionId, DeliveryId, WorkspaceId};
use leadhost_domain::limits;
use leadhost_domain::plugin::Digest;
use leadhost_domain::time::Micros;
use leadhost_store::KeptAnswer;

/// How the conversion of a delivery by a version ended, as far as it says something about the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObservedConversion {
    Converted,
    /// The version refused the body.
    Refused,
    /// The version is at fault, or was not called because it keeps failing.
    Failed,
    /// The host could not call it, or it will be called again with more time.
    Unknown,
}

/// A delivery of a source, or a webhook of a channel, after its conversion.
pub struct Delivered {
    pub delivery: DeliveryId,
    pub connection: ConnectionId,
    /// The name of the plugin, and the version that was called.
    pub plugin: String,
    pub digest: Digest,
    pub outcome: ObservedConversion,
    /// The part for the sketch. `None` for webhooks, and for a delivery that is converted again.
    pub sketched: Option<Sketched>,
    /// The answer to a fetch on which the version failed.
    pub failed: Option<KeptAnswer>,
    pub workspace: WorkspaceId,
    pub kind: ConnectionKind,
    pub received_at: Micros,
    /// The connection's name.
    pub name: String,
    /// The version that was called, for people.
    pub version: String,
    /// The version of the connection's configuration and secrets.
    pub configuration: i64,
}

/// The part of a delivery that the sketch of a source gets.
pub enum Sketched {
    Delivery {
        /// With the secrets masked. `None` if it is too large to be read.
        body: Option<Bytes>,
        is_form: bool,
        /// `None` if it was not converted, or if the leads are fetched later.
        leads: Option<Leads>,
    },
    /// The leads that were read in the answer to a fetch.
    Answer(Leads),
}

/// The last conversions of a connection, each delivery once.
#[derive(Debug, Default)]
pub struct LastConversions {
    /// The version of the newest one.
    digest: Option<Digest>,
    /// Those by this version.
    last: VecDeque<(DeliveryId, ObservedConversion)>,
    /// Those that succeeded, by any version: in a canary the versions alternate.
    converted: VecDeque<DeliveryId>,
}

/// Conversions in a row that have to fail, or to succeed again.
const IN_A_ROW: usize = limits::BREAKER_FAILURES as usize;
const WORKS: usize = 10;

impl LastConversions {
    /// Adds a conversion. For other versions, only the deliveries that they converted are remembered.
    pub fn add(&mut self, digest: &Digest, delivery: DeliveryId, outcome: ObservedConversion) {
        if outcome == ObservedConversion::Unknown {
            return;
        }
        if self.digest.as_ref() != Some(digest) {
            self.digest = Some(digest.clone());
            self.last.clear();
        }
        self.last.retain(|(known, _)| *known != delivery);
        if self.last.len() >= limits::BLAME_LAST {
            self.last.pop_front();
        }
        self.last.push_back((delivery, outcome));
        self.converted.retain(|known| *known != delivery);
        if outcome == ObservedConversion::Converted {
            if self.converted.len() >= limits::BLAME_LAST {
                self.converted.pop_front();
            }
            self.converted.push_back(delivery);
        }
    }

    /// Returns the version that was called last.
    pub fn digest(&self) -> Option<&Digest> {
        self.digest.as_ref()
    }

    /// Returns whether the last ones failed, as many as open the circuit breaker, or half of many.
    pub fn keep_failing(&self) -> bool {
        let in_a_row = self
            .newest()
            .take_while(|(_, outcome)| *outcome != ObservedConversion::Converted);
        let (failed, all) = self.failed();
        in_a_row.count() >= IN_A_ROW || all >= limits::BLAME_LAST / 2 && 2 * failed >= all
    }

    /// Returns whether the version works again.
    pub fn works(&self) -> bool {
        let works = self.newest().take(WORKS);
        works
            .filter(|(_, outcome)| *outcome == ObservedConversion::Converted)
            .count()
            == WORKS
    }

    /// Returns whether one of them was no refusal.
    pub fn has_faults(&self) -> bool {
        self.last
            .iter()
            .any(|(_, outcome)| *outcome == ObservedConversion::Failed)
    }

    /// Returns how many failed or were refused, and how many there are.
    pub fn failed(&self) -> (usize, usize) {
        let failed = self
            .newest()
            .filter(|(_, outcome)| *outcome != ObservedConversion::Converted);
        (failed.count(), self.last.len())
    }

    /// Returns those that failed, newest first. The newest may not be stored yet, so there are more than a
    /// trial needs; the same for [`Self::converted`].
    pub fn failing(&self) -> Vec<DeliveryId> {
        let failing = self
            .newest()
            .filter(|(_, outcome)| *outcome != ObservedConversion::Converted);
        failing.map(|(delivery, _)| *delivery).collect()
    }

    /// Returns those that any version converted, newest first.
    pub fn converted(&self) -> Vec<DeliveryId> {
        self.converted.iter().rev().copied().collect()
    }

    fn newest(&self) -> impl Iterator<Item = &(DeliveryId, ObservedConversion)> {
        self.last.iter().rev()
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn id(number: u128) -> DeliveryId {
        DeliveryId(uuid::Uuid::from_u128(number))
    }

    #[test]
    fn failures_in_a_row_or_half_of_many_keep_failing_and_each_delivery_counts_once() {
        let digest = Digest::compute(b"a component");
        let mut last = LastConversions::default();
        for _ in 0..10 {
            last.add(&digest, id(0), ObservedConversion::Failed);
        }
        assert!(!last.keep_failing());
        last.add(&digest, id(1), ObservedConversion::Unknown);
        last.add(&digest, id(1), ObservedConversion::Failed);
        last.add(&digest, id(2), ObservedConversion::Refused);
        assert!(last.keep_failing());
        assert_eq!(last.failing(), [id(2), id(1), id(0)]);
        last.add(&digest, id(3), ObservedConversion::Converted);
        assert!(!last.keep_failing() && !last.works());
        for number in 4..10 {
            let outcome = match number % 2 {
                0 => ObservedConversion::Failed,
                _ => ObservedConversion::Converted,
            };
            last.add(&digest, id(number), outcome);
        }
        assert!(last.keep_failing());
        assert_eq!(last.failed(), (6, 10));
        for number in 10..20 {
            last.add(&digest, id(number), ObservedConversion::Converted);
        }
        assert!(last.works() && !last.keep_failing());
        last.add(
            &Digest::compute(b"another"),
            id(20),
            ObservedConversion::Failed,
        );
        assert_eq!(last.failed(), (1, 1));
        // What the version before converted.
        assert_eq!(last.converted()[..2], [id(19), id(18)]);
        last.add(
            &Digest::compute(b"a third"),
            id(19),
            ObservedConversion::Refused,
        );
        assert_eq!(last.converted()[..2], [id(18), id(17)]);
    }
}
