//! `leadhost owner add`. The e-mail address identifies an owner.

use clap::Args;
use serde_json::json;

use super::Of;
use crate::cli::client::Reach;
use crate::cli::failure::Failure;
use crate::cli::output::say;
use crate::cli::table::{cell, safe};

#[derive(Args)]
pub struct Add {
    /// The e-mail address by which partners and the desk name the owner
    email: String,
    /// The owner's name
    #[arg(long)]
    name: String,
    #[command(flatten)]
    of: Of,
    #[command(flatten)]
    reach: Reach,
}

impl Add {
    pub async fn run(self) -> Result<(), Failure> {
        let client = self.reach.client()?;
        let list = json!([{ "email": self.email, "name": self.name }]);
        let answer: crate::cli::client::Answer<serde_json::Value> =
            client.put(&self.of.path(), &list).await?;
        client.print(&answer, |answer| {
            let change = &answer["changes"][0];
            say(&match change["what"].as_str() {
                Some("created") => format!("Added {}.", safe(&cell(&change["name"]))),
                Some(_) => format!("Renamed {}.", safe(&cell(&change["name"]))),
                None => "No change.".to_owned(),
            });
        });
        Ok(())
    }
}
