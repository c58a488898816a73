//! `leadhost etl rebuild`: counts anew beside what serves, which is shown until
//! then, and takes its place whole.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use clap::Args;
use serde_json::{Value, json};

use crate::cli::client::{Client, Reach};
use crate::cli::failure::Failure;
use crate::cli::output::say;
use crate::cli::progress::Progress;
use crate::cli::table::{cell, safe, time};

/// Between two looks at how far it is.
const LOOK: Duration = Duration::from_millis(300);

#[derive(Args)]
pub struct Rebuild {
    /// Only of this workspace: its slug or id
    #[arg(long, value_name = "SLUG")]
    workspace: Option<String>,
    /// Only this metric set: conversations or tickets
    #[arg(long, value_name = "SET")]
    set: Option<String>,
    /// Wait until the new counts serve
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
    #[command(flatten)]
    reach: Reach,
}

/// Builds that are being made, by their numbers: whose, and how far.
type Making = BTreeMap<i64, String>;

impl Rebuild {
    pub async fn run(self) -> Result<(), Failure> {
        let client = self.reach.client()?;
        let wanted = json!({ "workspace": self.workspace, "metricSet": self.set });
        let mut answer = client.post("/admin/v1/etl/rebuilds", &wanted).await?;
        if self.wait {
            self.wait(&client, &answer).await?;
            // Until it serves this is an error.
            answer["serves"] = json!(true);
        }
        client.print(&answer, |answer| show(answer, self.wait));
        Ok(())
    }

    /// Until what is being made now serves.
    async fn wait(&self, client: &Client, answer: &Value) -> Result<(), Failure> {
        let began = Instant::now();
        let mut progress = None;
        let mut awaited: Option<Making> = None;
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
            let text = format!("{} to go; {}", making.len(), safe(&how_far.join(", ")));
            progress
                .get_or_insert_with(|| Progress::start("counting"))
                .update(&text);
            if began.elapsed() >= Duration::from_secs(self.wait_seconds) {
                return Err(Failure::new(format!(
                    "not all new counts serve after {} s: {text}",
                    self.wait_seconds
                ))
                .hint("it goes on, and what was there before is shown until then; `leadhost etl status` says how far it is, the service's log what is wrong"));
            }
            awaited = Some(making);
            tokio::time::sleep(LOOK).await;
        }
    }
}

/// Of what was asked for.
fn making(status: &Value, answer: &Value) -> Making {
    let mut making = Making::new();
    for set in status["metricSets"].as_array().into_iter().flatten() {
        let name = cell(&set["metricSet"]);
        if answer["begun"].get(&name).is_none() {
            continue;
        }
        for build in set["making"].as_array().into_iter().flatten() {
            let is_other =
                !answer["workspace"].is_null() && answer["workspace"] != build["workspace"];
            let Some(number) = build["build"].as_i64().filter(|_| !is_other) else {
                continue;
            };
            let workspace = cell(&build["workspace"]);
            let read_to = time(&build["readTo"]);
            making.insert(number, format!("{name} of {workspace} to {read_to}"));
        }
    }
    making
}

fn show(answer: &Value, waited: bool) {
    let whose = match answer["workspace"].as_str() {
        Some(slug) => format!("of {}", safe(slug)),
        None => "of all workspaces".to_owned(),
    };
    for (set, count) in answer["begun"].as_object().into_iter().flatten() {
        let begun = count.as_u64().unwrap_or(0);
        let text = match (waited, begun) {
            (true, _) => "the new counts serve".to_owned(),
            (false, 0) => "counted anew already".to_owned(),
            (false, begun) => format!("{begun} begun; what was there serves until then"),
        };
        say(&format!("{set} {whose}: {text}."));
    }
}
