//! `leadhost delivery replay`: converts stored deliveries again with the active version. It shows what
//! would be made or changed, and `--apply` writes it, except fields that a person edited. Failed and
//! parked deliveries are accepted as usual at once. Many deliveries are replayed one by one, oldest
//! first, so that a replay can be interrupted. With `--converted-by` the service itself replays all
//! that a version converted, as a repair.

use clap::ArgGroup;

use crate::cli::prelude::*;
use crate::cli::repair;
use leadhost_admin_api::deliveries::{
    Deliveries, DeliveryDetailView, ReplayRequest, Replayed, differences,
};
use leadhost_admin_api::repairs::RepairRequest;
use leadhost_admin_api::replays::{ChangedRows, ReplayChanges};
use leadhost_domain::delivery::{DeliveryStatus, ItemOutcome};
use leadhost_domain::id::DeliveryId;
use leadhost_domain::repair::RepairField;

#[derive(Args)]
#[command(group(ArgGroup::new("which").required(true).multiple(true).args(["id", "failed", "since", "converted_by"])))]
#[command(group(ArgGroup::new("window").multiple(true).args(["since", "converted_by"])))]
pub struct ReplayDeliveries {
    /// The delivery's id
    #[arg(conflicts_with_all = ["failed", "connection", "since"])]
    id: Option<String>,
    /// All failed and parked deliveries
    #[arg(long)]
    failed: bool,
    /// Only deliveries of this connection: its name, workspace/name or id
    #[arg(long, value_name = "NAME")]
    connection: Option<String>,
    /// All deliveries in any state received since a date, a time such as 2026-01-31T12:00:00Z, or how long ago, such as 24h
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// With --since or --converted-by: only deliveries received before this time
    #[arg(long, value_name = "TIME", requires = "window")]
    until: Option<String>,
    /// Only deliveries last converted by this version of their plugin: 1.2.0, or the start of its digest, at least 8 characters
    #[arg(long, value_name = "VERSION", conflicts_with = "id")]
    version: Option<String>,
    /// All deliveries last converted by this version: 1.2.0, or the start of its digest, at least 8 characters, also as NAME@1.2.0 or NAME@DIGEST. The service replays them in the background, keeps a receipt, and can undo it
    #[arg(long, value_name = "VERSION", conflicts_with_all = ["id", "failed", "version"])]
    converted_by: Option<String>,
    /// With --converted-by: the version's plugin, if several have such a version
    #[arg(long, value_name = "NAME", requires = "converted_by", conflicts_with_all = ["id", "failed"])]
    plugin: Option<String>,
    /// With --converted-by: change only this field of existing leads: name, phone, email, listing, title, message
    #[arg(long, value_name = "FIELD", requires = "converted_by", conflicts_with_all = ["id", "failed"])]
    field: Option<RepairField>,
    /// With --converted-by: do not wait for the end
    #[arg(long, requires = "converted_by", conflicts_with_all = ["id", "failed"])]
    detach: bool,
    /// Write the results of the conversion: create new leads and change existing ones. Failed and parked deliveries are converted even without this flag
    #[arg(long)]
    apply: bool,
    /// Release a quarantined delivery; its sender check runs again
    #[arg(long, requires = "id")]
    release: bool,
}

impl ServiceCommand for ReplayDeliveries {
    async fn run(self, client: AdminClient) -> CommandResult {
        match (&self.id, &self.converted_by) {
            (Some(id), _) => self.one(&client, id).await,
            (None, Some(version)) => {
                let request = RepairRequest {
                    converted_by: version.clone(),
                    plugin: self.plugin.clone(),
                    connection: self.connection.clone(),
                    since: self.since.clone(),
                    until: self.until.clone(),
                    field: self.field,
                    apply: self.apply,
                };
                repair::start(&client, &request, self.detach).await
            }
            (None, None) => self.many(&client).await,
        }
    }
}

impl ReplayDeliveries {
    async fn one(&self, client: &AdminClient, id: &str) -> CommandResult {
        let path = format!("/admin/v1/deliveries/{}", encoded(id));
        // If it cannot be read, the replay says why.
        let before = if client.json() {
            None
        } else {
            client.get::<DeliveryDetailView>(&path).await.ok()
        };
        let options = ReplayRequest {
            apply: self.apply,
            release: self.release,
            expected: None,
        };
        let answer = client.post(&format!("{path}/replay"), &options).await?;
        client.print(&answer, |answer: &Replayed| {
            say(&safe(&answer.sentence()));
            say_more_rows(&answer.items);
            show_differences(&answer.items, self.apply);
            let changes_nothing = before.is_some_and(|before| {
                before.facts.status == answer.status
                    && answer.stays().is_none()
                    && is_finished(answer.status)
                    && are_unchanged(&before.items, &answer.items)
            });
            if changes_nothing {
                say(if self.apply {
                    "Nothing changed."
                } else {
                    "Nothing would change."
                });
            }
        });
        Ok(())
    }

