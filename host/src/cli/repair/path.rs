//! The address of a repair in the admin API.

use crate::cli::client::encoded;

/// Returns the path of a repair.
pub fn path(id: &str) -> String {
    format!("/admin/v1/repairs/{}", encoded(id))
}
