//! `leadhost openapi`: what the gateway and the data API serve, as `/openapi.json`
//! tells it where both are on one address; with `--rows` the schemas of the rows that
//! the data API answers, by their names.

use super::failure::Failure;
use super::output::say;
use crate::http::openapi;
use crate::http::route::Surface;

#[derive(clap::Args)]
pub struct Openapi {
    /// Print the JSON Schemas of rows instead, as one object by their names
    #[arg(long)]
    rows: bool,
}

impl Openapi {
    pub fn run(&self) -> Result<(), Failure> {
        if self.rows {
            let rows = serde_json::Value::Object(openapi::rows());
            say(&rows.to_string());
        } else {
            say(openapi::text(Surface::Both).trim_end());
        }
        Ok(())
    }
}
