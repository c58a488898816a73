//! Doubles of the far ends that leads come from.

pub mod graph;
