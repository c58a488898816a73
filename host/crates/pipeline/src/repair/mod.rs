//! Repairs: replays of all deliveries that a version converted, in the background. Operators begin,
//! cancel and undo them ([`operate`]), and one host at a time works on the one that is open ([`job`]):
//! it replays deliveries ([`replaying`]), gives their leads to the people to whom they belong ([`parting`]),
//! and merges the contacts that lose their last deal ([`merging`]), or undoes changes ([`undoing`]), behind
//! live traffic.
//!
//! The changes of a repair and their receipt are one commit, which has no effect once the repair has
//! ended or another host has taken it. So a repair may be cut off anywhere: the next host continues
//! after the stored cursor, and replaying a delivery once more changes nothing.

mod job;
mod merging;
pub mod operate;
mod parting;
mod pass;
mod replaying;
mod undoing;

pub use job::run;
pub use operate::{RepairError, RepairOrder};

use tokio::sync::Notify;

/// The signal by which an operator's act starts the job at once.
#[derive(Default)]
pub struct Repairs {
    begun: Notify,
}
