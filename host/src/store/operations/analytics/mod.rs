//! Rollups: see `store::analytics` for what they are. A file for each part of the work.
//!
//! A step reads from one snapshot, which locks nothing, and writes in a transaction of
//! its own. Whoever writes to a build has locked the rows of all builds of its workspace
//! and set first, in the order of their numbers, and nothing that a batch of leads takes:
//! no batch waits for a step, and no two hosts wait for each other in a circle. Each table
//! of a build changes together with its `step`, by which whoever has read it before sees
//! that somebody was quicker.

pub mod builds;
pub mod cells;
pub mod clear;
pub mod cubes;
pub mod run;
pub mod status;
pub mod step;
