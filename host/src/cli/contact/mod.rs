//! `leadhost contact`. `erase.rs` has the erasure.

mod erase;

use clap::{Args, Subcommand};

use crate::cli::client::{ServiceAddress, query};
use crate::cli::failure::CommandFailure;
use crate::cli::output::say;
use crate::cli::page::{PageFlags, show_next_page};
use crate::cli::table::{seconds, table};
use leadhost_admin_api::contacts::{Erasures as Listed, Remaining};

#[derive(Subcommand)]
pub enum ContactCommand {
    /// Remove a person and all data about the person permanently
    Erase(erase::EraseContact),
    /// List erasures, newest first
    Erasures(ListErasures),
}

impl ContactCommand {
    /// Runs the subcommand.
    pub async fn run(self) -> Result<(), CommandFailure> {
        match self {
            Self::Erase(command) => command.run().await,
            Self::Erasures(command) => command.run().await,
        }
    }
}

#[derive(Args)]
pub struct ListErasures {
    /// Only erasures of this workspace
    #[arg(long, value_name = "SLUG")]
    workspace: Option<String>,
    #[command(flatten)]
    page: PageFlags,
    #[command(flatten)]
    service: ServiceAddress,
}

impl ListErasures {
    /// Prints a page of erasures. They contain no personal data.
    pub async fn run(self) -> Result<(), CommandFailure> {
        let client = self.service.client()?;
        let [before, limit] = self.page.fields();
        let fields = [("workspace", self.workspace), before, limit];
        let answer = client
            .get(&format!("/admin/v1/erasures{}", query(&fields)))
            .await?;
        client.print(&answer, show);
        Ok(())
    }
}

fn show(answer: &Listed) {
    let rows: Vec<Vec<String>> = answer
        .erasures
        .iter()
        .map(|erasure| {
            vec![
                seconds(erasure.began_at),
                erasure
                    .done_at
                    .map_or_else(|| "not yet".to_owned(), seconds),
                erasure.contact_id.to_string(),
                erasure.found_by.to_string(),
                erasure.erased.deals.to_string(),
                erasure.erased.messages.to_string(),
                erasure.erased.deliveries.to_string(),
                left(&erasure.remaining),
                erasure.id.to_string(),
            ]
        })
        .collect();
    say(&table(
        &[
            "BEGAN",
            "DONE",
            "CONTACT",
            "FOUND BY",
            "DEALS",
            "MESSAGES",
            "DELIVERIES",
            "REMAINING",
            "ERASURE",
        ],
        &rows,
    ));
    show_next_page(answer.next);
}

/// Returns the number of deliveries that were left and still exist.
fn left(remaining: &Remaining) -> String {
    let named = remaining.deliveries.len() as u64;
    remaining.more_deliveries.saturating_add(named).to_string()
}
