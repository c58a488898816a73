//! Eviction from a full quarantine: the address with the largest share loses its oldest
//! deliveries until the new one fits. So each address has a fair share, and the newest
//! deliveries of each address stay. Junk from one sender does not push out the lead of
//! another, whichever came first.

use crate::decide::prelude::*;
use std::collections::VecDeque;
use std::net::IpAddr;

/// The fixed cost of a delivery, in bytes. It makes a share that is full by count weigh
/// as much as one that is full by bytes: many small deliveries weigh as much as a few
/// large ones.
const FIXED_COST: u64 =
    limits::QUARANTINED_BYTES_PER_CONNECTION / limits::QUARANTINED_PER_CONNECTION;

#[derive(Clone, Copy, Debug)]
pub struct Quarantined {
    pub id: DeliveryId,
    pub bytes: u64,
    /// The owner of the sender's network. Deliveries that were stored before addresses
    /// were recorded have `None`, and share one part.
    pub peer: Option<IpAddr>,
    /// It has or had a lease. Even after the lease has expired, its holder may still
    /// commit. It counts, and is not evicted.
    pub leased: bool,
}

impl Quarantined {
    fn cost(&self) -> u64 {
        self.bytes.saturating_add(FIXED_COST)
    }
}

#[derive(Debug, Default)]
pub struct Quarantine {
    count: u64,
    bytes: u64,
    /// Ordered, so that every store picks the same one of two equally large shares.
    shares: BTreeMap<Option<IpAddr>, Share>,
}

#[derive(Debug, Default)]
struct Share {
    /// The cost of all its deliveries, including leased ones.
    cost: u64,
    /// The deliveries that may be evicted, oldest first.
    free: VecDeque<Quarantined>,
}

impl Quarantine {
    /// Adds a delivery. Deliveries must be added from the oldest to the newest.
    pub fn add(&mut self, delivery: Quarantined) {
        self.count += 1;
        self.bytes = self.bytes.saturating_add(delivery.bytes);
        let share = self.shares.entry(delivery.peer).or_default();
        share.cost = share.cost.saturating_add(delivery.cost());
        if !delivery.leased {
            share.free.push_back(delivery);
        }
    }

    /// Evicts deliveries until the new one fits. `None`: it cannot fit, and nothing was
    /// evicted.
    pub(super) fn make_room(&mut self, new: &Quarantined) -> Option<Vec<Quarantined>> {
        if new.bytes > limits::QUARANTINED_BYTES_PER_CONNECTION {
            return None;
        }
        let mut evicted = Vec::new();
        while self.count >= limits::QUARANTINED_PER_CONNECTION
            || self.bytes.saturating_add(new.bytes) > limits::QUARANTINED_BYTES_PER_CONNECTION
        {
            let Some(oldest) = self.evict(new) else {
                for delivery in evicted.into_iter().rev() {
                    self.put_back(delivery);
                }
                return None;
            };
            evicted.push(oldest);
        }
        Some(evicted)
    }

    /// Evicts the oldest delivery of the largest share. The share of the new delivery
    /// includes that delivery, and comes first among equals: if its address has no older
    /// delivery, the new one itself has to go.
    fn evict(&mut self, new: &Quarantined) -> Option<Quarantined> {
        let own = self.shares.get(&new.peer).map_or(0, |share| share.cost) + new.cost();
        let largest = self
            .shares
            .iter()
            .filter(|(peer, share)| **peer != new.peer && !share.free.is_empty())
            .max_by_key(|(_, share)| share.cost)
            .filter(|(_, share)| share.cost > own)
            .map_or(new.peer, |(peer, _)| *peer);
        let share = self.shares.get_mut(&largest)?;
        let oldest = share.free.pop_front()?;
        share.cost -= oldest.cost();
        self.count -= 1;
        self.bytes -= oldest.bytes;
        Some(oldest)
    }

