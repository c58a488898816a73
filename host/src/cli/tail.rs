//! `leadhost tail`: follows deliveries, a line for each. It asks for the newest ones once a second,
//! looks back a little, and remembers which ones it has shown.

use tokio::time::{Instant, sleep, timeout};

use crate::cli::delivery::origin::workspaces_of_senders;
use crate::cli::output::is_closed;
use crate::cli::prelude::*;
use leadhost_admin_api::deliveries::{Deliveries, DeliveryView};
use leadhost_admin_api::senders::WorkspacesOfSenders;
use leadhost_domain::delivery::DeliveryStatus;
use leadhost_domain::id::DeliveryId;

#[derive(Args)]
pub struct Tail {
    /// Only deliveries of this connection: its name, workspace/name or id
    #[arg(long, value_name = "NAME")]
    connection: Option<String>,
    /// Only deliveries in this state: queued, converted, duplicate, rejected, ignored, failed, parked, unrouted, quarantined
    #[arg(long, conflicts_with = "failed")]
    status: Option<String>,
    /// Only failed and parked deliveries
    #[arg(long)]
    failed: bool,
    /// Seconds to wait for a service that stopped, such as for a restart; 0 ends at once
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    wait: u64,
    #[command(flatten)]
    service: ServiceAddress,
}

impl Tail {
    pub async fn run(self) -> CommandResult {
        let mut follower = TailFollower::new(self.statuses(), self.connection.clone());
        let followed = self.follow(&mut follower);
        let ended = tokio::select! {
            ended = followed => ended,
            _ = tokio::signal::ctrl_c() => Ok(()),
        };
        let shown = count(follower.shown, "delivery", "deliveries");
        match ended {
            Ok(()) => {
                complain!("No longer following; {shown} shown.");
                Ok(())
            }
            Err(failure) => Err(failure),
        }
    }

    /// Returns the states to ask for, each with a request of its own; `None` for every state.
    fn statuses(&self) -> Vec<Option<String>> {
        if self.failed {
            let states = [DeliveryStatus::Failed, DeliveryStatus::Parked];
            return states.map(|state| Some(state.as_str().to_owned())).into();
        }
        vec![self.status.clone()]
    }

    async fn follow(&self, follower: &mut TailFollower) -> CommandResult {
        let client = self.service.client()?;
        // Existing deliveries are not shown. A failure at the start is not waited for.
        for _ in 0..SILENT_POLLS {
            match follower.poll(&client).await {
                Ok(_) => {}
                Err(PollError::Refused(failure) | PollError::Lost(failure)) => return Err(failure),
            }
        }
        complain("Following deliveries; Ctrl-C ends.");
        let mut lost_at: Option<Instant> = None;
        let mut workspaces = WorkspacesOfSenders::default();
        loop {
            // The address in the data folder changes with a restart.
            let polled = match self.service.client() {
                Ok(client) => {
                    let waited = sleep(limits::TAIL_PERIOD);
                    waited.await;
                    let polled = follower.poll(&client).await;
                    polled.map(|news| (client, news))
                }
                Err(failure) => Err(PollError::Lost(failure)),
            };
            let failure = match polled {
                Ok((client, news)) => {
                    if lost_at.take().is_some() {
                        complain("The service answers again.");
                    }
                    let mut rows = news.deliveries.iter();
                    if !client.json() && rows.any(|row| !workspaces.knows(&row.facts)) {
                        let read =
                            timeout(limits::TAIL_DEADLINE, workspaces_of_senders(&client)).await;
                        workspaces = read.unwrap_or(workspaces);
                    }
                    show(&news, &workspaces, client.json())?;
                    if is_closed() {
                        return Ok(());
                    }
                    continue;
                }
                Err(PollError::Refused(failure)) => return Err(failure),
                Err(PollError::Lost(failure)) => failure,
            };
            let since = match lost_at {
                Some(since) => since,
                None => {
                    if self.wait > 0 {
                        complain!(
                            "The service does not answer; waiting for it for {} s.",
                            self.wait
                        );
                    }
                    *lost_at.insert(Instant::now())
                }
            };
            if since.elapsed() >= Duration::from_secs(self.wait) {
                return Err(failure.also("the service has stopped, so nothing is followed"));
            }
            sleep(limits::TAIL_PERIOD).await;
        }
    }
}

/// The first poll finds the newest row, the second what lies just before it. Neither shows anything.
const SILENT_POLLS: u32 = 2;

/// Why a poll has no rows.
enum PollError {
    /// The service refuses the request; another one gets the same answer.
    Refused(CommandFailure),
    /// The service does not answer, or not now.
    Lost(CommandFailure),
}

/// The rows of a poll that were not shown before.
struct News {
    /// Oldest first.
    deliveries: Vec<DeliveryView>,
    /// There were more rows than one poll reads; those before this one are not shown.
    skipped_before: Option<DeliveryId>,
}

/// Remembers what was shown.
struct TailFollower {
    statuses: Vec<Option<String>>,
    connection: Option<String>,
    overlap: Duration,
    /// The newest time of receipt that was seen. `None` before the first row.
    newest: Option<Micros>,
    /// The rows that the next poll may return again.
    seen: BTreeMap<DeliveryId, Micros>,
    polls: u32,
    shown: u64,
}

