//! `leadhost delivery`. `replay.rs` has the replay, `release.rs` the release of many from quarantine,
//! `export.rs` writes golden cases, `origin.rs` names senders.

mod export;
pub mod items;
pub mod origin;
mod release;
mod replay;

use clap::{Args, Subcommand};

use self::items::items;
use self::origin::{origin, workspaces_of_senders};
use crate::cli::client::{ServiceAddress, encoded, query};
use crate::cli::failure::CommandFailure;
use crate::cli::output::{count, say};
use crate::cli::page::{PageFlags, show_next_page};
use crate::cli::table::{optional, safe, seconds, table};
use leadhost_admin_api::deliveries::{Deliveries, DeliveryDetailView};
use leadhost_admin_api::senders::WorkspacesOfSenders;

#[derive(Subcommand)]
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

impl DeliveryCommand {
    /// Runs the subcommand.
    pub async fn run(self) -> Result<(), CommandFailure> {
        match self {
            Self::List(command) => command.run().await,
            Self::Show(command) => command.run().await,
            Self::Export(command) => command.run().await,
            Self::Replay(command) => command.run().await,
            Self::Release(command) => command.run().await,
        }
    }
}

#[derive(Args)]
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
    /// Only the delivery with this id, or those of this phone, e-mail address or external id, whether or not they became leads
    #[arg(long, value_name = "TEXT")]
    find: Option<String>,
    #[command(flatten)]
    page: PageFlags,
    #[command(flatten)]
    service: ServiceAddress,
}

impl ListDeliveries {
    /// Prints a page of deliveries that match the filters.
    pub async fn run(self) -> Result<(), CommandFailure> {
        let client = self.service.client()?;
        let mut fields = vec![
            ("status", self.status),
            ("connection", self.connection),
            ("instance", self.instance),
            ("since", self.since),
            ("until", self.until),
            ("version", self.version),
            ("q", self.find),
        ];
        fields.extend(self.page.fields());
        let path = format!("/admin/v1/deliveries{}", query(&fields));
        let answer = client.get::<Deliveries>(&path).await?;
        let workspaces = match client.json() || answer.deliveries.is_empty() {
            true => WorkspacesOfSenders::default(),
            false => workspaces_of_senders(&client).await,
        };
        client.print(&answer, |answer| show_all(answer, &workspaces));
        Ok(())
    }
}

fn show_all(answer: &Deliveries, workspaces: &WorkspacesOfSenders) {
    let are_several =
        workspaces.are_several_of(answer.deliveries.iter().map(|delivery| &delivery.facts));
    let rows: Vec<Vec<String>> = answer
        .deliveries
        .iter()
        .map(|delivery| {
            let facts = &delivery.facts;
            let ran = facts.ran.as_ref().map(|ran| {
                let digest = ran.digest.short();
                format!("{} {} ({digest})", ran.plugin, ran.version)
            });
            vec![
                facts.id.to_string(),
                seconds(facts.received_at),
                match are_several {
                    true => origin(&workspaces.name(facts), facts),
                    false => origin(&facts.connection, facts),
                },
                facts.status.as_str().to_owned(),
                delivery.items.to_string(),
                facts.bytes.to_string(),
                optional(ran),
                optional(facts.error.as_ref()),
            ]
        })
        .collect();
    say(&table(
        &[
            "ID",
            "RECEIVED",
            "FROM",
            "STATUS",
            "ITEMS",
            "BYTES",
            "CONVERTED BY",
            "ERROR",
        ],
        &rows,
    ));
    if let Some(until) = answer.searched_until {
        say(&format!(
            "Searched back to {}: older deliveries may match too.",
            seconds(until)
        ));
    }
    if let Some(time) = answer.only_leads_before {
        say(&format!(
            "Of deliveries received before {}, only those that became leads are searched.",
            seconds(time)
        ));
    }
    show_next_page(answer.next);
}

#[derive(Args)]
pub struct ShowDelivery {
    /// The delivery's id
    id: String,
    #[command(flatten)]
    service: ServiceAddress,
}

impl ShowDelivery {
    /// Prints the delivery as received, with its secrets masked, and the result of each item.
    pub async fn run(self) -> Result<(), CommandFailure> {
        let client = self.service.client()?;
        let path = format!("/admin/v1/deliveries/{}", encoded(&self.id));
        let answer = client.get(&path).await?;
        client.print(&answer, show);
        Ok(())
    }
}

fn show(delivery: &DeliveryDetailView) {
    let facts = &delivery.facts;
    let ran = facts.ran.as_ref().map(|ran| {
        format!(
            "{} {} ({}), configuration {}",
            ran.plugin,
            ran.version,
            ran.digest.short(),
            ran.config_version
        )
    });
    let lines = [
        ("delivery", facts.id.to_string()),
        ("status", facts.status.as_str().to_owned()),
        ("from", origin(&facts.connection, facts)),
        ("received", seconds(facts.received_at)),
        ("attempts", facts.attempts.to_string()),
        (
            "next attempt",
            optional(delivery.next_attempt_at.map(seconds)),
        ),
        ("error", optional(facts.error.as_ref())),
        ("converted by", optional(ran)),
    ];
    for (name, value) in lines {
        if value != "-" {
            say(&format!("{name:<13} {}", safe(&value)));
        }
    }
    let request = &delivery.request;
    say(&format!(
        "\n{} {}",
        safe(&request.method),
        safe(&request.path)
    ));
    for (name, value) in &request.headers {
        say(&safe(&format!("{name}: {value}")));
    }
    say("");
    match &request.body {
        Some(body) => body.lines().for_each(|line| say(&safe(line))),
        None => say(&format!(
            "({} of binary data)",
            count(facts.bytes, "byte", "bytes")
        )),
    }
    items(&delivery.items);
    for fetch in &delivery.fetches {
        say(&safe(&format!(
            "fetch of item {}: {}, {}, next {}, given up {}",
            fetch.item,
            fetch.request,
            count(u64::from(fetch.attempts), "attempt", "attempts"),
            seconds(fetch.next_attempt_at),
            seconds(fetch.given_up_at)
        )));
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
        say(&safe(&format!("note: {note}")));
    }
}