    async fn many(&self, client: &AdminClient) -> CommandResult {
        let progress = ProgressLine::start("finding deliveries");
        let ids = self.find(client).await?;
        let options = ReplayRequest {
            apply: self.apply,
            release: false,
            expected: None,
        };
        let mut counted = BTreeMap::<&str, u64>::new();
        let mut changes = ReplayChanges::default();
        for (index, id) in ids.iter().enumerate() {
            progress.update(&format!("replaying {} of {}", index + 1, ids.len()));
            let path = format!("/admin/v1/deliveries/{id}/replay");
            let became = match client.try_post::<Replayed>(&path, &options).await? {
                Ok(answer) => {
                    if client.json() {
                        say(&answer.json.to_string());
                    }
                    changes.add(&answer.items);
                    match answer.stays() {
                        Some(_) => "failed and stay as they were",
                        None => answer.status.as_str(),
                    }
                }
                // Another replay holds it, or it no longer exists. Continue with the others.
                Err(refusal) if refusal.status.is_client_error() => {
                    if client.json() {
                        say(&json!({ "id": id, "error": refusal.message }).to_string());
                    }
                    "not replayed"
                }
                Err(refusal) => return Err(refusal.into()),
            };
            *counted.entry(became).or_default() += 1;
        }
        drop(progress);
        if client.json() {
            return Ok(());
        }
        let counts: Vec<String> = counted
            .iter()
            .map(|(became, count)| format!("{count} {became}"))
            .collect();
        if counts.is_empty() {
            say("There is nothing to replay.");
        } else {
            say!("Replayed {}: {}.", ids.len(), counts.join(", "));
            say(&summary(&changes, self.apply));
        }
        Ok(())
    }

    async fn find(&self, client: &AdminClient) -> CommandResult<Vec<DeliveryId>> {
        let states: &[Option<DeliveryStatus>] = if self.failed {
            &[Some(DeliveryStatus::Failed), Some(DeliveryStatus::Parked)]
        } else {
            &[None]
        };
        let mut ids = Vec::new();
        for status in states {
            let mut before = None;
            loop {
                let path = format!(
                    "/admin/v1/deliveries{}",
                    query(&[
                        ("status", status.map(|one| one.as_str().to_owned())),
                        ("connection", self.connection.clone()),
                        ("since", self.since.clone()),
                        ("until", self.until.clone()),
                        ("version", self.version.clone()),
                        ("before", before),
                        ("limit", Some("500".to_owned())),
                    ])
                );
                let page = client.get::<Deliveries>(&path).await?;
                ids.extend(page.deliveries.iter().map(|delivery| delivery.facts.id));
                before = page.next.map(|id| id.to_string());
                if before.is_none() {
                    break;
                }
            }
        }
        // Ids sort by the time of receipt.
        ids.sort_unstable();
        Ok(ids)
    }
}

pub(super) fn summary(changes: &ReplayChanges, applied: bool) -> String {
    let kept = match changes.kept {
        0 => String::new(),
        kept => format!(
            " {}.",
            count(
                kept,
                "field that a person edited is kept",
                "fields that people edited are kept"
            )
        ),
    };
    let messages = match changes.messages {
        0 => String::new(),
        new => format!(
            "{} not stored yet; --apply stores them. ",
            count(new, "message is", "messages are")
        ),
    };
    if changes.deals.rows + changes.contacts.rows == 0 {
        return format!("{messages}No deal or contact differs.{kept}");
    }
    let deals = rows(&changes.deals, "deal", "deals");
    let contacts = rows(&changes.contacts, "contact", "contacts");
    if applied {
        format!("Changed {deals} and {contacts}.{kept}")
    } else {
        format!("{messages}{deals} and {contacts} differ; --apply writes the changes.{kept}")
    }
}

/// Returns a text such as `2 deals (person 2, title 1)`.
fn rows(changed: &ChangedRows, one: &str, many: &str) -> String {
    let rows = count(changed.rows, one, many);
    let fields = changed.fields.iter();
    let fields: Vec<_> = fields
        .map(|(name, n)| format!("{} {n}", safe(name)))
        .collect();
    match fields.as_slice() {
        [] => rows,
        fields => format!("{rows} ({})", fields.join(", ")),
    }
}

