//! Follows a repair, which runs in the service: interrupting the command stops only the following.

use super::path::path;
use crate::cli::prelude::*;
use leadhost_admin_api::repairs::RepairView;
use leadhost_domain::repair::RepairState;

/// Time between two queries.
const PERIOD: Duration = Duration::from_millis(300);

/// The exit code of a program that Ctrl-C ended.
const INTERRUPTED: u8 = 130;

pub async fn to_its_end(
    client: &AdminClient,
    repair: AdminAnswer<RepairView>,
) -> CommandResult<AdminAnswer<RepairView>> {
    let id = repair.facts.id;
    let progress = ProgressLine::start(&progress_text(&repair));
    let followed = async {
        let mut repair = repair;
        while repair.facts.state.is_open() {
            progress.update(&progress_text(&repair));
            tokio::time::sleep(PERIOD).await;
            repair = client.get(&path(&id.to_string())).await?;
        }
        Ok::<_, CommandFailure>(repair)
    };
    let ended = tokio::select! {
        ended = followed => Some(ended),
        _ = tokio::signal::ctrl_c() => None,
    };
    drop(progress);
    let ended = ended.map(|ended| {
        ended.map_err(|failure| {
            let show = client.flags().command(&format!("repair show {id}"));
            failure.also(&format!(
                "the service continues the repair, also after a restart: `{show}` shows it"
            ))
        })
    });
    ended.unwrap_or_else(|| {
        let flags = client.flags();
        let (show, cancel) = (format!("repair show {id}"), format!("repair cancel {id}"));
        Err(
            failed!("no longer following repair {id}, which continues in the service")
                .hint(format!(
                    "see it with `{}`, or end it with `{}`",
                    flags.command(&show),
                    flags.command(&cancel)
                ))
                .with_code(INTERRUPTED),
        )
    })
}

fn progress_text(repair: &RepairView) -> String {
    let facts = &repair.facts;
    match (facts.state, &repair.undo) {
        (RepairState::Undoing, Some(undo)) => {
            let done = undo.undone + undo.changed_since + undo.stays + undo.in_use;
            format!("undoing change {done} of {}", done + undo.left)
        }
        _ => {
            let dealt = facts.deliveries.sum();
            format!("replaying delivery {dealt} of {}", optional(facts.found))
        }
    }
}
