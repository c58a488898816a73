//! `leadhost plugin verify`: compares a version with the one that serves, on stored deliveries.

use clap::Args;

use super::{stored, unstored, verifying};
use crate::admin_api::plugins::{
    DifferenceView, FieldDifference, SendDifferences, VerifiedPlugin, VerifiedSends, VerifyRequest,
};
use crate::cli::client::{ServiceAddress, encoded, query};
use crate::cli::failure::CommandFailure;
use crate::cli::output::{count, say};
use crate::cli::progress::ProgressLine;
use crate::cli::table::{optional, safe, table};
use crate::domain::plugin::Digest;

#[derive(Args)]
pub struct Verify {
    /// A component, a core module or the folder of a built project; oci://REGISTRY/NAME:TAG of a registry; or NAME@DIGEST of a stored version: its first 8 or more characters are enough
    what: String,
    /// Compare at most this many deliveries, and of an adapter as many sends: the newest of each connection and outcome; failed and parked ones take at most half, unless there are too few others
    #[arg(long, value_name = "COUNT")]
    last: Option<u32>,
    /// Only deliveries received, and messages sent, since a date, a time such as 2026-01-31T12:00:00Z, or how long ago, such as 24h
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// Only failed and parked deliveries, and sends that the provider did not accept
    #[arg(long)]
    failed: bool,
    /// Stop after this many seconds, with what was compared by then
    #[arg(long, value_name = "SECONDS")]
    seconds: Option<u64>,
    #[command(flatten)]
    service: ServiceAddress,
}

impl Verify {
    /// Compares a component of a file or a registry, or a stored version named as `NAME@DIGEST`, with the version
    /// that serves, and prints the differences.
    ///
    /// # Errors
    ///
    /// [`CommandFailure`] if an activation would be refused for them, the file cannot be read, or if no admin key is found, or the service
    /// cannot be reached or refuses the request.
    pub async fn run(self) -> Result<(), CommandFailure> {
        let client = self.service.client()?;
        let query = query(&[
            ("last", self.last.map(|last| last.to_string())),
            ("since", self.since),
            ("failed", self.failed.then(|| "true".to_owned())),
            ("seconds", self.seconds.map(|seconds| seconds.to_string())),
        ]);
        let progress = || ProgressLine::start("converting stored deliveries with both versions");
        let answer = match stored(&self.what) {
            Some((name, digest)) => {
                let progress = progress();
                let path = format!("/admin/v1/plugins/{}/verify{query}", encoded(name));
                let body = VerifyRequest {
                    digest: digest.to_owned(),
                };
                let request = client.try_post(&path, &body);
                verifying::shown(&client, &progress, digest, request).await?
            }
            None => {
                let wasm = unstored::read(&self.what, &client).await?.wasm;
                let progress = progress();
                let path = format!("/admin/v1/plugins/verify{query}");
                let digest = Digest::compute(&wasm);
                let request = client.post_wasm(&path, wasm);
                verifying::shown(&client, &progress, &digest.0, request).await?
            }
        };
        let verified = answer.map_err(CommandFailure::from)?;
        client.print(&verified, show);
        if verified.drift.is_empty() {
            return Ok(());
        }
        let drift = verified.drift.join("; ");
        Err(CommandFailure::new(safe(&format!(
            "an activation would be refused: {drift}"
        ))))
    }
}

/// Prints how far both versions agree, and a table of the differences.
pub fn show(verified: &VerifiedPlugin) {
    let candidate = format!(
        "{} {} ({})",
        verified.name,
        verified.version,
        verified.digest.short()
    );
    let Some(other) = &verified.against else {
        return say(&safe(&format!(
            "No version of {} is active, so there is nothing to compare {candidate} with; {} passed.",
            verified.name,
            golden(verified)
        )));
    };
    if other.digest == verified.digest {
        return say(&safe(&format!(
            "{candidate} is {}, so there is nothing to compare; {} passed.",
            if other.active {
                "the active version"
            } else {
                "compared with itself"
            },
            golden(verified)
        )));
    }
    let other_name = format!(
        "{} ({}{})",
        other.version,
        other.digest.short(),
        if other.active { ", active" } else { "" }
    );
    let sends = verified.sends.as_ref().filter(|sends| sends.chosen > 0);
    if verified.chosen == 0 && sends.is_none() {
        return say(&safe(&format!(
            "{candidate} was not compared with {other_name}: there is no such stored delivery or send, or none is to be compared; {} passed.",
            golden(verified)
        )));
    }
    say(&safe(&format!(
        "{candidate} compared with {other_name} on {}: {} the same; {} with {}, {} with {}.",
        count(verified.compared, "delivery", "deliveries"),
        verified.same,
        count(verified.leads, "lead", "leads"),
        other.version,
        verified.candidate_leads,
        verified.version,
    )));
    for (what, many) in [
        ("Deliveries not reached in time", verified.not_reached),
        ("Deliveries without a body any more", verified.emptied),
        (
            "Deliveries that could not be converted just now",
            verified.not_tried,
        ),
        (
            "Connections not covered",
            verified.connections_not_covered as u64,
        ),
    ] {
        if many > 0 {
            say(&format!("{what}: {many}"));
        }
    }
    let differences = VersionDifferences {
        newly_failing: &verified.newly_failing,
        no_longer_failing: &verified.no_longer_failing,
        vanished: &verified.vanished,
        appeared: &verified.appeared,
        items: &verified.items,
        fields: &verified.fields,
    };
    differences.show(&other.version, &verified.version);
    if let Some(sends) = sends {
        show_sends(sends, &other.version, &verified.version);
    }
}

