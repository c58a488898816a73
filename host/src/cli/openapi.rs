//! `leadhost openapi`: prints the OpenAPI document of the gateway and the data API, as
//! `/openapi.json` serves it when both share one address; with `--admin`, that of the admin API;
//! with `--rows`, the schemas of the rows that the data API returns, by name.

use super::failure::CommandFailure;
use super::output::say;
use leadhost_http::openapi;
use leadhost_http::route::Surface;

#[derive(clap::Args)]
pub struct Openapi {
    /// Print the JSON Schemas of the data API's rows instead, as one object keyed by name
    #[arg(long)]
    rows: bool,
    /// Print the document of the admin API instead
    #[arg(long, conflicts_with = "rows")]
    admin: bool,
}

impl Openapi {
    /// Prints the document, or the schemas of the rows.
    pub fn run(&self) -> Result<(), CommandFailure> {
        if self.rows {
            let rows = serde_json::Value::Object(openapi::rows());
            say(&rows.to_string());
        } else {
            let surface = match self.admin {
                true => Surface::Admin,
                false => Surface::Both,
            };
            say(openapi::text(surface).trim_end());
        }
        Ok(())
    }
}
