//! Who is let in: what strangers, crowds and those who ask too much cannot take
//! from others.

mod answers;
mod bodies;
mod crowd;
mod drain;
mod pace;
mod trouble;
