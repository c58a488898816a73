//! Decides in memory what a batch of writes changes: no SQL, no IO.
//!
//! A store loads the rows that the writes touch ([`read_set()`] lists them), lets [`all`]
//! decide one write after another, and saves the changes. So all stores decide in the
//! same way, two writes of one batch see each other, and a batch costs a few statements
//! however many leads it has.

mod accept;
mod admission;
mod claimed;
mod conversation;
pub mod cubes;
mod deadlines;
mod deal;
mod dialogue;
mod diff;
mod earlier;
mod event;
mod failure_report;
mod idempotency;
mod inbound;
mod items;
mod lead;
mod notify;
mod parting;
mod people;
mod prelude;
mod preview;
mod progress;
mod quarantine;
mod read_set;
mod receipt;
mod references;
mod related_rows;
mod repair;
pub mod rollup;
#[cfg(test)]
mod sample;
mod sent;
mod settle;
mod status;
mod ticket;
mod ties;
mod undo;
mod working_set;

pub use dialogue::{Dialogue, NewHold, ReferenceKey, SendState, TemplateState};
pub use quarantine::{Quarantine, Quarantined};
pub use read_set::{Arriving, ItemPlaces, MessageReport, ReadSet, read_set};
pub use working_set::{
    ClaimKey, ExternalId, NewHistory, NewLog, NewRepairChange, Others, SettledAnswer, Talk,
    UndoneChange, WorkingSet,
};

pub use super::fed::{
    ContactRecord, ConversationRecord, DealRecord, MessageErrorRecord, MessageRecord, TicketRecord,
};
pub use super::schema::{
    Claim, DeliveryRecord, FetchRecord, IdempotencyRecord, ItemRecord, Reference, SendRecord,
};
use super::{StoreError, Write, WriteOutcome};

/// Decides every write in order. The outcomes are in the same order.
pub fn all(set: &mut WorkingSet, writes: &[Write]) -> Result<Vec<WriteOutcome>, StoreError> {
    writes
        .iter()
        .enumerate()
        .map(|(at, write)| match write {
            Write::Accept(acceptance) => accept::first(set, at, acceptance),
            Write::Convert(reconversion) => accept::again(set, reconversion),
            Write::Release { delivery, lease } => Ok(accept::release(set, *delivery, *lease)),
            Write::Renew {
                delivery,
                lease,
                until,
            } => Ok(accept::renew(set, *delivery, *lease, *until)),
            Write::Answer(answer) => settle::answer(set, answer),
            Write::Settle(settlement) => settle::settle(set, settlement),
            Write::Notify(new) => Ok(WriteOutcome::Notified(notify::notify(set, new))),
            Write::Remember(new) => Ok(idempotency::remember(set, new)),
            Write::Begin(start) => Ok(sent::begin(set, start)),
            Write::Sent(settlement) => Ok(sent::settle(set, settlement)),
            Write::Resolve(resolution) => Ok(sent::resolve(set, resolution)),
            Write::Elapse(elapse) => Ok(deadlines::elapse(set, elapse)),
            Write::PatchDeal(patch) => Ok(WriteOutcome::DealPatched(deal::patch(set, patch))),
            Write::CreateDeal(new) => Ok(WriteOutcome::DealCreated(deal::create(set, new))),
            Write::LogDeal(new) => Ok(WriteOutcome::DealLogged(deal::log(set, new))),
            Write::PatchTicket(patch) => Ok(WriteOutcome::TicketPatched(ticket::patch(set, patch))),
            Write::PartContact(part) => Ok(parting::decide(set, part)),
            Write::UndoRepair(undo) => Ok(undo::changes(set, undo)),
        })
        .collect()
}
