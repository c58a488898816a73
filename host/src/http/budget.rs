//! Bytes of bodies that requests may hold at once, and of answers that clients have
//! not taken yet: all of them together, those of one address, and of bodies those to
//! one connection, so that whoever takes more than a share of the room is refused
//! before others are.

use std::collections::HashMap;
use std::hash::Hash;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hyper::body::Bytes;

use crate::config::Server;
use crate::domain::id::ConnectionId;
use crate::domain::network;
use crate::limits;
use crate::memory;

pub struct Budget {
    bounds: Bounds,
    held: Mutex<Held>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Bounds {
    all: usize,
    peer: usize,
    connection: usize,
}

#[derive(Default)]
struct Held {
    all: usize,
    peers: HashMap<IpAddr, usize>,
    connections: HashMap<ConnectionId, usize>,
}

/// Whose room there is not enough of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Short {
    All,
    Peer,
    Connection,
}

impl Budget {
    /// As the configuration says, and where it leaves that open, by the memory
    /// that there is.
    pub fn configured(server: &Server) -> Self {
        let all = configured(server.bodies_mib, limits::DELIVERY_BYTES);
        let share = |percent| share(all, percent, limits::DELIVERY_BYTES);
        Self::new(Bounds {
            all,
            peer: share(server.bodies_peer_percent),
            connection: share(server.bodies_connection_percent),
        })
    }

    /// The same for answers, which are to no connection.
    pub fn of_answers(server: &Server) -> Self {
        let all = configured(server.answers_mib, limits::ANSWER_ROOM_BYTES);
        Self::new(Bounds {
            all,
            peer: share(all, server.answers_peer_percent, limits::ANSWER_ROOM_BYTES),
            connection: all,
        })
    }

    /// Without shares: where all are trusted alike.
    pub fn whole(bytes: usize) -> Self {
        Self::new(Bounds {
            all: bytes,
            peer: bytes,
            connection: bytes,
        })
    }

    fn new(bounds: Bounds) -> Self {
        Self {
            bounds,
            held: Mutex::default(),
        }
    }

