//! Counts failed keys by the address that they came from. Past a number per minute an address
//! is refused, unless its key is one that the store has accepted, or an admin key. Attempts
//! with other keys then cost the store nothing, and guessing a key takes years longer. A known key continues to
//! work from that address.

use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};

use crate::prelude::*;
use leadhost_domain::network;

const MINUTE: Duration = Duration::from_mins(1);

pub struct AuthFailures {
    /// 0: there is no bound.
    most: u32,
    minute: Mutex<Minute>,
}

#[derive(Default)]
struct Minute {
    since: Micros,
    of: HashMap<FailedPeer, u32>,
}

/// An address, and whether it uses the admin surface: clients behind a proxy on this machine do
/// not lock operators out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FailedPeer {
    address: IpAddr,
    is_admin: bool,
}

impl FailedPeer {
    /// Returns the party that failures are counted for: the owner of the address, on the admin
    /// surface or on the others.
    pub fn new(peer: IpAddr, surface: Surface) -> Self {
        Self {
            address: network::owner(peer),
            is_admin: surface == Surface::Admin,
        }
    }
}

impl AuthFailures {
    /// Returns an empty count. From `most` failures within a minute an address is refused; with
    /// 0 none is.
    pub fn new(most: u32) -> Self {
        Self {
            most,
            minute: Mutex::default(),
        }
    }

    /// Counts a failure. If too many addresses are counted already, a new one is not.
    pub fn note(&self, who: FailedPeer, now: Micros) {
        let mut minute = self.minute.lock().unwrap_or_else(PoisonError::into_inner);
        // If the clock went backwards, the count starts over too.
        if !minute.since.is_recent(now, MINUTE) {
            minute.since = now;
            minute.of.clear();
        }
        let has_room = minute.of.len() < limits::PEERS_COUNTED;
        if let Some(failures) = minute.of.get_mut(&who) {
            *failures = failures.saturating_add(1);
        } else if has_room {
            minute.of.insert(who, 1);
        }
    }

    /// Returns the time until this address may try again, at least a second, if it failed too often.
    pub fn refused(&self, who: FailedPeer, now: Micros) -> Option<Duration> {
        if self.most == 0 {
            return None;
        }
        let minute = self.minute.lock().unwrap_or_else(PoisonError::into_inner);
        let counts = minute.since.is_recent(now, MINUTE);
        let failures = minute.of.get(&who).filter(|_| counts)?;
        let left = MINUTE.saturating_sub(now.since(minute.since));
        (*failures >= self.most).then(|| left.max(Duration::from_secs(1)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn who(number: u32) -> FailedPeer {
        FailedPeer::new(IpAddr::from(number.to_be_bytes()), Surface::Gateway)
    }

    #[test]
    fn an_address_that_failed_too_often_waits_for_the_next_minute() {
        let failures = AuthFailures::new(2);
        let start = Micros(0).plus(Duration::from_hours(1));
        failures.note(who(1), start);
        assert_eq!(failures.refused(who(1), start), None);
        failures.note(who(1), start);
        assert_eq!(failures.refused(who(1), start), Some(MINUTE));
        let operator = FailedPeer::new(IpAddr::from(1_u32.to_be_bytes()), Surface::Admin);
        assert_eq!(failures.refused(operator, start), None);
        assert_eq!(failures.refused(who(2), start), None);
        let passed = Duration::from_secs(20);
        let left = failures.refused(who(1), start.plus(passed));
        assert_eq!(left, Some(MINUTE - passed));
        let later = start.plus(MINUTE);
        assert_eq!(failures.refused(who(1), later), None);
        assert_eq!(failures.refused(who(1), Micros(0)), None);
        failures.note(who(1), later);
        assert_eq!(failures.refused(who(1), later), None, "it starts over");
    }

    #[test]
    fn the_counted_addresses_stay_bounded() {
        let failures = AuthFailures::new(1);
        for number in 0..=u32::try_from(limits::PEERS_COUNTED).expect("few") {
            failures.note(who(number), Micros(1));
        }
        let minute = failures.minute.lock().expect("not poisoned");
        assert_eq!(minute.of.len(), limits::PEERS_COUNTED);
    }

    #[test]
    fn without_a_bound_no_address_is_refused() {
        let failures = AuthFailures::new(0);
        failures.note(who(1), Micros(1));
        assert_eq!(failures.refused(who(1), Micros(1)), None);
    }
}
