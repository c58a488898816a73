use crate::cli::client::encoded;

pub fn path(id: &str) -> String {
    format!("/admin/v1/repairs/{}", encoded(id))
}
