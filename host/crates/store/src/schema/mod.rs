//! The description of every table: its columns with their kinds, its key, its feed. The statements
//! that all tables have in common, which insert, change and remove rows, are generated from it.
//! `tables.rs` lists all of them.

mod declared;
pub mod described;
mod feeds;
mod leads;
mod messages;
mod rollups;
pub mod table;
mod tables;

pub use declared::*;
pub use feeds::*;
pub use leads::*;
pub use messages::*;
pub use rollups::*;
pub use tables::*;
