//! `leadhost contact erase`: erases a person. It shows what would be removed, asks, and prints the
//! receipt. After an interruption the same command continues.

use clap::{ArgGroup, Args};
use serde_json::{Value, json};

use crate::cli::client::{Client, Reach};
use crate::cli::confirm::confirm;
use crate::cli::failure::Failure;
use crate::cli::output::{complain, say};
use crate::cli::table::{cell, safe, table, time};

#[derive(Args)]
#[command(group(ArgGroup::new("whom").required(true).args(["id", "phone", "email"])))]
pub struct Erase {
    /// The contact's id; for an erased contact, the id in the receipt
    id: Option<String>,
    /// The contact's phone number, with --workspace
    #[arg(long, value_name = "NUMBER", requires = "workspace")]
    phone: Option<String>,
    /// The contact's e-mail address, with --workspace
    #[arg(long, value_name = "ADDRESS", requires = "workspace")]
    email: Option<String>,
    /// The workspace's slug [default with an id: all workspaces are searched]
    #[arg(long, value_name = "SLUG")]
    workspace: Option<String>,
    /// Show what would be removed, and remove nothing
    #[arg(long)]
    dry_run: bool,
    /// Do not ask for confirmation
    #[arg(long)]
    yes: bool,
    /// Also remove deliveries that name the person and are not converted yet, with everything in them
    #[arg(long)]
    unconverted: bool,
    #[command(flatten)]
    reach: Reach,
}

const PATH: &str = "/admin/v1/contacts/erase";

impl Erase {
    pub async fn run(self) -> Result<(), Failure> {
        let client = self.reach.client()?;
        if self.dry_run || !self.yes {
            let would = client.post(PATH, &self.request(true)).await?;
            if self.dry_run {
                client.print(&would, show);
                return Ok(());
            }
            // To standard error: standard output may be saved as the receipt.
            complain(&in_words(&would));
            confirm(&format!(
                "Erase contact {} permanently?",
                safe(&cell(&would["contactId"]))
            ))?;
        }
        self.erase(&client).await
    }

    async fn erase(&self, client: &Client) -> Result<(), Failure> {
        let receipt = client.post(PATH, &self.request(false)).await?;
        client.print(&receipt, show);
        Ok(())
    }

    fn request(&self, dry_run: bool) -> Value {
        json!({
            "workspace": self.workspace,
            "id": self.id,
            "phone": self.phone,
            "email": self.email,
            "dryRun": dry_run,
            "unconverted": self.unconverted,
        })
    }
}

fn show(receipt: &Value) {
    say(&in_words(receipt));
}

fn in_words(receipt: &Value) -> String {
    let is_dry = receipt["dryRun"] == true;
    let mut lines = vec![
        format!("contact       {}", safe(&cell(&receipt["contactId"]))),
        format!("workspace     {}", safe(&cell(&receipt["workspace"]))),
    ];
    if !is_dry {
        lines.push(format!("erasure       {}", safe(&cell(&receipt["id"]))));
        lines.push(format!("by key        {}", safe(&cell(&receipt["keyId"]))));
        lines.push(format!("began         {}", time(&receipt["beganAt"])));
        lines.push(format!("done          {}", time(&receipt["doneAt"])));
    }
    let counts = receipt["erased"].as_object().into_iter().flatten();
    let rows: Vec<Vec<String>> = counts
        .filter(|(_, count)| **count != 0)
        .map(|(kind, count)| vec![kind.clone(), cell(count)])
        .collect();
    lines.push(String::new());
    let left = left(receipt);
    lines.push(match (rows.is_empty(), is_dry) {
        (true, _) if left.is_empty() => "Nothing was found.".to_owned(),
        (true, _) => "Nothing was found except the following.".to_owned(),
        (false, true) => table(&["WOULD BE REMOVED", "COUNT"], &rows),
        (false, false) => table(&["REMOVED", "COUNT"], &rows),
    });
    lines.extend(left);
    lines.extend(others(receipt));
    let not_reached = receipt["notReached"].as_array().into_iter().flatten();
    for (at, what) in not_reached.enumerate() {
        if at == 0 {
            lines.push(String::new());
            lines.push("Not reached:".to_owned());
        }
        lines.push(format!("- {}", safe(&cell(what))));
    }
    lines.join("\n")
}

/// Returns the commands that erase the other contacts with the same address or number.
fn others(receipt: &Value) -> Vec<String> {
    let others = receipt["others"].as_array().into_iter().flatten();
    let mut commands: Vec<_> = others
        .map(|id| format!("  leadhost contact erase {}", safe(&cell(id))))
        .collect();
    if !commands.is_empty() {
        let stay = "Other contacts have the same address or number, and stay. To erase them too:";
        commands.splice(..0, [String::new(), stay.to_owned()]);
    }
    commands
}

/// Returns the remaining deliveries that name the person, and the command that removes them.
fn left(receipt: &Value) -> Vec<String> {
    let remaining = &receipt["remaining"];
    let named: Vec<Vec<String>> = remaining["deliveries"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|one| vec![cell(&one["id"]), cell(&one["status"])])
        .collect();
    if named.is_empty() {
        return Vec::new();
    }
    let mut lines = vec![
        String::new(),
        "These deliveries name the person, are not converted yet, and stay:".to_owned(),
        table(&["DELIVERY", "STATUS"], &named),
    ];
    let more = remaining["moreDeliveries"].as_u64().unwrap_or_default();
    if more > 0 {
        lines.push(format!("and {more} more"));
    }
    lines.push(if receipt["dryRun"] == true {
        "--unconverted removes them too, with everything in them.".to_owned()
    } else {
        format!(
            "Look at them first. This removes them too, with everything in them:\n  leadhost contact erase {} --unconverted",
            safe(&cell(&receipt["contactId"]))
        )
    });
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_contacts_with_the_address_are_named_with_their_command() {
        let id = "019cae2b-3f61-7a52-8a10-6d4f3e2a1b88";
        let lines = others(&json!({"others": [id]}));
        assert_eq!(lines[2..], [format!("  leadhost contact erase {id}")]);
        assert!(others(&json!({"others": []})).is_empty());
    }
}
