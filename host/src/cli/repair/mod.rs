mod follow;
pub mod path;
mod receipt;

use self::path::path;
use crate::cli::page::{PageFlags, show_next_page};
use crate::cli::prelude::*;
use leadhost_admin_api::repairs::{RepairChanges, RepairList, RepairRequest, RepairView};
use leadhost_domain::repair::RepairState;

verbs! {
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
}

pub async fn start(client: &AdminClient, request: &RepairRequest, detach: bool) -> CommandResult {
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
) -> CommandResult {
    let repair = if detach {
        begun
    } else {
        follow::to_its_end(client, begun).await?
    };
    client.print(&repair, |repair| receipt::show(repair, client.flags()));
    let facts = &repair.facts;
    if detach || facts.state == expect {
        return Ok(());
    }
    let why = optional(facts.why.as_ref());
    let state = facts.state;
    Err(failed_line!("repair {} is {state}: {why}", facts.id))
}

#[derive(Args, Serialize)]
pub struct ListRepairs {
    #[command(flatten)]
    #[serde(flatten)]
    page: PageFlags,
}

impl ServiceCommand for ListRepairs {
    async fn run(self, client: AdminClient) -> CommandResult {
        let path = format!("/admin/v1/repairs{}", query_of(&self));
        let show = |answer: &RepairList| {
            say_rows(&answer.repairs);
            show_next_page(answer.next);
        };
        client.show(&path, show).await
    }
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
}

impl ServiceCommand for ShowRepair {
    async fn run(self, client: AdminClient) -> CommandResult {
        let path = path(&self.id);
        if !self.changes {
            let show = |repair: &RepairView| receipt::show(repair, client.flags());
            return client.show(&path, show).await;
        }
        let query = query(&[
            ("after", self.after.map(|after| after.to_string())),
            ("limit", Some(self.limit.to_string())),
        ]);
        let path = format!("{path}/changes{query}");
        client.show(&path, show_changes).await
    }
}

fn show_changes(answer: &RepairChanges) {
    if answer.changes.is_empty() {
        return say("It changed nothing.");
    }
    say_rows(&answer.changes);
    if let Some(next) = answer.next {
        complain!("More changes: --after {next}");
    }
}

#[derive(Args)]
pub struct CancelRepair {
    /// The repair's id
    id: String,
}

impl ServiceCommand for CancelRepair {
    async fn run(self, client: AdminClient) -> CommandResult {
        let path = format!("{}/cancel", path(&self.id));
        let show = |repair: &RepairView| receipt::show(repair, client.flags());
        client.act(&path, &json!({}), show).await
    }
}

#[derive(Args)]
pub struct UndoRepair {
    /// The repair's id
    id: String,
    /// Do not wait for the end
    #[arg(long)]
    detach: bool,
}

impl ServiceCommand for UndoRepair {
    async fn run(self, client: AdminClient) -> CommandResult {
        let path = format!("{}/undo", path(&self.id));
        let begun = client.post(&path, &json!({})).await?;
        followed(&client, begun, self.detach, RepairState::Undone).await
    }
}
