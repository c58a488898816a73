use crate::cli::prelude::*;

pub fn path(id: &str) -> String {
    format!("/admin/v1/repairs/{}", encoded(id))
}