impl TailFollower {
    fn new(statuses: Vec<Option<String>>, connection: Option<String>) -> Self {
        let is_of_state = statuses.iter().any(Option::is_some);
        Self {
            statuses,
            connection,
            overlap: if is_of_state {
                limits::TAIL_OVERLAP_OF_STATE
            } else {
                limits::TAIL_OVERLAP
            },
            newest: None,
            seen: BTreeMap::new(),
            polls: 0,
            shown: 0,
        }
    }

    /// Asks for the rows since the last poll. The first polls only remember.
    async fn poll(&mut self, client: &AdminClient) -> Result<News, PollError> {
        let read = timeout(limits::TAIL_DEADLINE, self.read(client)).await;
        let (rows, skipped_before) = read.unwrap_or_else(|_| {
            Err(PollError::Lost(failed!(
                "the service did not answer within {} s",
                limits::TAIL_DEADLINE.as_secs()
            )))
        })?;
        Ok(self.take(rows, skipped_before))
    }

    async fn read(
        &self,
        client: &AdminClient,
    ) -> Result<(Vec<DeliveryView>, Option<DeliveryId>), PollError> {
        let mut rows = Vec::new();
        let mut skipped_before = None;
        // Before anything was seen, a single row says where to begin.
        let (limit, pages) = match self.polls {
            0 => (1, 1),
            _ => (limits::TAIL_ROWS, limits::TAIL_PAGES),
        };
        for status in &self.statuses {
            let mut before: Option<DeliveryId> = None;
            for page in 0..pages {
                let since = self.newest.map(|newest| newest.minus(self.overlap));
                let fields = [
                    ("status", status.clone()),
                    ("connection", self.connection.clone()),
                    ("since", since.map(|since| since.to_string())),
                    ("before", before.map(|before| before.to_string())),
                    ("limit", Some(limit.to_string())),
                ];
                let path = format!("/admin/v1/deliveries{}", query(&fields));
                let answer = client.try_get::<Deliveries>(&path).await;
                let answer = answer.map_err(PollError::Lost)?.map_err(|refusal| {
                    // Too many requests, or a service that cannot work now.
                    let is_temporary = refusal.status.is_server_error() || refusal.status == 429;
                    if is_temporary {
                        PollError::Lost(refusal.into())
                    } else {
                        PollError::Refused(refusal.into())
                    }
                })?;
                before = answer.content.next;
                rows.extend(answer.content.deliveries);
                let Some(next) = before else { break };
                if self.polls >= SILENT_POLLS && page + 1 == pages {
                    skipped_before = skipped_before.max(Some(next));
                }
            }
        }
        Ok((rows, skipped_before))
    }

    fn take(&mut self, rows: Vec<DeliveryView>, skipped_before: Option<DeliveryId>) -> News {
        let is_silent = self.polls < SILENT_POLLS;
        self.polls = self.polls.saturating_add(1);
        self.newest = self
            .newest
            .max(rows.iter().map(|row| row.facts.received_at).max());
        let mut deliveries = Vec::new();
        for row in rows {
            let facts = &row.facts;
            let is_new = self.seen.insert(facts.id, facts.received_at).is_none();
            if is_new && !is_silent {
                deliveries.push(row);
            }
        }
        if let Some(newest) = self.newest {
            let oldest = newest.minus(self.overlap);
            self.seen.retain(|_, received| *received >= oldest);
        }
        deliveries.sort_by_key(|row| (row.facts.received_at, row.facts.id));
        self.shown += deliveries.len() as u64;
        News {
            deliveries,
            skipped_before,
        }
    }
}

fn show(news: &News, workspaces: &WorkspacesOfSenders, json: bool) -> CommandResult {
    let are_several = workspaces.are_several();
    if let Some(before) = news.skipped_before {
        complain!(
            "More deliveries came in than one poll reads; those before {before} are not shown: `leadhost delivery list --before {before}`."
        );
    }
    for delivery in &news.deliveries {
        if json {
            let text = serde_json::to_string(delivery)
                .map_err(|error| failed!("cannot write a delivery as JSON: {error}"))?;
            say(&text);
        } else {
            let name = if are_several {
                workspaces.name(&delivery.facts)
            } else {
                delivery.facts.connection.clone()
            };
            say(&line(delivery, &name));
        }
    }
    Ok(())
}

/// Returns the line of a delivery. `name` is its sender's.
fn line(delivery: &DeliveryView, name: &str) -> String {
    let facts = &delivery.facts;
    let ran = facts.ran.as_ref();
    let ran = optional(ran.map(|ran| format!("{} {}", ran.plugin, ran.version)));
    safe(&format!(
        "{}  {:<20}  {:<11}  {:>3} {:<5}  {:<24}  {}",
        seconds(facts.received_at),
        name,
        facts.status.as_str(),
        delivery.items,
        if delivery.items == 1 { "item" } else { "items" },
        ran,
        facts.id,
    ))
}
