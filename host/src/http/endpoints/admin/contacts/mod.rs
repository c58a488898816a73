//! People: erased when they want to be forgotten, and what is remembered of it.

pub mod erase;
pub mod erasures;
