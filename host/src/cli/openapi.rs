//! `leadhost openapi`: prints the OpenAPI document of the gateway and the data API, as
//! `/openapi.json` serves it when both share one address; with `--admin`, the admin API's document;
//! with `--rows`, the schemas of the rows that the data API returns, by name; with `--digest`, a
//! line with a hash for each of their parts.

use crate::cli::prelude::*;
use leadhost_http::openapi;
use leadhost_http::surface::Surface;

#[derive(clap::Args)]
pub struct Openapi {
    /// Print the JSON Schemas of the data API's rows instead, as one object keyed by name
    #[arg(long)]
    rows: bool,
    /// Print the document of the admin API instead
    #[arg(long, conflicts_with = "rows")]
    admin: bool,
    /// Print a hash of each operation, schema and kind of row of all documents instead
    #[arg(long, conflicts_with_all = ["rows", "admin"])]
    digest: bool,
}

impl Openapi {
    pub fn run(&self) -> CommandResult {
        if self.digest {
            say(openapi::digest().trim_end());
        } else if self.rows {
            let rows = serde_json::Value::Object(openapi::rows());
            say(&rows.to_string());
        } else {
            let surface = if self.admin {
                Surface::Admin
            } else {
                Surface::Both
            };
            say(openapi::text(surface).trim_end());
        }
        Ok(())
    }
}
