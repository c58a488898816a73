//! `leadhost repair`: replays of all deliveries that a version converted. `leadhost delivery replay
//! --converted-by` starts one.

mod follow;
pub mod path;
mod receipt;

use clap::{Args, Subcommand};
use serde_json::json;

use self::path::path;
use crate::cli::client::{AdminAnswer, AdminClient, ServiceAddress, query};
use crate::cli::failure::CommandFailure;
use crate::cli::output::{complain, say};
use crate::cli::page::{PageFlags, show_next_page};
use crate::cli::table::{cell, optional, safe, seconds, table};
use leadhost_admin_api::repairs::{
    RepairChanges, RepairFacts, RepairList, RepairRequest, RepairView,
};
use leadhost_domain::limits;
use leadhost_domain::repair::RepairState;

#[derive(Subcommand)]
pub enum RepairCommand {
    /// List repairs, newest first
    List(ListRepairs),
    /// Show how far a repair is and the sum of its receipt, or each change
    Show(ShowRepair),
    /// End a running repair or an undo; its changes are kept
    Cancel(CancelRepair),
    /// Undo a repair that has ended; fields that were changed since stay
    Undo(UndoRepair),
}

impl RepairCommand {
    /// Runs the subcommand.
    pub async fn run(self) -> Result<(), CommandFailure> {
        match self {
            Self::List(command) => command.run().await,
            Self::Show(command) => command.run().await,
            Self::Cancel(command) => command.run().await,
            Self::Undo(command) => command.run().await,
        }
    }
}

/// Starts a repair and, unless detached, follows it to its end.
pub async fn start(
    client: &AdminClient,
    request: &RepairRequest,
    detach: bool,
) -> Result<(), CommandFailure> {
    let begun = client.post("/admin/v1/repairs", request).await?;
    followed(client, begun, detach, RepairState::Done).await
}

/// Prints a repair when it has ended, or as it is if it is not followed. It fails if the repair
/// has come into another state than this one.
async fn followed(
    client: &AdminClient,
    begun: AdminAnswer<RepairView>,
    detach: bool,
    expect: RepairState,
) -> Result<(), CommandFailure> {
    let repair = match detach {
        true => begun,
        false => follow::to_its_end(client, begun).await?,
    };
    client.print(&repair, |repair| receipt::show(repair, client.flags()));
    let facts = &repair.facts;
    if detach || facts.state == expect {
        return Ok(());
    }
    let why = optional(facts.why.as_ref());
    let state = facts.state;
    Err(CommandFailure::new(safe(&format!(
        "repair {} is {state}: {why}",
        facts.id
    ))))
}

#[derive(Args)]
pub struct ListRepairs {
    #[command(flatten)]
    page: PageFlags,
    #[command(flatten)]
    service: ServiceAddress,
}

impl ListRepairs {
    /// Prints a page of repairs.
    pub async fn run(self) -> Result<(), CommandFailure> {
        let client = self.service.client()?;
        let path = format!("/admin/v1/repairs{}", query(&self.page.fields()));
        let answer = client.get(&path).await?;
        client.print(&answer, show_all);
        Ok(())
    }
}

fn show_all(answer: &RepairList) {
    let rows: Vec<Vec<String>> = answer.repairs.iter().map(row).collect();
    let headings = [
        "ID",
        "STARTED",
        "BY",
        "CONVERTED BY",
        "FIELD",
        "APPLY",
        "STATE",
        "DELIVERIES",
        "FAILED",
    ];
    say(&table(&headings, &rows));
    show_next_page(answer.next);
}

fn row(repair: &RepairFacts) -> Vec<String> {
    vec![
        repair.id.to_string(),
        seconds(repair.started_at),
        repair.started_by.clone(),
        receipt::version(repair),
        optional(repair.field),
        match repair.apply {
            true => "yes".to_owned(),
            false => "no".to_owned(),
        },
        repair.state.to_string(),
        format!("{} of {}", repair.deliveries.sum(), optional(repair.found)),
        repair.deliveries.failed.to_string(),
    ]
}

#[derive(Args)]
pub struct ShowRepair {
    /// The repair's id
    id: String,
    /// Show each change, in the order in which they were made
    #[arg(long)]
    changes: bool,
    /// With --changes: only changes after this number, for the next page
    #[arg(long, value_name = "NUMBER", requires = "changes")]
    after: Option<u64>,
    /// With --changes: changes to list
    #[arg(long, requires = "changes", default_value_t = limits::ROWS_PER_PAGE, value_parser = clap::value_parser!(u32).range(1..))]
    limit: u32,
    #[command(flatten)]
    service: ServiceAddress,
}

impl ShowRepair {
    /// Prints the repair with the sum of its receipt, or a page of the receipt.
    pub async fn run(self) -> Result<(), CommandFailure> {
        let client = self.service.client()?;
        let path = path(&self.id);
        if !self.changes {
            let answer = client.get(&path).await?;
            client.print(&answer, |repair| receipt::show(repair, client.flags()));
            return Ok(());
        }
        let query = query(&[
            ("after", self.after.map(|after| after.to_string())),
            ("limit", Some(self.limit.to_string())),
        ]);
        let answer = client.get(&format!("{path}/changes{query}")).await?;
        client.print(&answer, show_changes);
        Ok(())
    }
}

fn show_changes(answer: &RepairChanges) {
    let rows: Vec<Vec<String>> = answer
        .changes
        .iter()
        .map(|change| {
            let value = |value| match change.erased {
                true => "(erased)".to_owned(),
                false => cell(value),
            };
            vec![
                change.delivery_id.to_string(),
                format!("{} {}", change.kind, change.row_id),
                change.field.clone(),
                value(&change.before),
                value(&change.after),
                optional(change.undone),
            ]
        })
        .collect();
    if rows.is_empty() {
        say("It changed nothing.");
        return;
    }
    say(&table(
        &["DELIVERY", "ROW", "FIELD", "BEFORE", "AFTER", "UNDO"],
        &rows,
    ));
    if let Some(next) = answer.next {
        complain(&format!("More changes: --after {next}"));
    }
}

#[derive(Args)]
pub struct CancelRepair {
    /// The repair's id
    id: String,
    #[command(flatten)]
    service: ServiceAddress,
}

impl CancelRepair {
    /// Ends a running repair, or an undo.
    pub async fn run(self) -> Result<(), CommandFailure> {
        let client = self.service.client()?;
        let path = format!("{}/cancel", path(&self.id));
        let answer = client.post(&path, &json!({})).await?;
        client.print(&answer, |repair| receipt::show(repair, client.flags()));
        Ok(())
    }
}

#[derive(Args)]
pub struct UndoRepair {
    /// The repair's id
    id: String,
    /// Do not wait for the end
    #[arg(long)]
    detach: bool,
    #[command(flatten)]
    service: ServiceAddress,
}

impl UndoRepair {
    /// Takes the changes of a repair back and, unless detached, follows that to its end.
    pub async fn run(self) -> Result<(), CommandFailure> {
        let client = self.service.client()?;
        let path = format!("{}/undo", path(&self.id));
        let begun = client.post(&path, &json!({})).await?;
        followed(&client, begun, self.detach, RepairState::Undone).await
    }
}
