use std::fmt::Display;

use super::output::is_closed;
use crate::cli::prelude::*;

#[derive(Args, Serialize)]
pub struct PageFlags {
    /// Only rows older than this one: for the next page
    #[arg(long, value_name = "ID")]
    before: Option<String>,
    /// Rows to list, at least 1; the service caps the size of a page
    #[arg(long, default_value_t = limits::ROWS_PER_PAGE, value_parser = clap::value_parser!(u32).range(1..))]
    pub limit: u32,
}

/// Prints the argument for the next page if there is one, to standard error so that pipes stay clean.
pub fn show_next_page(next: Option<impl Display>) {
    if let Some(next) = next
        && !is_closed()
    {
        complain!("More rows: --before {next}");
    }
}
