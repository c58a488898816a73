//! Bounds how many deliveries of one connection are converted and committed at once while
//! other connections send too. The rest of a burst waits here, where it uses no processor,
//! so that the deliveries of others, and the writer, get processor time at once.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::prelude::*;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

pub struct DeliveryTurns {
    /// The bound for each connection while others send.
    at_once: usize,
    inner: Mutex<TurnState>,
}

#[derive(Default)]
struct TurnState {
    /// Connections with a delivery in progress.
    of: HashMap<ConnectionId, Arc<Semaphore>>,
    last: Option<ConnectionId>,
    /// Until then a connection counts as one of several.
    several_until: Micros,
}

/// Held while a delivery is in progress.
pub struct DeliveryTurn<'a> {
    turns: &'a DeliveryTurns,
    connection: ConnectionId,
    /// `None` if the connection was alone when the delivery arrived.
    place: Option<OwnedSemaphorePermit>,
}

impl DeliveryTurns {
    pub fn new(at_once: usize) -> Self {
        Self {
            at_once,
            inner: Mutex::default(),
        }
    }

    /// Waits for a delivery's turn: none for a connection that is alone, and in order of
    /// arrival for others.
    pub async fn wait(&self, connection: &ConnectionId, now: Micros) -> DeliveryTurn<'_> {
        let (places, is_alone) = self.enter(connection, now);
        // Created first, so that its entry is cleaned up even if the caller stops waiting.
        let mut turn = DeliveryTurn {
            turns: self,
            connection: connection.clone(),
            place: None,
        };
        turn.place = match Arc::clone(&places).try_acquire_owned() {
            Ok(place) => Some(place),
            Err(_) if is_alone => None,
            Err(_) => places.acquire_owned().await.ok(),
        };
        turn
    }

    fn enter(&self, connection: &ConnectionId, now: Micros) -> (Arc<Semaphore>, bool) {
        let mut inner = self.inner();
        if inner.last.as_ref() != Some(connection) {
            if inner.last.is_some() {
                inner.several_until = now.plus(limits::SEVERAL_FOR);
            }
            inner.last = Some(connection.clone());
        }
        let is_alone = !inner.several_until.is_ahead(now, limits::SEVERAL_FOR);
        let places = inner
            .of
            .entry(connection.clone())
            .or_insert_with(|| Arc::new(Semaphore::new(self.at_once)));
        (Arc::clone(places), is_alone)
    }

    fn inner(&self) -> MutexGuard<'_, TurnState> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for DeliveryTurn<'_> {
    fn drop(&mut self) {
        let mut inner = self.turns.inner();
        // Within the lock, so that no other delivery comes between the two.
        drop(self.place.take());
        if inner.of.get(&self.connection).is_some_and(|places| {
            // Deliveries that wait or have a place hold a reference too.
            Arc::strong_count(places) == 1
        }) {
            inner.of.remove(&self.connection);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::Future;
    use std::pin::{Pin, pin};
    use std::task::{Context, Poll, Waker};

    use super::*;
    use leadhost_domain::time::micros;

    const AT_ONCE: usize = 2;

    fn id(letter: char) -> ConnectionId {
        let text: String = std::iter::repeat_n(letter, 22).collect();
        text.parse().expect("22 characters")
    }

    fn now<F: Future>(future: Pin<&mut F>) -> Option<F::Output> {
        match future.poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(turn) => Some(turn),
            Poll::Pending => None,
        }
    }

    fn take<'a>(turns: &'a DeliveryTurns, letter: char, at: i64) -> Option<DeliveryTurn<'a>> {
        now(pin!(turns.wait(&id(letter), Micros(at))))
    }

    #[test]
    fn a_connection_without_competition_is_not_limited() {
        let turns = DeliveryTurns::new(AT_ONCE);
        let all: Vec<_> = (0..10).filter_map(|_| take(&turns, 'a', 0)).collect();
        assert_eq!(all.len(), 10);
    }

    #[test]
    fn beside_another_connection_a_delivery_waits_for_a_free_place() {
        let turns = DeliveryTurns::new(AT_ONCE);
        let other = take(&turns, 'b', 0).expect("it is alone");
        let mut own: Vec<_> = (0..AT_ONCE).filter_map(|_| take(&turns, 'a', 0)).collect();
        assert_eq!(own.len(), AT_ONCE);
        let (a, b) = (id('a'), id('b'));
        let mut next = pin!(turns.wait(&a, Micros(0)));
        let mut later = pin!(turns.wait(&a, Micros(0)));
        assert!(now(next.as_mut()).is_none() && now(later.as_mut()).is_none());
        assert!(now(pin!(turns.wait(&b, Micros(0)))).is_some(), "the other");
        drop(own.pop());
        assert!(now(later.as_mut()).is_none(), "first come, first served");
        assert!(now(next.as_mut()).is_some());
        drop(other);
    }

    #[test]
    fn a_connection_is_alone_again_a_while_after_the_other() {
        let turns = DeliveryTurns::new(AT_ONCE);
        drop(take(&turns, 'b', 0));
        let all: Vec<_> = (0..10).filter_map(|_| take(&turns, 'a', 1)).collect();
        assert_eq!(all.len(), AT_ONCE);
        for later in [micros(limits::SEVERAL_FOR) + 1, -3_600 * 1_000_000] {
            assert!(
                take(&turns, 'a', later).is_some(),
                "also when the clock is set back"
            );
        }
    }

    #[test]
    fn connections_without_deliveries_are_forgotten() {
        let turns = DeliveryTurns::new(AT_ONCE);
        let other = take(&turns, 'b', 0);
        let own: Vec<_> = (0..AT_ONCE).filter_map(|_| take(&turns, 'a', 0)).collect();
        let gone = {
            let a = id('a');
            let mut next = pin!(turns.wait(&a, Micros(0)));
            now(next.as_mut()).is_none()
        };
        assert!(gone, "one that waited and left");
        drop((own, other));
        assert!(turns.inner().of.is_empty());
    }
}
