//! Admission: strangers, crowds and clients past their rate take no capacity
//! from others.

mod answers;
mod bodies;
mod crowd;
mod drain;
mod pace;
mod trouble;
