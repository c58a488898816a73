//! `leadhost delivery list`.

use clap::Args;

use super::{origin, query};
use crate::admin_api::deliveries::Deliveries;
use crate::cli::client::ServiceAddress;
use crate::cli::failure::Failure;
use crate::cli::output::say;
use crate::cli::page::{Page, tell_of_more};
use crate::cli::table::{optional, seconds, table};

#[derive(Args)]
pub struct List {
    /// Only deliveries in this state: queued, converted, duplicate, rejected, ignored, failed, parked, unrouted, quarantined
    #[arg(long)]
    status: Option<String>,
    /// Only deliveries of this connection: its name, workspace/name or id
    #[arg(long, value_name = "NAME")]
    connection: Option<String>,
    /// Only deliveries of this instance's provider: its number, name or workspace/name
    #[arg(long, value_name = "NAME", conflicts_with = "connection")]
    instance: Option<String>,
    /// Only deliveries received since a date, or a time such as 2026-01-31T12:00:00Z
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// Only deliveries received before this time
    #[arg(long, value_name = "TIME")]
    until: Option<String>,
    /// Only deliveries last converted by this version of their plugin: 1.2.0, or the start of its digest
    #[arg(long, value_name = "VERSION")]
    version: Option<String>,
    #[command(flatten)]
    page: Page,
    #[command(flatten)]
    service: ServiceAddress,
}

impl List {
    /// Prints a page of deliveries that match the filters.
    ///
    /// # Errors
    ///
    /// [`Failure`] if no admin key is found, or the service cannot be reached or refuses the
    /// request.
    pub async fn run(self) -> Result<(), Failure> {
        let client = self.service.client()?;
        let mut fields = vec![
            ("status", self.status),
            ("connection", self.connection),
            ("instance", self.instance),
            ("since", self.since),
            ("until", self.until),
            ("version", self.version),
        ];
        fields.extend(self.page.fields());
        let path = format!("/admin/v1/deliveries{}", query(&fields));
        let answer = client.get(&path).await?;
        client.print(&answer, show);
        Ok(())
    }
}

fn show(answer: &Deliveries) {
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
                origin(facts),
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
    tell_of_more(answer.next);
}
