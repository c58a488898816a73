//! `leadhost delivery release`: releases deliveries from quarantine after a secret or a check was
//! corrected. The sender check of each runs again; those that still fail stay. The service handles a
//! bounded number at a time, the oldest first, so that a release can be interrupted.

use clap::ArgGroup;

use super::replay::summary;
use crate::cli::prelude::*;
use leadhost_admin_api::deliveries::{ReplayRequest, Replayed};
use leadhost_admin_api::replays::{ReplayManyRequest, ReplayedMany};

#[derive(Args)]
#[command(group(ArgGroup::new("which").required(true).multiple(true).args(["id", "connection", "since", "all"])))]
pub struct ReleaseDeliveries {
    /// The delivery's id
    #[arg(conflicts_with_all = ["connection", "since", "until", "all"])]
    id: Option<String>,
    /// All deliveries in quarantine of this connection: its name, workspace/name or id
    #[arg(long, value_name = "NAME")]
    connection: Option<String>,
    /// Only deliveries received since a date, a time such as 2026-01-31T12:00:00Z, or how long ago, such as 24h
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// Only deliveries received before this time
    #[arg(long, value_name = "TIME")]
    until: Option<String>,
    /// All deliveries in quarantine
    #[arg(long, conflicts_with_all = ["connection", "since"])]
    all: bool,
    /// Only count them
    #[arg(long, conflicts_with = "id")]
    dry_run: bool,
}

impl ServiceCommand for ReleaseDeliveries {
    async fn run(self, client: AdminClient) -> CommandResult {
        if let Some(id) = &self.id {
            let path = format!("/admin/v1/deliveries/{}/replay", encoded(id));
            let options = ReplayRequest {
                apply: false,
                release: true,
                expected: None,
            };
            let show = |answer: &Replayed| say(&safe(&answer.sentence()));
            return client.act(&path, &options, show).await;
        }
        let path = format!(
            "/admin/v1/deliveries/replay{}",
            query(&[
                ("status", Some("quarantined".to_owned())),
                ("connection", self.connection.clone()),
                ("since", self.since.clone()),
                ("until", self.until.clone()),
            ])
        );
        let progress = ProgressLine::start("releasing deliveries");
        let mut request = ReplayManyRequest {
            apply: !self.dry_run,
            release: true,
            after: None,
        };
        let (mut handled, mut refused) = (0, 0);
        loop {
            let answer = client.post::<ReplayedMany>(&path, &request).await?;
            if client.json() {
                say(&answer.json.to_string());
            } else if self.dry_run {
                if answer.connections.is_empty() {
                    say(&released(0, 0));
                }
                for named in &answer.connections {
                    let number = count(named.deliveries, "delivery", "deliveries");
                    say!("{}: {number} in quarantine", safe(&named.connection));
                }
            }
            handled += answer.handled;
            refused += answer.refused;
            for refusal in &answer.refusals {
                if !client.json() {
                    complain(&safe(&refusal.reason));
                }
            }
            progress.update(&format!(
                "released {} of {}",
                handled - refused,
                handled + answer.left
            ));
            if answer.after.is_none() {
                if !client.json() && !answer.changes.is_empty() {
                    say(&summary(&answer.changes, true));
                }
                break;
            }
            request.after = answer.after;
        }
        drop(progress);
        if self.dry_run {
            return Ok(());
        }
        if refused > 0 && refused == handled {
            let stay = staying(refused);
            return Err(failed!("no delivery was released: {stay}"));
        }
        if !client.json() {
            say(&released(handled - refused, refused));
        }
        Ok(())
    }
}

fn released(released: u64, refused: u64) -> String {
    let number = count(released, "delivery", "deliveries");
    match (released, refused) {
        (0, 0) => "There is nothing to release.".to_owned(),
        (_, 0) => format!("Released {number}."),
        _ => format!("Released {number}. {}.", staying(refused)),
    }
}

fn staying(refused: u64) -> String {
    let stay = if refused == 1 { "stays" } else { "stay" };
    format!("{refused} {stay} in quarantine")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_release_says_how_many_deliveries_stay() {
        let check = |number, refused, expect: &str| assert_eq!(released(number, refused), expect);
        check(0, 0, "There is nothing to release.");
        check(1, 0, "Released 1 delivery.");
        check(2, 1, "Released 2 deliveries. 1 stays in quarantine.");
        check(1, 2, "Released 1 delivery. 2 stay in quarantine.");
    }
}
