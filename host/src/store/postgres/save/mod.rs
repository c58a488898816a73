//! Saves what a batch made and changed, all but what carries a stamp (`stamp`).
//! Rows travel as one array a column. What is new comes first, since it may meet
//! what another host has just made; then what was locked by `load` is changed.

pub mod changes;
pub mod new;
pub mod queue;
mod rows;

pub use changes::changes;
pub use new::{Trace, new};