    fn put_back(&mut self, delivery: Quarantined) {
        self.count += 1;
        self.bytes += delivery.bytes;
        let share = self.shares.entry(delivery.peer).or_default();
        share.cost += delivery.cost();
        share.free.push_front(delivery);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use leadhost_domain::id::uuid_at;

    const MIB: u64 = 1 << 20;
    const COUNT: u64 = limits::QUARANTINED_PER_CONNECTION;

    fn quarantined(address: u8, bytes: u64) -> Quarantined {
        Quarantined {
            id: DeliveryId(uuid_at(Micros(0))),
            bytes,
            peer: Some(IpAddr::from([192, 0, 2, address])),
            leased: false,
        }
    }

    fn filled(deliveries: impl IntoIterator<Item = Quarantined>) -> Quarantine {
        let mut quarantine = Quarantine::default();
        for delivery in deliveries {
            quarantine.add(delivery);
        }
        quarantine
    }

    /// Returns the ids of the evicted deliveries. `None`: the new delivery is refused.
    fn leave(quarantine: &mut Quarantine, new: Quarantined) -> Option<Vec<DeliveryId>> {
        let evicted = quarantine.make_room(&new)?;
        quarantine.add(new);
        Some(evicted.iter().map(|delivery| delivery.id).collect())
    }

    #[test]
    fn the_address_with_the_largest_share_loses_its_oldest_delivery() {
        let lead = quarantined(1, 300);
        let junk: Vec<_> = (1..COUNT).map(|_| quarantined(2, 10)).collect();
        let mut quarantine = filled([lead].into_iter().chain(junk.clone()));
        assert_eq!(
            leave(&mut quarantine, quarantined(2, 10)),
            Some(vec![junk[0].id])
        );
        assert_eq!(
            leave(&mut quarantine, quarantined(3, 300)),
            Some(vec![junk[1].id])
        );
        assert_eq!(
            leave(&mut quarantine, quarantined(1, 300)),
            Some(vec![junk[2].id])
        );
    }

    #[test]
    fn shares_are_compared_as_fractions_of_the_bounds_on_bytes_and_count() {
        // Half of the count weighs more than a quarter of the bytes.
        let small: Vec<_> = (0..COUNT / 2).map(|_| quarantined(1, 1)).collect();
        let large: Vec<_> = (0..4).map(|_| quarantined(2, 4 * MIB)).collect();
        let more: Vec<_> = (0..12).map(|_| quarantined(3, 4 * MIB - 1_000)).collect();
        let all = small.iter().chain(&large).chain(&more).copied();
        let mut quarantine = filled(all);
        let gone = leave(&mut quarantine, quarantined(4, 1_000_000));
        assert_eq!(gone, Some(vec![more[0].id]));
    }

    #[test]
    fn addresses_get_equal_shares_and_at_a_tie_the_new_delivery_evicts_of_its_own_address() {
        let first: Vec<_> = (0..COUNT).map(|_| quarantined(1, 0)).collect();
        let mut quarantine = filled(first.clone());
        let second: Vec<_> = (0..COUNT / 2).map(|_| quarantined(2, 0)).collect();
        for (new, old) in second.iter().zip(&first) {
            assert_eq!(leave(&mut quarantine, *new), Some(vec![old.id]));
        }
        let gone = leave(&mut quarantine, quarantined(2, 0));
        assert_eq!(gone, Some(vec![second[0].id]));
    }

    #[test]
    fn a_delivery_that_alone_is_the_largest_share_is_refused_and_evicts_nothing() {
        let mut quarantine = filled((0..16).map(|address| quarantined(address, 4 * MIB)));
        assert_eq!(leave(&mut quarantine, quarantined(16, 4 * MIB)), None);
        assert_eq!((quarantine.count, quarantine.bytes), (16, 64 * MIB));
        let mut own = quarantined(16, 1);
        own.leased = true;
        let mut quarantine = filled(
            (0..15)
                .map(|address| quarantined(address, 4 * MIB))
                .chain([own]),
        );
        // Older ones of its own address would go, but the leased one stays.
        quarantine.add(quarantined(16, 4 * MIB - 1));
        let before = quarantine.bytes;
        assert_eq!(leave(&mut quarantine, quarantined(16, 8 * MIB)), None);
        assert_eq!((quarantine.count, quarantine.bytes), (17, before));
        assert_eq!(leave(&mut quarantine, quarantined(17, 64 * MIB + 1)), None);
    }

    #[test]
    fn a_leased_delivery_counts_and_stays() {
        let mut junk: Vec<_> = (0..COUNT).map(|_| quarantined(1, 10)).collect();
        junk[0].leased = true;
        let mut quarantine = filled(junk.clone());
        assert_eq!(
            leave(&mut quarantine, quarantined(2, 10)),
            Some(vec![junk[1].id])
        );
        let all = junk.iter_mut().map(|delivery| {
            delivery.leased = true;
            *delivery
        });
        assert_eq!(leave(&mut filled(all), quarantined(2, 10)), None);
    }

    #[test]
    fn a_large_delivery_evicts_as_many_small_ones_as_it_needs() {
        let junk: Vec<_> = (0..900).map(|_| quarantined(1, 74_000)).collect();
        let mut quarantine = filled(junk.clone());
        let gone = leave(&mut quarantine, quarantined(2, 4 * MIB)).expect("it fits");
        let needed = junk.len() - gone.len();
        assert!(needed * 74_000 <= 60 * MIB as usize);
        assert!((needed + 1) * 74_000 > 60 * MIB as usize);
        assert_eq!(gone[0], junk[0].id);
    }
}
