use clap::ArgGroup;

use crate::cli::confirm::confirm;
use crate::cli::prelude::*;
use crate::cli::table::described;
use leadhost_admin_api::columns::Described as _;
use leadhost_admin_api::contacts::{EraseReceipt, EraseRequest, ErasedCounts};
use leadhost_admin_api::keys::Keys;
use leadhost_domain::id::{ContactId, KeyId};

#[derive(Args)]
#[command(group(ArgGroup::new("whom").required(true).args(["id", "phone", "email"])))]
pub struct EraseContact {
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
}

const PATH: &str = "/admin/v1/contacts/erase";

impl ServiceCommand for EraseContact {
    async fn run(self, client: AdminClient) -> CommandResult {
        if self.dry_run || !self.yes {
            let would = client
                .post::<EraseReceipt>(PATH, &self.request(true))
                .await?;
            if self.dry_run {
                client.print(&would, |would| say(&in_words(would, None, client.flags())));
                return Ok(());
            }
            // To standard error: standard output may be saved as the receipt.
            complain(&in_words(&would, None, client.flags()));
            confirm(&format!("Erase contact {} permanently?", would.contact_id))?;
        }
        self.erase(&client).await
    }
}

impl EraseContact {
    async fn erase(&self, client: &AdminClient) -> CommandResult {
        let receipt = client
            .post::<EraseReceipt>(PATH, &self.request(false))
            .await?;
        let key = match receipt.key_id {
            Some(id) if !client.json() => Some(name_of_key(client, id).await),
            _ => None,
        };
        client.print(&receipt, |receipt| {
            say(&in_words(receipt, key.as_deref(), client.flags()));
        });
        Ok(())
    }

    fn request(&self, dry_run: bool) -> EraseRequest {
        EraseRequest {
            workspace: self.workspace.clone(),
            id: self.id.clone(),
            phone: self.phone.clone(),
            email: self.email.clone(),
            found_by: None,
            dry_run,
            unconverted: self.unconverted,
        }
    }
}

/// Returns the label of a key, or its id if it has no label or the keys cannot be read: the receipt must be
/// printed in any case.
async fn name_of_key(client: &AdminClient, id: KeyId) -> String {
    let keys = client.get::<Keys>("/admin/v1/keys").await;
    let label = keys.ok().and_then(|answer| {
        let key = answer.keys.iter().find(|key| key.id == id)?;
        Some(key.label.trim().to_owned()).filter(|label| !label.is_empty())
    });
    label.unwrap_or_else(|| id.to_string())
}

/// Returns the receipt as text. `key` is the name of the operator's key.
fn in_words(receipt: &EraseReceipt, key: Option<&str>, flags: &ServiceFlags) -> String {
    let is_dry = receipt.dry_run;
    let mut lines = vec![
        format!("contact       {}", receipt.contact_id),
        format!("workspace     {}", safe(&receipt.workspace)),
    ];
    if !is_dry {
        let time = |time: Option<Micros>| optional(time.map(seconds));
        lines.push(format!("erasure       {}", optional(receipt.id)));
        lines.push(format!("by key        {}", optional(key.map(safe))));
        lines.push(format!("began         {}", time(receipt.began_at)));
        lines.push(format!("done          {}", time(receipt.done_at)));
    }
    let counts = ErasedCounts::columns().into_iter();
    let counts = counts.map(|one| (one.heading, (one.value)(&receipt.erased).written()));
    let rows: Vec<Vec<String>> = counts
        .filter(|(_, count)| count != "0")
        .map(|(kind, count)| vec![kind.to_lowercase(), count])
        .collect();
    lines.push(String::new());
    let left = left(receipt, flags);
    lines.push(match (rows.is_empty(), is_dry) {
        (true, _) if left.is_empty() => "Nothing was found.".to_owned(),
        (true, _) => "Nothing was found except the following.".to_owned(),
        (false, true) => table(&["WOULD BE REMOVED", "COUNT"], &rows),
        (false, false) => table(&["REMOVED", "COUNT"], &rows),
    });
    lines.extend(left);
    lines.extend(others(&receipt.others, flags));
    for (at, what) in receipt.not_reached.iter().enumerate() {
        if at == 0 {
            lines.push(String::new());
            lines.push("Not reached:".to_owned());
        }
        lines.push(format!("- {}", safe(what)));
    }
    lines.join("\n")
}

fn others(others: &[ContactId], flags: &ServiceFlags) -> Vec<String> {
    let mut commands: Vec<_> = others
        .iter()
        .map(|id| format!("  {}", flags.command(&format!("contact erase {id}"))))
        .collect();
    if !commands.is_empty() {
        let stay = "Other contacts have the same address or number, and stay. To erase them too:";
        commands.splice(..0, [String::new(), stay.to_owned()]);
    }
    commands
}

/// Returns the remaining deliveries that name the person, and the command that removes them.
fn left(receipt: &EraseReceipt, flags: &ServiceFlags) -> Vec<String> {
    let remaining = &receipt.remaining;
    if remaining.deliveries.is_empty() {
        return Vec::new();
    }
    let mut lines = vec![
        String::new(),
        "These deliveries name the person, are not converted yet, and stay:".to_owned(),
        described(&remaining.deliveries),
    ];
    let more = remaining.more_deliveries;
    if more > 0 {
        lines.push(format!("and {more} more"));
    }
    lines.push(if receipt.dry_run {
        "--unconverted removes them too, with everything in them.".to_owned()
    } else {
        let again = format!("contact erase {} --unconverted", receipt.contact_id);
        format!(
            "Look at them first. This removes them too, with everything in them:\n  {}",
            flags.command(&again)
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
        let flags = ServiceFlags::default();
        let lines = others(&[id.parse().expect("an id")], &flags);
        assert_eq!(lines[2..], [format!("  leadhost contact erase {id}")]);
        assert!(others(&[], &flags).is_empty());
    }
}
