//! What most operations use.

pub use super::request::{flag, last_of_full, moment, page_limit, read_json};
pub(crate) use crate::endpoints::prelude::*;
pub use crate::terms::{one_of, word};