/// Returns whether a delivery of this status has its result: it is not converted again automatically.
fn is_finished(status: DeliveryStatus) -> bool {
    match status {
        DeliveryStatus::Converted
        | DeliveryStatus::Duplicate
        | DeliveryStatus::Rejected
        | DeliveryStatus::Ignored
        | DeliveryStatus::Unrouted => true,
        DeliveryStatus::Queued
        | DeliveryStatus::Failed
        | DeliveryStatus::Parked
        | DeliveryStatus::Quarantined => false,
    }
}

fn are_unchanged(before: &[ItemOutcome], after: &[ItemOutcome]) -> bool {
    let result = |item: &ItemOutcome| {
        (
            item.index,
            item.status,
            item.deal_id,
            item.contact_id,
            item.message.clone(),
        )
    };
    after.iter().all(|item| item.diff.is_empty())
        && before.iter().map(result).eq(after.iter().map(result))
}

fn show_differences(items: &[ItemOutcome], applied: bool) {
    let fields: Vec<_> = items.iter().flat_map(differences).collect();
    say_more_rows(&fields);
    if !fields.is_empty() && !applied {
        complain("None of these changes was written: --apply writes them.");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use leadhost_domain::delivery::{FieldDiff, ItemStatus};
    use leadhost_domain::id::{ContactId, DealId};
    use leadhost_domain::repair::CREATED_MESSAGE;

    #[test]
    fn changes_are_counted_by_field() {
        let mut changes = ReplayChanges::default();
        assert_eq!(summary(&changes, true), "No deal or contact differs.");
        let contact = ContactId::random();
        let item = |diff: &[(&str, bool)]| {
            let diff = diff.iter().map(|(field, edited)| FieldDiff {
                field: (*field).to_owned(),
                before: Value::Null,
                after: Value::Null,
                applied: false,
                edited_by_person: *edited,
            });
            ItemOutcome {
                index: 0,
                status: ItemStatus::Converted,
                external_id: None,
                deal_id: Some(DealId::new(Micros(0))),
                contact_id: Some(contact),
                message: None,
                diff: diff.collect(),
            }
        };
        let first = item(&[("deal.person", false), ("contact.phone_number", false)]);
        let second = item(&[("deal.person", false), ("deal.title", true)]);
        changes.add(&[first, second]);
        let deals = "2 deals (person 2) and 1 contact (phone_number 1)";
        let kept = "1 field that a person edited is kept.";
        assert_eq!(summary(&changes, true), format!("Changed {deals}. {kept}"));
        assert_eq!(
            summary(&changes, false),
            format!("{deals} differ; --apply writes the changes. {kept}")
        );
    }

    #[test]
    fn messages_that_are_not_stored_yet_are_counted() {
        let item = |id: &str| ItemOutcome {
            index: 0,
            status: ItemStatus::Converted,
            external_id: Some(id.to_owned()),
            deal_id: None,
            contact_id: None,
            message: None,
            diff: vec![FieldDiff {
                field: CREATED_MESSAGE.to_owned(),
                before: Value::Null,
                after: Value::Bool(true),
                applied: false,
                edited_by_person: false,
            }],
        };
        let mut changes = ReplayChanges::default();
        changes.add(&[item("m-1"), item("m-2"), item("m-1")]);
        assert_eq!(
            summary(&changes, false),
            "2 messages are not stored yet; --apply stores them. No deal or contact differs."
        );
    }

    #[test]
    fn a_replay_changes_nothing_if_every_item_is_as_it_was() {
        let item = |status, diff: Vec<FieldDiff>| ItemOutcome {
            index: 0,
            status,
            external_id: None,
            deal_id: None,
            contact_id: None,
            message: None,
            diff,
        };
        let diff = FieldDiff {
            field: "deal.title".to_owned(),
            before: Value::Null,
            after: Value::Null,
            applied: false,
            edited_by_person: false,
        };
        let converted = || item(ItemStatus::Converted, Vec::new());
        let before = [converted()];
        assert!(are_unchanged(&before, &[converted()]));
        assert!(!are_unchanged(&before, &[converted(), converted()]));
        let invalid = item(ItemStatus::Invalid, Vec::new());
        assert!(!are_unchanged(&[invalid], &[converted()]));
        let differs = item(ItemStatus::Converted, vec![diff]);
        assert!(!are_unchanged(&before, &[differs]));
    }
}