/// Prints how far both versions agree on sends, and a table of the differences.
fn show_sends(sends: &VerifiedSends, other: &str, candidate: &str) {
    say("");
    let differences = &sends.differences;
    say(&safe(&agreement(differences)));
    for (what, many) in [
        ("Sends not reached in time", sends.not_reached),
        ("Sends removed meanwhile", sends.emptied),
        (
            "Sends on which the versions could not be called just now",
            sends.not_tried,
        ),
    ] {
        if many > 0 {
            say(&format!("{what}: {many}"));
        }
    }
    show_send_differences(differences, other, candidate);
}

/// Returns how far both versions agree on sends.
pub fn agreement(sends: &SendDifferences) -> String {
    format!(
        "Compared on {}: {} the same, {} with another request.",
        count(sends.compared, "send", "sends"),
        sends.same,
        sends.changed,
    )
}

/// Prints a table of the differences of sends, if there are any.
pub fn show_send_differences(sends: &SendDifferences, other: &str, candidate: &str) {
    let groups = [
        ("send fails", &sends.newly_failing),
        ("send no longer fails", &sends.no_longer_failing),
        ("request appears or vanishes", &sends.items),
    ];
    print(&groups, &sends.fields, (other, candidate), "MESSAGE");
}

/// The differences between two versions.
pub struct VersionDifferences<'a> {
    pub newly_failing: &'a DifferenceView,
    pub no_longer_failing: &'a DifferenceView,
    pub vanished: &'a DifferenceView,
    pub appeared: &'a DifferenceView,
    pub items: &'a DifferenceView,
    pub fields: &'a [FieldDifference],
}

impl VersionDifferences<'_> {
    /// Prints a table of the differences, if there are any. `other` and `candidate` are the names
    /// of the versions.
    pub fn show(&self, other: &str, candidate: &str) {
        let groups = [
            ("delivery fails", self.newly_failing),
            ("delivery no longer fails", self.no_longer_failing),
            ("lead vanishes", self.vanished),
            ("lead appears", self.appeared),
            ("other item changes its kind", self.items),
        ];
        print(&groups, self.fields, (other, candidate), "DELIVERY");
    }
}

/// Prints a table of differences, if there are any. `subject`: the heading of the last column.
pub fn print(
    groups: &[(&str, &DifferenceView)],
    fields: &[FieldDifference],
    (other, candidate): (&str, &str),
    subject: &str,
) {
    let groups = groups
        .iter()
        .filter(|(_, group)| group.count > 0)
        .map(|(name, group)| row((*name).to_owned(), group));
    let rows: Vec<Vec<String>> = groups.chain(fields.iter().map(field_row)).collect();
    if !rows.is_empty() {
        say("");
        say(&table(
            &[
                "DIFFERENCE",
                "COUNT",
                &format!("WITH {other}"),
                &format!("WITH {candidate}"),
                subject,
            ],
            &rows,
        ));
    }
}

fn golden(verified: &VerifiedPlugin) -> String {
    count(verified.golden, "golden case", "golden cases")
}

fn field_row(field: &FieldDifference) -> Vec<String> {
    let name = format!("{}: {}", field.field, field.change.as_str());
    row(name, &field.differences)
}

/// Returns a row with the first example. Values are masked by the service.
fn row(name: String, differences: &DifferenceView) -> Vec<String> {
    let example = differences.examples.first();
    vec![
        name,
        differences.count.to_string(),
        optional(example.and_then(|one| one.before.as_ref())),
        optional(example.and_then(|one| one.after.as_ref())),
        optional(example.and_then(|one| {
            let delivery = one.delivery_id.map(|id| id.to_string());
            delivery.or_else(|| one.message_id.map(|id| id.to_string()))
        })),
    ]
}
