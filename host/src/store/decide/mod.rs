//! Decides in memory what a batch of writes changes: no SQL, no IO.
//!
//! A store loads the rows that the writes touch ([`read_set()`] lists them), lets [`all`]
//! decide one write after another, and saves the changes. So all stores decide in the
//! same way, two writes of one batch see each other, and a batch costs a few statements
//! however many leads it has.

mod accept;
mod conversation;
pub mod cubes;
mod deal;
mod dialogue;
mod diff;
mod event;
mod follow;
mod idempotency;
mod inbound;
mod known;
mod lead;
mod notify;
mod people;
mod quarantine;
mod read_set;
mod references;
pub mod rollup;
#[cfg(test)]
mod sample;
mod sent;
mod settle;
mod status;
mod ticket;

pub use dialogue::{
    Dialogue, NewHold, Reference, ReferenceKey, Remembered, Send, SendState, TemplateState,
};
pub use known::{
    Answer, Change, Claim, ClaimKey, Delivery, Fetch, Item, Known, NewHistory, NewLog, Others,
};
pub use quarantine::{Quarantine, Quarantined};
pub use read_set::{Arriving, Places, ReadSet, Told, read_set};

pub use super::fed::{Contact, Conversation, Deal, Message, MessageError, Ticket};
use super::{StoreError, Write, Written};

/// Decides every write in order. The outcomes are in the same order.
///
/// # Errors
///
/// `Inconsistent` if the loaded rows or the writes contradict each other: a defect.
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
            Write::Notify(new) => Ok(Written::Notified(notify::notify(known, new))),
            Write::Remember(new) => Ok(idempotency::remember(known, new)),
            Write::Begin(start) => Ok(sent::begin(known, start)),
            Write::Sent(settlement) => Ok(sent::settle(known, settlement)),
            Write::Resolve(resolution) => Ok(sent::resolve(known, resolution)),
            Write::Elapse(elapse) => Ok(conversation::elapse(known, elapse)),
            Write::PatchDeal(patch) => Ok(Written::DealPatched(deal::patch(known, patch))),
            Write::CreateDeal(new) => Ok(Written::DealCreated(deal::create(known, new))),
            Write::LogDeal(new) => Ok(Written::DealLogged(deal::log(known, new))),
            Write::PatchTicket(patch) => Ok(Written::TicketPatched(ticket::patch(known, patch))),
        })
        .collect()
}
