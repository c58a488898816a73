//! Tickets as the desk works with them, by an access token: those of its partner's
//! deals and conversations. Any other ticket looks like one that does not exist.

mod list;
mod patch;
pub mod schema;
mod show;
pub mod view;

pub use list::{PARAMETERS, TicketsPage, run as list};
pub use patch::run as patch;
pub use show::run as show;
