//! `leadhost etl rebuild`: counts again from the beginning. The current counts are shown until the
//! new ones replace them as a whole.

use std::time::Instant;

use crate::cli::prelude::*;
use leadhost_admin_api::etl::{EtlStatus, RebuildRequest, Rebuilds};

/// Time between two progress queries.
const LOOK: Duration = Duration::from_millis(300);

#[derive(Args)]
pub struct RebuildCounts {
    /// Only this workspace: its slug or id
    #[arg(long, value_name = "SLUG")]
    workspace: Option<String>,
    /// Only this metric set: conversations or tickets
    #[arg(long, value_name = "SET")]
    set: Option<String>,
    /// Wait until the new counts are active
    #[arg(long)]
    wait: bool,
    /// Wait at most this long
    #[arg(
        long,
        value_name = "SECONDS",
        default_value_t = 3_600,
        requires = "wait"
    )]
    wait_seconds: u64,
}

/// Builds in progress by number, each with its workspace and progress.
type RebuildInProgress = BTreeMap<i64, String>;

impl ServiceCommand for RebuildCounts {
    async fn run(self, client: AdminClient) -> CommandResult {
        let wanted = RebuildRequest {
            workspace: self.workspace.clone(),
            metric_set: self.set.clone(),
        };
        let mut answer: AdminAnswer<Rebuilds> =
            client.post("/admin/v1/etl/rebuilds", &wanted).await?;
        if self.wait {
            self.wait(&client, &answer).await?;
            answer.json = json!(ServingRebuilds {
                answer: &answer.json,
                serves: true,
            });
        }
        client.print(&answer, |answer| show(answer, self.wait));
        Ok(())
    }
}

impl RebuildCounts {
    async fn wait(&self, client: &AdminClient, answer: &Rebuilds) -> CommandResult {
        let began = Instant::now();
        let mut progress = None;
        let mut awaited: Option<RebuildInProgress> = None;
        loop {
            let status = client.get("/admin/v1/etl").await?;
            let mut making = making(&status, answer);
            if let Some(awaited) = &awaited {
                making.retain(|build, _| awaited.contains_key(build));
            }
            if making.is_empty() {
                return Ok(());
            }
            let how_far: Vec<&str> = making.values().take(3).map(String::as_str).collect();
            let text = format!("{} remaining; {}", making.len(), safe(&how_far.join(", ")));
            progress
                .get_or_insert_with(|| ProgressLine::start("counting"))
                .update(&text);
            if began.elapsed() >= Duration::from_secs(self.wait_seconds) {
                return Err(failed!(
                    "not all new counts are active after {} s: {text}",
                    self.wait_seconds
                )
                .hint(format!(
                    "the rebuild continues, and the previous counts are shown until it ends; `{}` shows its progress, the service's log its errors",
                    client.flags().command("etl status")
                )));
            }
            awaited = Some(making);
            tokio::time::sleep(LOOK).await;
        }
    }
}

/// The answer of the service after the command has waited until the new counts are active.
#[derive(Serialize)]
struct ServingRebuilds<'a> {
    #[serde(flatten)]
    answer: &'a Value,
    serves: bool,
}

fn making(status: &EtlStatus, answer: &Rebuilds) -> RebuildInProgress {
    let mut making = RebuildInProgress::new();
    for set in &status.metric_sets {
        let name = set.freshness.metric_set;
        if !answer.begun.contains_key(&name) {
            continue;
        }
        for build in &set.making {
            let workspace = &build.workspace;
            if answer.workspace.as_ref().is_some_and(|of| of != workspace) {
                continue;
            }
            let read_to = optional(build.read_to.map(seconds));
            let how_far = format!("{} of {workspace} to {read_to}", name.as_str());
            making.insert(build.build, how_far);
        }
    }
    making
}

fn show(answer: &Rebuilds, waited: bool) {
    let whose = match &answer.workspace {
        Some(slug) => format!("of {}", safe(slug)),
        None => "of all workspaces".to_owned(),
    };
    for (set, begun) in &answer.begun {
        let text = match (waited, begun) {
            (true, _) => "the new counts are active".to_owned(),
            (false, 0) => "a rebuild is already in progress".to_owned(),
            (false, 1) => {
                "1 rebuild begun; the previous counts stay active until it ends".to_owned()
            }
            (false, begun) => {
                format!("{begun} rebuilds begun; the previous counts stay active until they end")
            }
        };
        say!("{} {whose}: {text}.", set.as_str());
    }
}
