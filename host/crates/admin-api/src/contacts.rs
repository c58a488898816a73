use super::deals::DealSummary;
use super::people::{ConversationSummary, TicketSummary};
use crate::prelude::*;
use leadhost_domain::contact::FoundBy;
use leadhost_domain::id::ErasureId;

/// The contacts that a search found.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct Contacts {
    pub contacts: Vec<ContactSummary>,
}

/// A contact.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContactSummary {
    pub id: ContactId,
    /// The workspace's slug.
    pub workspace: String,
    pub name: Option<String>,
    /// In E.164, with its plus sign.
    pub phone_number: Option<String>,
    pub email: Option<String>,
    /// When it last asked for no more messages. Null if it may get messages.
    pub banned_at: Option<Micros>,
    pub created_at: Micros,
    pub updated_at: Micros,
    /// The key by which it was found. An erasure by its id takes this as `foundBy`.
    pub found_by: FoundBy,
}

/// A contact with what belongs to it.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContactDetail {
    #[serde(flatten)]
    pub facts: ContactSummary,
    /// Its match keys: `phone:`, `email:` or the name of a channel, and the normalised value. Leads and
    /// messages find it by them.
    pub keys: Vec<String>,
    /// Its latest deals, newest first.
    pub deals: Vec<DealSummary>,
    /// Its latest conversations, newest first.
    pub conversations: Vec<ConversationSummary>,
    /// Its latest tickets, newest first.
    pub tickets: Vec<TicketSummary>,
}

/// A person to erase, named by one of `id`, `phone` and `email`.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EraseRequest {
    /// The workspace's slug or id. Required with `phone` and `email`; without it, all
    /// workspaces are searched for the id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    /// The contact's id. For an erased contact, the id in the receipt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<ContactId>)]
    pub id: Option<String>,
    /// The contact's phone number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phone: Option<String>,
    /// The contact's e-mail address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub email: Option<String>,
    /// How the id was found: the `foundBy` of the search. The receipt has it. Only with `id`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found_by: Option<FoundBy>,
    /// Only counts what would be removed.
    #[serde(default)]
    pub dry_run: bool,
    /// Also removes unconverted deliveries that name the person.
    #[serde(default)]
    pub unconverted: bool,
}

/// The result of an erasure, or of a dry run. It names the person by id alone.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct EraseReceipt {
    /// Whether nothing was removed.
    pub dry_run: bool,
    /// The id of the record. Null in a dry run.
    pub id: Option<ErasureId>,
    /// The workspace's slug.
    pub workspace: String,
    pub workspace_id: WorkspaceId,
    pub contact_id: ContactId,
    /// The key by which the person was found.
    pub found_by: FoundBy,
    /// The operator's key. Null in a dry run.
    pub key_id: Option<KeyId>,
    /// When the erasure began. Null in a dry run.
    pub began_at: Option<Micros>,
    /// When the erasure ended. Null in a dry run.
    pub done_at: Option<Micros>,
    pub erased: ErasedCounts,
    pub remaining: Remaining,
    /// Other contacts with the address or number by which the person was found. They stay.
    pub others: Vec<ContactId>,
    /// Data that the service cannot know or reach. Empty in a dry run.
    pub not_reached: Vec<String>,
}

/// A page of erasures, newest first.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct Erasures {
    pub erasures: Vec<ErasureView>,
    /// The `before` of the next page. Null on the last page.
    pub next: Option<ErasureId>,
}

/// The record of an erasure. It contains no personal data.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ErasureView {
    pub id: ErasureId,
    pub workspace_id: WorkspaceId,
    /// The workspace's slug. Null if it no longer exists.
    pub workspace: Option<String>,
    pub contact_id: ContactId,
    /// The key by which the person was found.
    pub found_by: FoundBy,
    /// The operator's key.
    pub key_id: KeyId,
    /// The label of the operator's key. Null if the key no longer exists.
    pub key: Option<String>,
    pub began_at: Micros,
    /// Null: the erasure was interrupted or is still running.
    pub done_at: Option<Micros>,
    pub erased: ErasedCounts,
    /// The deliveries that were kept and still exist.
    pub remaining: Remaining,
}

/// The record of an erasure as a receipt. It contains no personal data.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ErasureRecord {
    #[serde(flatten)]
    pub erasure: ErasureView,
    /// Data that the service cannot know or reach.
    pub not_reached: Vec<String>,
}

/// The number of rows that were erased, or would be.
#[derive(Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ErasedCounts {
    pub contacts: u64,
    pub contact_keys: u64,
    pub deals: u64,
    pub deal_changes: u64,
    pub deal_logs: u64,
    pub conversations: u64,
    pub messages: u64,
    pub message_errors: u64,
    pub tickets: u64,
    pub sends: u64,
    pub holds: u64,
    pub channel_refs: u64,
    /// Answers kept under idempotency keys. The keys themselves stay until they expire.
    pub idempotency_answers: u64,
    /// Deliveries that brought only this person.
    pub deliveries: u64,
    /// Deliveries that also brought others. They are emptied; the outcomes of the other items
    /// are kept.
    pub shared_deliveries: u64,
    /// Answers of sources to fetches for this person.
    pub fetch_answers: u64,
    /// Values in receipts of repairs. The rows stay, without them.
    pub repair_changes: u64,
}

