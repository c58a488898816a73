//! Who computes next. Calls into plugins, and the host's own work on what they
//! gave, run as fibers in slices of a millisecond on threads of their own.
//!
//! Each lane (a connection) has a virtual time that grows with the processor
//! time it used; the lane that used least is next. So a lane gets its share and
//! no more, however it spends it, and whoever just comes waits for one slice at
//! most. A plugin's digest pays, in every lane, for what its calls take beyond
//! what is ordinary.
//!
//! A call is quick until it has used [`QUICK_CALL`](crate::limits::QUICK_CALL):
//! that far it runs on threads with the priority of those that serve. Past that,
//! and from the start in a lane whose calls are slow on average, it runs on
//! threads that weigh less for the operating system and give the processor up to
//! those that serve. What cannot be cut into slices there (a filling of a large
//! memory, an answer of many mebibytes) holds up nobody either.

mod aside;
mod queue;
mod threads;

pub use self::aside::{aside, drop_aside, stand_back};
pub use self::queue::{Bounds, Refused};
pub use self::threads::{Evicted, Threads, Work, give_way, processor_time_of_slice};
