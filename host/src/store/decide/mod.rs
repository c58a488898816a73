//! What a batch of writes changes, worked out in memory: no SQL, no IO.
//!
//! A store loads what the writes touch ([`needs()`] says what that is), lets
//! [`all`] decide write after write, and saves what changed. So every store
//! decides alike, two writes of one batch see each other, and a batch costs a
//! few statements however many leads it holds.

mod accept;
mod diff;
mod known;
mod lead;
mod needs;
mod settle;

pub use known::{
    Answer, Change, Claim, ClaimKey, Contact, Deal, Delivery, Fetch, Item, Known, QuarantineUse,
};
pub use needs::{Needs, needs};

use super::{StoreError, Write, Written};

/// Decides every write in order; the answers are in the same order.
pub fn all(known: &mut Known, writes: &[Write]) -> Result<Vec<Written>, StoreError> {
    writes
        .iter()
        .enumerate()
        .map(|(at, write)| match write {
            Write::Accept(acceptance) => accept::first(known, at, acceptance),
            Write::Convert(reconversion) => accept::again(known, reconversion),
            Write::Release { delivery, lease } => Ok(accept::release(known, *delivery, *lease)),
            Write::Answer(answer) => settle::answer(known, answer),
            Write::Settle(settlement) => settle::settle(known, settlement),
        })
        .collect()
}
