//! Partners change, create and log deals. The deal is stamped once, its history gets a
//! row, and dependent rows follow: a deal that ends closes its conversations, and a deal
//! that is transferred is handed to people.

mod create;
pub mod edit;
mod log;
mod patch;

pub use create::create;
pub use log::log;
pub use patch::patch;
