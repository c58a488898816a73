//! Lists that come in pages, newest first: which page is asked for, and how to
//! ask for the next.

use clap::Args;
use serde_json::Value;

use super::output::complain;

#[derive(Args)]
pub struct Page {
    /// Only those older than this one: for the next page
    #[arg(long, value_name = "ID")]
    before: Option<String>,
    /// How many, from 1 on; the service gives as many as a page has at most
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..))]
    limit: u32,
}

impl Page {
    /// As fields of the query.
    pub fn fields(self) -> [(&'static str, Option<String>); 2] {
        [
            ("before", self.before),
            ("limit", Some(self.limit.to_string())),
        ]
    }
}

/// Says how to ask for the rest, beside what may be piped elsewhere.
pub fn tell_of_more(answer: &Value) {
    if let Some(next) = answer["next"].as_str() {
        complain(&format!("There are more: --before {next}"));
    }
}
