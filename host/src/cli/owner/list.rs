//! `leadhost owner list`.

use clap::Args;
use serde_json::Value;

use super::Of;
use crate::cli::client::Reach;
use crate::cli::failure::Failure;
use crate::cli::output::say;
use crate::cli::table::{cell, table};

#[derive(Args)]
pub struct List {
    #[command(flatten)]
    of: Of,
    #[command(flatten)]
    reach: Reach,
}

impl List {
    pub async fn run(self) -> Result<(), Failure> {
        let client = self.reach.client()?;
        let answer = client.get(&self.of.path()).await?;
        client.print(&answer, show);
        Ok(())
    }
}

fn show(answer: &Value) {
    let rows: Vec<Vec<String>> = answer["owners"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|owner| {
            vec![
                cell(&owner["email"]),
                cell(&owner["name"]),
                cell(&owner["id"]),
            ]
        })
        .collect();
    say(&table(&["E-MAIL", "NAME", "ID"], &rows));
}