    /// What one request holds: nothing yet.
    pub fn share(self: &Arc<Self>, peer: IpAddr) -> Share {
        Share {
            budget: Arc::clone(self),
            peer: network::owner(peer),
            connection: None,
            bytes: 0,
        }
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// So many mebibytes, but room for one of the largest; with 0 what the memory allows.
fn configured(mebibytes: usize, largest: usize) -> usize {
    match mebibytes {
        0 => of_memory(memory::may_use(), largest),
        mebibytes => (mebibytes << 20).max(largest),
    }
}

fn share(all: usize, percent: usize, largest: usize) -> usize {
    (all / 100 * percent).clamp(largest, all)
}

/// A delivery is in memory several times on its way: as it came, masked, in its
/// plugin as text and as what the plugin reads of it, and as the store's parameters.
/// So is an answer: as the store gives it, put together, and compressed.
fn of_memory(bytes: Option<u64>, largest: usize) -> usize {
    let share = bytes.map_or(u64::MAX, |bytes| bytes / limits::MEMORY_PER_BODY_BYTE);
    usize::try_from(share)
        .unwrap_or(usize::MAX)
        .clamp(2 * largest, limits::BODY_BYTES_IN_FLIGHT)
}

/// What one request holds of the budget, until it is dropped.
pub struct Share {
    budget: Arc<Budget>,
    peer: IpAddr,
    connection: Option<ConnectionId>,
    bytes: usize,
}

impl Share {
    /// What it holds from now on counts for this connection too.
    pub fn goes_to(&mut self, connection: &ConnectionId) {
        debug_assert_eq!(self.bytes, 0);
        self.connection = Some(connection.clone());
    }

    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Takes what an answer has, and gives it back when the answer has gone out.
    pub fn keep(mut self, answer: Bytes) -> Result<Bytes, Short> {
        self.take_for_answer(answer.len())?;
        Ok(Bytes::from_owner(Kept {
            answer,
            _share: self,
        }))
    }

    /// Takes what an answer has: one that is larger than the share of its address
    /// takes all of that.
    pub fn take_for_answer(&mut self, bytes: usize) -> Result<(), Short> {
        self.take(bytes.min(self.budget.bounds.peer))
    }

    /// Takes so many bytes more, or none.
    pub fn take(&mut self, bytes: usize) -> Result<(), Short> {
        let Bounds {
            all,
            peer,
            connection,
        } = self.budget.bounds;
        let mut held = self.budget.held();
        let fits = |held: usize, bound: usize| held.saturating_add(bytes) <= bound;
        if let Some(id) = &self.connection
            && !fits(*held.connections.get(id).unwrap_or(&0), connection)
        {
            return Err(Short::Connection);
        }
        if !fits(*held.peers.get(&self.peer).unwrap_or(&0), peer) {
            return Err(Short::Peer);
        }
        if !fits(held.all, all) {
            return Err(Short::All);
        }
        held.all += bytes;
        *held.peers.entry(self.peer).or_default() += bytes;
        if let Some(id) = &self.connection {
            match held.connections.get_mut(id) {
                Some(of_it) => *of_it += bytes,
                None => drop(held.connections.insert(id.clone(), bytes)),
            }
        }
        drop(held);
        self.bytes += bytes;
        Ok(())
    }
}

/// An answer, and the room that it takes.
struct Kept {
    answer: Bytes,
    _share: Share,
}

impl AsRef<[u8]> for Kept {
    fn as_ref(&self) -> &[u8] {
        &self.answer
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        if self.bytes == 0 {
            return;
        }
        let mut held = self.budget.held();
        held.all -= self.bytes;
        give_back(&mut held.peers, &self.peer, self.bytes);
        if let Some(id) = &self.connection {
            give_back(&mut held.connections, id, self.bytes);
        }
    }
}

/// Who holds nothing is not remembered.
fn give_back<K: Hash + Eq>(held: &mut HashMap<K, usize>, key: &K, bytes: usize) {
    if let Some(of_it) = held.get_mut(key) {
        *of_it -= bytes;
        if *of_it == 0 {
            held.remove(key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(number: u8) -> IpAddr {
        [192, 0, 2, number].into()
    }

    #[test]
    fn who_takes_more_than_a_share_is_refused_before_others_are() {
        let budget = Arc::new(Budget::new(Bounds {
            all: 10,
            peer: 6,
            connection: 4,
        }));
        let (good, bad) = (ConnectionId::generate(), ConnectionId::generate());
        let mut first = budget.share(at(1));
        first.goes_to(&bad);
        assert_eq!(first.take(4), Ok(()));
        assert_eq!(first.take(1), Err(Short::Connection));
        let mut second = budget.share(at(1));
        assert_eq!(second.take(3), Err(Short::Peer));
        assert_eq!(second.take(2), Ok(()));
        let mut third = budget.share(at(2));
        third.goes_to(&good);
        assert_eq!(third.take(4), Ok(()));
        assert_eq!(budget.share(at(3)).take(1), Err(Short::All));
        drop(first);
        assert_eq!(budget.share(at(3)).take(4), Ok(()));
        drop((second, third));
        let held = budget.held();
        assert!(held.all == 0 && held.peers.is_empty() && held.connections.is_empty());
    }

    #[test]
    fn an_answer_takes_room_until_it_has_gone_out() {
        let budget = Arc::new(Budget::new(Bounds {
            all: 10,
            peer: 6,
            connection: 10,
        }));
        let keep = |peer, bytes: usize| budget.share(at(peer)).keep(vec![0; bytes].into());
        // However long: it would never fit otherwise.
        let first = keep(1, 1_000).expect("room");
        assert_eq!(keep(1, 1), Err(Short::Peer));
        let second = keep(2, 4).expect("room");
        assert_eq!(keep(3, 1), Err(Short::All));
        let part = first.slice(999..);
        drop(first);
        assert_eq!(keep(1, 1), Err(Short::Peer));
        drop(part);
        assert_eq!(keep(1, 1).expect("room").len(), 1);
        drop(second);
        assert_eq!(budget.held().all, 0);
    }

    #[test]
    fn the_room_is_a_part_of_the_memory_that_there_is() {
        assert_eq!(of_memory(Some(256 << 20), limits::DELIVERY_BYTES), 16 << 20);
        assert_eq!(of_memory(Some(1 << 30), limits::DELIVERY_BYTES), 64 << 20);
        assert_eq!(
            of_memory(Some(64 << 30), limits::DELIVERY_BYTES),
            limits::BODY_BYTES_IN_FLIGHT
        );
        assert_eq!(
            of_memory(Some(1 << 20), limits::DELIVERY_BYTES),
            2 * limits::DELIVERY_BYTES
        );
        assert_eq!(
            of_memory(None, limits::DELIVERY_BYTES),
            limits::BODY_BYTES_IN_FLIGHT
        );
    }
}
