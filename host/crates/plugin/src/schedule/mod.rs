//! The scheduler of plugin work. Calls into plugins, and the host's own work on their
//! results, run as fibers in slices of a millisecond on threads of their own.
//!
//! Each lane (a connection) has a virtual time that grows with the processor time that it
//! used; the lane with the least virtual time is next. So a lane gets its share and no
//! more, however it uses it, and a new lane waits for one slice at most. The digest of a
//! plugin is charged, in every lane, for the time of its calls beyond the ordinary.
//!
//! A call is quick until it has used [`QUICK_CALL`](leadhost_domain::limits::QUICK_CALL): until then
//! it runs on threads with the priority of those that serve requests. After that, and from
//! the start in a lane whose calls are slow on average, it runs on threads with less weight
//! for the operating system, which yield the processor to those that serve requests. So
//! work that cannot be cut into slices (filling a large memory, an answer of many
//! mebibytes) does not delay requests either.

mod background;
mod queue;
mod threads;

pub use self::background::{drop_in_background, in_background, lower_priority};
pub use self::queue::{QueueBounds, SubmitError};
pub use self::threads::{Evicted, PluginTask, PluginThreads, give_way, processor_time_of_slice};
