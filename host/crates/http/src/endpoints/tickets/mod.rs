//! Tickets as the desk works with them, by an access token: the tickets of its partner's deals and
//! conversations. Any other ticket looks like one that does not exist.

pub mod list;
pub mod patch;
pub mod schema;
pub mod show;
pub mod view;
