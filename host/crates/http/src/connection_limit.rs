//! Bounds the open connections, in total and per address. If no place is left, the connections
//! that have been idle longest are closed and the new one is let in. A connection whose request
//! is being served is never closed, nor one that was served a moment ago and may be about to
//! send its next request.

use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use tokio::time::timeout;

use super::io::ConnectionProgress;
use crate::prelude::*;
use leadhost_domain::network;

/// The interval of the checks whether a connection has become idle.
const AGAIN: Duration = Duration::from_millis(20);

/// One in this many of a bound is closed at once, so that the search for the longest idle costs
/// little per new connection.
const AT_ONCE: usize = 256;

pub struct ConnectionLimit {
    most: usize,
    most_of_one: usize,
    /// Connections that have been idle for less make no room for others.
    rest: Duration,
    places: Mutex<ConnectionPlaces>,
    freed: Notify,
}

#[derive(Default)]
struct ConnectionPlaces {
    next: u64,
    taken: HashMap<u64, SeatedConnection>,
    of_one: HashMap<IpAddr, usize>,
    /// Without the connections that were asked to close.
    count: usize,
}

struct SeatedConnection {
    peer: IpAddr,
    progress: ConnectionProgress,
    go: Arc<Notify>,
    goes: bool,
}

/// A connection's place, until it is dropped.
pub struct Seat {
    limit: Arc<ConnectionLimit>,
    number: u64,
    go: Arc<Notify>,
}

/// All places of an address are taken by requests that are being served.
#[derive(Debug)]
pub struct TooManyOfOne;

enum Now {
    Seat(Seat),
    TooManyOfOne,
    Wait,
}

impl ConnectionLimit {
    /// Returns a limit of at most `most` connections, and at most `most_of_one` of one
    /// address; each bound is at least 1. A connection that was served less than `rest` ago is
    /// not closed to make room.
    pub fn new(most: usize, most_of_one: usize, rest: Duration) -> Self {
        Self {
            most: most.max(1),
            most_of_one: most_of_one.max(1),
            rest,
            places: Mutex::default(),
            freed: Notify::new(),
        }
    }

    /// Returns a place for a new connection, and the number of connections that were closed for
    /// it. Waits while all others are being served.
    pub async fn admit(
        self: &Arc<Self>,
        peer: IpAddr,
        progress: &ConnectionProgress,
    ) -> Result<(Seat, usize), TooManyOfOne> {
        let peer = network::owner(peer);
        loop {
            let mut gone = 0;
            match self.try_admit(peer, progress, &mut gone) {
                Now::Seat(place) => return Ok((place, gone)),
                Now::TooManyOfOne => return Err(TooManyOfOne),
                Now::Wait => drop(timeout(AGAIN, self.freed.notified()).await),
            }
        }
    }

    fn try_admit(
        self: &Arc<Self>,
        peer: IpAddr,
        progress: &ConnectionProgress,
        gone: &mut usize,
    ) -> Now {
        let mut places = self.places();
        if places
            .of_one
            .get(&peer)
            .is_some_and(|own| *own >= self.most_of_one)
        {
            *gone += places.send_away(self.most_of_one, |taken| taken.peer == peer);
            if *gone == 0 {
                return Now::TooManyOfOne;
            }
        }
        if places.count >= self.most {
            *gone += places.send_away(self.most, |taken| taken.progress.rests_for() >= self.rest);
            if places.count >= self.most {
                return Now::Wait;
            }
        }
        let number = places.next;
        places.next += 1;
        let go = Arc::new(Notify::new());
        let taken = SeatedConnection {
            peer,
            progress: progress.clone(),
            go: Arc::clone(&go),
            goes: false,
        };
        places.taken.insert(number, taken);
        places.count(peer);
        Now::Seat(Seat {
            limit: Arc::clone(self),
            number,
            go,
        })
    }

    fn places(&self) -> MutexGuard<'_, ConnectionPlaces> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ConnectionPlaces {
    fn count(&mut self, peer: IpAddr) {
        self.count += 1;
        *self.of_one.entry(peer).or_default() += 1;
    }

    fn discount(&mut self, peer: IpAddr) {
        self.count -= 1;
        if let Some(own) = self.of_one.get_mut(&peer) {
            *own -= 1;
            if *own == 0 {
                self.of_one.remove(&peer);
            }
        }
    }

