//! Bounds the bytes of bodies that requests hold at once, and of answers that clients have not
//! read yet: in total, per address, and for bodies also per connection. So a client that takes
//! more than its share of the room is refused before others are.

use std::hash::Hash;
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::prelude::*;
use leadhost_config::ServerSection;
use leadhost_config::memory;
use leadhost_domain::network;

pub struct ByteBudget {
    bounds: BudgetBounds,
    held: Mutex<BytesInFlight>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct BudgetBounds {
    all: usize,
    peer: usize,
    connection: usize,
}

#[derive(Default)]
struct BytesInFlight {
    all: usize,
    peers: HashMap<IpAddr, usize>,
    connections: HashMap<ConnectionId, usize>,
}

/// The bound that leaves no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Short {
    All,
    Peer,
    Connection,
}

impl ByteBudget {
    /// Returns the budget of bodies: the configured one, or, if that is left open, one that
    /// fits the available memory.
    pub fn configured(server: &ServerSection) -> Self {
        let all = configured(server.bodies_mib, limits::DELIVERY_BYTES);
        let share = |percent| share(all, percent, limits::DELIVERY_BYTES);
        Self::new(BudgetBounds {
            all,
            peer: share(server.bodies_peer_percent),
            connection: share(server.bodies_connection_percent),
        })
    }

    /// Returns the budget of answers. They have no bound per connection.
    pub fn for_answers(server: &ServerSection) -> Self {
        let all = configured(server.answers_mib, limits::ANSWER_ROOM_BYTES);
        Self::new(BudgetBounds {
            all,
            peer: share(all, server.answers_peer_percent, limits::ANSWER_ROOM_BYTES),
            connection: all,
        })
    }

    /// Returns a budget without shares, for clients that are all trusted.
    pub fn whole(bytes: usize) -> Self {
        Self::new(BudgetBounds {
            all: bytes,
            peer: bytes,
            connection: bytes,
        })
    }

    fn new(bounds: BudgetBounds) -> Self {
        Self {
            bounds,
            held: Mutex::default(),
        }
    }

    /// Returns the share of one request. It holds nothing yet.
    pub fn share(self: &Arc<Self>, peer: IpAddr) -> BudgetShare {
        BudgetShare {
            budget: Arc::clone(self),
            peer: network::owner(peer),
            connection: None,
            bytes: 0,
        }
    }

    fn held(&self) -> MutexGuard<'_, BytesInFlight> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the configured bytes, but room for at least one of the largest. 0 stands for what
/// the memory allows.
fn configured(mebibytes: usize, largest: usize) -> usize {
    match mebibytes {
        0 => from_memory(memory::may_use(), largest),
        mebibytes => (mebibytes << 20).max(largest),
    }
}

fn share(all: usize, percent: usize, largest: usize) -> usize {
    (all / 100 * percent).clamp(largest, all)
}

/// Returns the bytes that the memory allows. A delivery is in memory several times on its way:
/// as it came, masked, in its plugin as text and as what the plugin reads of it, and as the
/// store's parameters. So is an answer: as the store returns it, assembled, and compressed.
fn from_memory(bytes: Option<u64>, largest: usize) -> usize {
    let share = bytes.map_or(u64::MAX, |bytes| bytes / limits::MEMORY_PER_BODY_BYTE);
    usize::try_from(share)
        .unwrap_or(usize::MAX)
        .clamp(2 * largest, limits::BODY_BYTES_IN_FLIGHT)
}

/// The part of the budget that one request holds, until it is dropped.
pub struct BudgetShare {
    budget: Arc<ByteBudget>,
    peer: IpAddr,
    connection: Option<ConnectionId>,
    bytes: usize,
}

impl BudgetShare {
    /// Counts what it holds from now on for this connection too.
    pub fn goes_to(&mut self, connection: &ConnectionId) {
        debug_assert_eq!(self.bytes, 0);
        self.connection = Some(connection.clone());
    }

    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Takes room for an answer until the returned bytes are dropped.
    pub fn keep(mut self, answer: Bytes) -> Result<Bytes, Short> {
        self.take_for_answer(answer.len())?;
        Ok(Bytes::from_owner(BudgetedAnswer {
            answer,
            _share: self,
        }))
    }

    /// Takes room for an answer. An answer that is larger than the share of its address takes
    /// all of that share.
    pub fn take_for_answer(&mut self, bytes: usize) -> Result<(), Short> {
        self.take(bytes.min(self.budget.bounds.peer))
    }

    pub fn take(&mut self, bytes: usize) -> Result<(), Short> {
        let BudgetBounds {
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

struct BudgetedAnswer {
    answer: Bytes,
    _share: BudgetShare,
}

impl AsRef<[u8]> for BudgetedAnswer {
    fn as_ref(&self) -> &[u8] {
        &self.answer
    }
}

impl Drop for BudgetShare {
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

/// Gives bytes back. A key that holds nothing is forgotten.
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
    fn a_client_past_its_share_is_refused_before_others() {
        let budget = Arc::new(ByteBudget::new(BudgetBounds {
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
    fn an_answer_takes_room_until_it_is_sent() {
        let budget = Arc::new(ByteBudget::new(BudgetBounds {
            all: 10,
            peer: 6,
            connection: 10,
        }));
        let keep = |peer, bytes: usize| budget.share(at(peer)).keep(vec![0; bytes].into());
        // However large: it would never fit otherwise.
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
    fn the_budget_is_a_part_of_the_available_memory() {
        assert_eq!(
            from_memory(Some(256 << 20), limits::DELIVERY_BYTES),
            16 << 20
        );
        assert_eq!(from_memory(Some(1 << 30), limits::DELIVERY_BYTES), 64 << 20);
        assert_eq!(
            from_memory(Some(64 << 30), limits::DELIVERY_BYTES),
            limits::BODY_BYTES_IN_FLIGHT
        );
        assert_eq!(
            from_memory(Some(1 << 20), limits::DELIVERY_BYTES),
            2 * limits::DELIVERY_BYTES
        );
        assert_eq!(
            from_memory(None, limits::DELIVERY_BYTES),
            limits::BODY_BYTES_IN_FLIGHT
        );
    }
}
