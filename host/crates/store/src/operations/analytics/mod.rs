//! Rollups: see `store::analytics` for what they are. A file for each part of the work.
//!
//! A step reads from one snapshot, which locks nothing, and writes in a transaction of its own. A
//! transaction that writes to a build first locks the rows of all builds of its workspace and set,
//! in the order of their numbers, and nothing that a batch of leads locks. Therefore no batch waits
//! for a step, and hosts do not deadlock. Every change to a table of a build increments its `step`,
//! so a writer that has read an older `step` notices that another one was faster.

pub mod builds;
pub mod cells;
pub mod cubes;
pub mod remove;
pub mod run;
pub mod status;
pub mod step;
