mod export;
pub mod origin;
mod release;
mod replay;

use self::origin::{origin, workspaces_of_senders};
use crate::cli::page::{PageFlags, show_next_page};
use crate::cli::prelude::*;
use leadhost_admin_api::deliveries::{Deliveries, DeliveryDetailView, ListedDelivery};
use leadhost_admin_api::senders::WorkspacesOfSenders;

verbs! {
    pub enum DeliveryCommand {
        /// List deliveries, newest first
        List(ListDeliveries),
        /// Show one delivery: its request and its results
        Show(ShowDelivery),
        /// Write a delivery as a golden case, with personal data masked
        Export(export::ExportDelivery),
        /// Convert deliveries again, one or many
        Replay(replay::ReplayDeliveries),
        /// Release deliveries from quarantine, one or many; their sender checks run again
        Release(release::ReleaseDeliveries),
    }
}

#[derive(Args, Serialize)]
pub struct ListDeliveries {
    /// Only deliveries in this state: queued, converted, duplicate, rejected, ignored, failed, parked, unrouted, quarantined
    #[arg(long)]
    status: Option<String>,
    /// Only deliveries of this connection: its name, workspace/name or id
    #[arg(long, value_name = "NAME")]
    connection: Option<String>,
    /// Only deliveries of this instance's provider: its number, name or workspace/name
    #[arg(long, value_name = "NAME", conflicts_with = "connection")]
    instance: Option<String>,
    /// Only deliveries received since a date, a time such as 2026-01-31T12:00:00Z, or how long ago, such as 24h
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// Only deliveries received before this time
    #[arg(long, value_name = "TIME")]
    until: Option<String>,
    /// Only deliveries last converted by this version of their plugin: 1.2.0, or the start of its digest, at least 8 characters
    #[arg(long, value_name = "VERSION")]
    version: Option<String>,
    /// Only the delivery with this id, or deliveries with this phone, e-mail address or external id, whether
    /// or not they became leads
    #[arg(long, value_name = "TEXT")]
    #[serde(rename = "q")]
    find: Option<String>,
    #[command(flatten)]
    #[serde(flatten)]
    page: PageFlags,
}

impl ServiceCommand for ListDeliveries {
    async fn run(self, client: AdminClient) -> CommandResult {
        let path = format!("/admin/v1/deliveries{}", query_of(&self));
        let answer = client.get::<Deliveries>(&path).await?;
        let workspaces = if client.json() || answer.deliveries.is_empty() {
            WorkspacesOfSenders::default()
        } else {
            workspaces_of_senders(&client).await
        };
        client.print(&answer, |answer| show_all(answer, &workspaces));
        Ok(())
    }
}

fn show_all(answer: &Deliveries, workspaces: &WorkspacesOfSenders) {
    let are_several =
        workspaces.are_several_of(answer.deliveries.iter().map(|delivery| &delivery.facts));
    let rows: Vec<ListedDelivery<'_>> = answer
        .deliveries
        .iter()
        .map(|delivery| {
            let facts = &delivery.facts;
            let name = if are_several {
                &workspaces.name(facts)
            } else {
                &facts.connection
            };
            ListedDelivery {
                delivery,
                sender: origin(name, facts),
            }
        })
        .collect();
    say_rows(&rows);
    if let Some(until) = answer.searched_until {
        say!(
            "Searched back to {}: older deliveries may match too.",
            seconds(until)
        );
    }
    if let Some(time) = answer.only_leads_before {
        say!(
            "Of deliveries received before {}, only those that became leads are searched.",
            seconds(time)
        );
    }
    show_next_page(answer.next);
}

#[derive(Args)]
pub struct ShowDelivery {
    /// The delivery's id
    id: String,
}

impl ServiceCommand for ShowDelivery {
    async fn run(self, client: AdminClient) -> CommandResult {
        let path = format!("/admin/v1/deliveries/{}", encoded(&self.id));
        client.show(&path, show).await
    }
}

fn show(delivery: &DeliveryDetailView) {
    let facts = &delivery.facts;
    say_facts(delivery);
    let request = &delivery.request;
    say!("\n{} {}", safe(&request.method), safe(&request.path));
    for (name, value) in &request.headers {
        say_line!("{name}: {value}");
    }
    say("");
    match &request.body {
        Some(body) => body.lines().for_each(|line| say(&safe(line))),
        None => say!("({} of binary data)", count(facts.bytes, "byte", "bytes")),
    }
    say_more_rows(&delivery.items);
    for fetch in &delivery.fetches {
        say_line!(
            "fetch of item {}: {}, {}, next {}, given up {}",
            fetch.item,
            fetch.request,
            count(u64::from(fetch.attempts), "attempt", "attempts"),
            seconds(fetch.next_attempt_at),
            seconds(fetch.given_up_at)
        );
    }
    for answer in &delivery.answers {
        let request = &answer.request;
        let head = format!(
            "answer for item {}: {} to {request}",
            answer.item, answer.status
        );
        say(&safe(&head));
        for line in answer.body.iter().flat_map(|body| body.lines()) {
            say(&safe(line));
        }
    }
    if delivery.answers_left_out {
        say("More answers are stored than can be shown here.");
    }
    for note in &delivery.notes {
        say_line!("note: {note}");
    }
}