/// Data that was found and kept.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Remaining {
    /// The first of the deliveries that name the person and are not converted yet.
    pub deliveries: Vec<RemainingDelivery>,
    /// The number of further deliveries.
    pub more_deliveries: u64,
}

/// A delivery that was kept, because its leads are not known yet.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct RemainingDelivery {
    pub id: DeliveryId,
    pub status: DeliveryStatus,
}

columns! {
    ContactSummary as contact {
        "Name" main => Cell::from(contact.name.as_deref().unwrap_or_default()).reason(Some(&contact.workspace)),
        "Phone" => &contact.phone_number,
        "E-mail" => &contact.email,
        "Since" named => contact.created_at,
        "Contact" => Cell::id(contact.id)
            .link(format!("/contacts/{}?found={}", contact.id, contact.found_by)),
    }

    ErasureView as erasure {
        "Id" facts => Cell::id(erasure.id),
        "Workspace" facts => match &erasure.workspace {
            Some(slug) => Cell::from(slug),
            None => Cell::id(erasure.workspace_id),
        },
        "Began" => erasure.began_at,
        "Done" => match erasure.done_at {
            Some(at) => Cell::from(at),
            None => Cell::from("not yet").tag("begun"),
        },
        "By" lists => match &erasure.key {
            Some(key) => Cell::from(key),
            None => Cell::id(erasure.key_id),
        },
        "Contact" => Cell::id(erasure.contact_id),
        "Found by" named => erasure.found_by.to_string(),
        "Deals" number named => erasure.erased.deals,
        "Messages" number named => erasure.erased.messages,
        "Deliveries" number named => erasure.erased.deliveries,
        "Remaining" number named => erasure.remaining.count(),
        "Erased by" facts => Cell::from(&erasure.key).or("key").note(Some(erasure.key_id)),
        "Erasure" commands => Cell::id(erasure.id),
        "Receipt" lists => Cell::from("receipt")
            .link(format!("/contacts/erasures/{}", erasure.id))
            .label(format!("Receipt of {}", erasure.contact_id)),
    }

    ContactDetail as contact {
        "Id" => Cell::id(contact.facts.id),
        "Phone" => &contact.facts.phone_number,
        "E-mail" => &contact.facts.email,
        "Match keys" => Cell::from((!contact.keys.is_empty()).then(|| contact.keys.join(", ")))
            .mono()
            .or("none"),
        "Workspace" => &contact.facts.workspace,
        "Banned" => contact.facts.banned_at.map(|at| Cell::from(at).tag("warn").note(Some("no messages"))),
        "Created" => contact.facts.created_at,
        "Changed" => contact.facts.updated_at,
    }

    ErasedCounts as erased {
        "Contacts" number => erased.contacts,
        "Match keys" number => erased.contact_keys,
        "Deals" number => erased.deals,
        "Changes of deals" number => erased.deal_changes,
        "Notes on deals" number => erased.deal_logs,
        "Conversations" number => erased.conversations,
        "Messages" number => erased.messages,
        "Failures of messages" number => erased.message_errors,
        "Messages that wait to be sent" number => erased.sends,
        "Providers' ids of messages" number => erased.channel_refs,
        "Holds" number => erased.holds,
        "Tickets" number => erased.tickets,
        "Deliveries" number => erased.deliveries,
        "Deliveries that also brought others, emptied" number => erased.shared_deliveries,
        "Answers to fetches" number => erased.fetch_answers,
        "Answers stored under idempotency keys" number => erased.idempotency_answers,
        "Changes in receipts of repairs, emptied" number => erased.repair_changes,
    }

    RemainingDelivery as delivery {
        "Delivery" => Cell::id(delivery.id).link(format!("/deliveries/{}", delivery.id)),
        "Status" => Cell::word(delivery.status.as_str()),
    }
}

impl Remaining {
    pub fn count(&self) -> u64 {
        self.more_deliveries
            .saturating_add(self.deliveries.len() as u64)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, Value};

    use super::ErasedCounts;
    use crate::columns::Described as _;

    #[test]
    fn each_count_of_an_erasure_has_its_column() {
        let names = serde_json::to_value(ErasedCounts::default()).expect("it is JSON");
        let names = names.as_object().expect("an object").keys().cloned();
        let numbered: Map<String, Value> = names.zip((1..).map(Value::from)).collect();
        let counts = numbered.len();
        let erased: ErasedCounts =
            serde_json::from_value(numbered.into()).expect("all counts are there");
        let columns = ErasedCounts::columns().into_iter();
        let shown = columns.map(|column| (column.value)(&erased).written());
        let mut shown: Vec<usize> = shown.map(|text| text.parse().expect("a number")).collect();
        shown.sort_unstable();
        assert!(shown.into_iter().eq(1..=counts));
    }
}
