//! One batch, one transaction: lock and load what the writes touch, decide in memory, save
//! what came of it, stamp, commit.

pub mod load;
pub mod save;
