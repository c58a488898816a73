//! Deals as partners work with them. A partner's deals are those that came through its
//! connections and those that it created. Any other deal looks to it like one that does not
//! exist.

mod create;
mod find;
pub mod id;
mod log;
mod logs;
mod patch;
pub mod schema;
mod show;

pub use create::{DealCreateAnswer, run as create};
pub use find::{PARAMETERS, run as find};
pub use log::{DealLogAnswer, run as log};
pub use logs::{DealLogsPage, PARAMETERS as LOG_PARAMETERS, run as logs};
pub use patch::{DealPatchAnswer, run as patch};
pub use show::run as show;
