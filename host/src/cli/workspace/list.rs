//! `leadhost workspace list`.

use clap::Args;
use serde_json::Value;

use crate::cli::client::Reach;
use crate::cli::failure::Failure;
use crate::cli::output::say;
use crate::cli::table::{cell, table};

#[derive(Args)]
pub struct List {
    #[command(flatten)]
    reach: Reach,
}

impl List {
    pub async fn run(self) -> Result<(), Failure> {
        let client = self.reach.client()?;
        let answer = client.get("/admin/v1/workspaces").await?;
        client.print(&answer, show);
        Ok(())
    }
}

fn show(answer: &Value) {
    let rows: Vec<Vec<String>> = answer["workspaces"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|workspace| {
            vec![
                cell(&workspace["slug"]),
                cell(&workspace["name"]),
                cell(&workspace["region"]),
                cell(&workspace["timeZone"]),
                cell(&workspace["rateLimit"]),
                cell(&workspace["id"]),
            ]
        })
        .collect();
    say(&table(
        &[
            "SLUG",
            "NAME",
            "REGION",
            "TIME ZONE",
            "REQUESTS A MINUTE",
            "ID",
        ],
        &rows,
    ));
}