    /// Asks a few of the connections that have been idle longest to close. Returns how many.
    fn send_away(&mut self, bound: usize, among: impl Fn(&SeatedConnection) -> bool) -> usize {
        let mut idle: Vec<(u64, u64)> = self
            .taken
            .iter()
            .filter(|(_, taken)| !taken.goes && among(taken))
            .filter_map(|(number, taken)| Some((taken.progress.idle_since()?, *number)))
            .collect();
        let few = (bound / AT_ONCE).max(1);
        if idle.len() > few {
            idle.select_nth_unstable(few);
            idle.truncate(few);
        }
        for (_, number) in &idle {
            if let Some(taken) = self.taken.get_mut(number) {
                taken.goes = true;
                taken.go.notify_one();
                let peer = taken.peer;
                self.discount(peer);
            }
        }
        idle.len()
    }
}

impl Seat {
    pub async fn asked_to_close(&self) {
        self.go.notified().await;
    }

    /// Keeps the connection, because it has a request.
    pub fn stay(&self) {
        let mut places = self.limit.places();
        if let Some(taken) = places.taken.get_mut(&self.number)
            && taken.goes
        {
            taken.goes = false;
            let peer = taken.peer;
            places.count(peer);
        }
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut places = self.limit.places();
        if let Some(taken) = places.taken.remove(&self.number)
            && !taken.goes
        {
            places.discount(taken.peer);
        }
        drop(places);
        self.limit.freed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(number: u8) -> IpAddr {
        [192, 0, 2, number].into()
    }

    fn idle() -> ConnectionProgress {
        let progress = ConnectionProgress::new();
        progress.mark_received();
        progress
    }

    async fn enter(
        limit: &Arc<ConnectionLimit>,
        number: u8,
        progress: &ConnectionProgress,
    ) -> (Seat, usize) {
        limit.admit(at(number), progress).await.expect("a place")
    }

    #[tokio::test]
    async fn the_longest_idle_connection_makes_room() {
        let limit = Arc::new(ConnectionLimit::new(2, 2, Duration::ZERO));
        let (old, young) = (idle(), idle());
        let (first, _) = enter(&limit, 1, &old).await;
        let (second, gone) = enter(&limit, 2, &young).await;
        assert_eq!(gone, 0);
        old.request_begins();
        old.request_ends();
        // The first one has become the younger one.
        let (_third, gone) = enter(&limit, 3, &idle()).await;
        assert_eq!(gone, 1);
        second.asked_to_close().await;
        assert!(
            timeout(Duration::ZERO, first.asked_to_close())
                .await
                .is_err()
        );
    }

    #[tokio::test]
    async fn a_served_connection_stays_and_a_new_one_waits() {
        let limit = Arc::new(ConnectionLimit::new(1, 1, Duration::ZERO));
        let busy = idle();
        busy.request_begins();
        let (first, _) = enter(&limit, 1, &busy).await;
        let other = idle();
        let waits = timeout(Duration::from_millis(1), limit.admit(at(2), &other)).await;
        assert!(waits.is_err());
        assert!(limit.admit(at(1), &other).await.is_err(), "too many of one");
        drop(first);
        let (second, gone) = enter(&limit, 2, &other).await;
        assert_eq!(gone, 0);
        drop(second);
        let places = limit.places();
        assert!(places.count == 0 && places.taken.is_empty() && places.of_one.is_empty());
    }

    #[tokio::test]
    async fn a_just_served_connection_stays_and_a_new_one_waits() {
        let limit = Arc::new(ConnectionLimit::new(1, 1, Duration::from_secs(3_600)));
        let (first, _) = enter(&limit, 1, &idle()).await;
        let other = idle();
        let waits = timeout(Duration::from_millis(1), limit.admit(at(2), &other)).await;
        assert!(waits.is_err());
        drop(first);
        let (_second, gone) = enter(&limit, 2, &other).await;
        assert_eq!(gone, 0);
    }

    #[tokio::test]
    async fn an_address_past_its_bound_loses_its_own_idle_ones() {
        let limit = Arc::new(ConnectionLimit::new(10, 1, Duration::ZERO));
        let (_other, _) = enter(&limit, 1, &idle()).await;
        let (first, _) = enter(&limit, 2, &idle()).await;
        let (_second, gone) = enter(&limit, 2, &idle()).await;
        assert_eq!(gone, 1);
        first.asked_to_close().await;
        first.stay();
        drop(first);
        assert_eq!(limit.places().count, 2);
    }
}
