//! A queue in front of work that few may do at once. The queue is bounded too. A caller has all places but
//! one and half of the room to wait, so that the work of another caller is next.

use super::caller::{self, Caller};
use crate::prelude::*;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

pub struct BoundedQueue {
    turns: Arc<Semaphore>,
    /// Bounds of one caller. The service itself has none.
    places: usize,
    room: usize,
    most_waiting: usize,
    state: Arc<Mutex<QueueState>>,
}

#[derive(Default)]
struct QueueState {
    waiting: usize,
    /// Callers that wait or have a turn.
    of: HashMap<Caller, CallerLine>,
}

struct CallerLine {
    places: Arc<Semaphore>,
    waiting: usize,
    entered: usize,
}

/// Whoever waits or has a turn. Forgotten when it is dropped.
struct Entry {
    state: Arc<Mutex<QueueState>>,
    caller: Option<Caller>,
    waits: bool,
}

/// A turn, which ends when it is dropped.
pub struct Turn {
    _place: OwnedSemaphorePermit,
    _own: Option<OwnedSemaphorePermit>,
    _entry: Entry,
}

impl BoundedQueue {
    pub fn new(at_once: usize, most_waiting: usize) -> Self {
        Self {
            turns: Arc::new(Semaphore::new(at_once)),
            places: (at_once - 1).max(1),
            room: most_waiting / 2,
            most_waiting,
            state: Arc::default(),
        }
    }

    /// Waits for a turn of the current caller.
    pub async fn turn(&self) -> Result<Turn, LoadError> {
        let (mut entry, own) = self.enter(caller::current())?;
        let host = |error: tokio::sync::AcquireError| LoadError::Host(error.to_string());
        // First its own, so that it waits once for the places of all.
        let own = match own {
            Some(places) => Some(places.acquire_owned().await.map_err(host)?),
            None => None,
        };
        let place = Arc::clone(&self.turns).acquire_owned().await;
        let place = place.map_err(host)?;
        entry.no_longer_waits();
        Ok(Turn {
            _place: place,
            _own: own,
            _entry: entry,
        })
    }

    fn enter(&self, caller: Option<Caller>) -> Result<(Entry, Option<Arc<Semaphore>>), LoadError> {
        let busy = |waiting| Err(LoadError::Busy { waiting });
        let mut state = lock(&self.state);
        if state.waiting >= self.most_waiting {
            return busy(self.most_waiting);
        }
        let mut places = None;
        if let Some(caller) = &caller {
            let line = state
                .of
                .entry(caller.clone())
                .or_insert_with(|| CallerLine {
                    places: Arc::new(Semaphore::new(self.places)),
                    waiting: 0,
                    entered: 0,
                });
            if line.waiting >= self.room {
                return busy(self.room);
            }
            line.waiting += 1;
            line.entered += 1;
            places = Some(Arc::clone(&line.places));
        }
        state.waiting += 1;
        let entry = Entry {
            state: Arc::clone(&self.state),
            caller,
            waits: true,
        };
        Ok((entry, places))
    }
}

impl Entry {
    fn no_longer_waits(&mut self) {
        if !std::mem::take(&mut self.waits) {
            return;
        }
        let mut state = lock(&self.state);
        state.waiting -= 1;
        if let Some(line) = self.caller.as_ref().and_then(|one| state.of.get_mut(one)) {
            line.waiting -= 1;
        }
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        self.no_longer_waits();
        let Some(caller) = &self.caller else {
            return;
        };
        let mut state = lock(&self.state);
        if let Some(line) = state.of.get_mut(caller) {
            line.entered -= 1;
            if line.entered == 0 {
                state.of.remove(caller);
            }
        }
    }
}

fn lock(state: &Mutex<QueueState>) -> MutexGuard<'_, QueueState> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    use super::caller::on_behalf_of;
    use super::*;

    type Polled = Option<Result<Turn, LoadError>>;

    fn now(future: std::pin::Pin<&mut impl Future<Output = Result<Turn, LoadError>>>) -> Polled {
        match future.poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(turn) => Some(turn),
            Poll::Pending => None,
        }
    }

    fn turn(queue: &BoundedQueue, who: &str) -> impl Future<Output = Result<Turn, LoadError>> {
        on_behalf_of((!who.is_empty()).then(|| Caller::from(who)), queue.turn())
    }

    #[test]
    fn a_caller_leaves_a_place_and_half_of_the_room_to_others() {
        let queue = BoundedQueue::new(2, 6);
        let first = now(pin!(turn(&queue, "a"))).unwrap().unwrap();
        let mut own: Vec<_> = (0..3).map(|_| Box::pin(turn(&queue, "a"))).collect();
        for one in &mut own {
            assert!(now(one.as_mut()).is_none(), "it waits for its own turn");
        }
        let surplus = now(pin!(turn(&queue, "a"))).unwrap();
        assert!(matches!(surplus, Err(LoadError::Busy { waiting: 3 })));
        let other = now(pin!(turn(&queue, "b"))).unwrap();
        assert!(other.is_ok(), "another caller is next");
        let mut service = Box::pin(turn(&queue, ""));
        assert!(now(service.as_mut()).is_none(), "both places are taken");
        drop(first);
        assert!(
            now(own[0].as_mut()).is_none(),
            "the service asked before its turn came"
        );
        assert!(now(service.as_mut()).unwrap().is_ok());
    }

    #[test]
    fn the_service_may_use_all_places_and_all_room() {
        let queue = BoundedQueue::new(2, 6);
        let begun: Vec<_> = (0..2)
            .map(|_| now(pin!(turn(&queue, ""))).unwrap().unwrap())
            .collect();
        let mut waiting: Vec<_> = (0..6).map(|_| Box::pin(turn(&queue, ""))).collect();
        for one in &mut waiting {
            assert!(now(one.as_mut()).is_none());
        }
        let surplus = now(pin!(turn(&queue, ""))).unwrap();
        assert!(matches!(surplus, Err(LoadError::Busy { waiting: 6 })));
        drop(begun);
    }

    #[test]
    fn callers_who_have_left_are_forgotten() {
        let queue = BoundedQueue::new(2, 6);
        let first = now(pin!(turn(&queue, "a")));
        {
            let mut left = Box::pin(turn(&queue, "a"));
            assert!(now(left.as_mut()).is_none());
        }
        drop(first);
        let state = lock(&queue.state);
        assert!(state.of.is_empty());
        assert_eq!(state.waiting, 0);
    }
}
