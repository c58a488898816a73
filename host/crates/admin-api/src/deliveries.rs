use crate::prelude::*;
use leadhost_domain::delivery::{FieldDiff, ItemOutcome};
use leadhost_domain::plugin::RanWith;
use leadhost_domain::size;

/// A page of deliveries, newest first.
#[derive(Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Deliveries {
    pub deliveries: Vec<DeliveryView>,
    /// The `before` of the next page. Null on the last page.
    pub next: Option<DeliveryId>,
    /// The time back to which this page has looked, if that is why it is not full: `next` looks on from
    /// there. A page looks through a bounded number of deliveries for a `version`. Null if the page is
    /// full, or nothing is left.
    pub searched_until: Option<Micros>,
    /// Of deliveries that came in before this time, a search by an external id, a phone or an e-mail
    /// address may find only those that became leads. Null if all are searched, or none was.
    #[serde(default)]
    pub only_leads_before: Option<Micros>,
}

/// A delivery in a list.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct DeliveryView {
    #[serde(flatten)]
    pub facts: DeliveryFacts,
    /// The number of its items.
    pub items: u32,
}

/// The facts about a delivery that a list and a single answer have in common.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeliveryFacts {
    pub id: DeliveryId,
    pub connection_id: ConnectionId,
    /// The source's name, or the instance's if its provider sent it.
    pub connection: String,
    /// The instance whose provider sent it. Null if it came from a source.
    pub instance_id: Option<AgentId>,
    pub received_at: Micros,
    pub status: DeliveryStatus,
    /// The length of its body.
    pub bytes: u64,
    /// How often its conversion failed on one version of the plugin.
    pub attempts: u32,
    /// The version that converted it last. Null if none did yet.
    pub ran: Option<RanWith>,
    /// Why it was refused, failed or quarantined.
    pub error: Option<String>,
}

/// A delivery with its request and its items.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeliveryDetailView {
    #[serde(flatten)]
    pub facts: DeliveryFacts,
    pub workspace_id: WorkspaceId,
    pub items: Vec<ItemOutcome>,
    /// The notes of its conversion for people, with what the plugin wrote to its standard output and
    /// error; after a failure, the last lines of that. Before them, what failed before a later attempt, a
    /// line for each version and each fetch that failed.
    pub notes: Vec<String>,
    /// When it is converted again. Null if it does not wait.
    pub next_attempt_at: Option<Micros>,
    /// The fetches that are still to be made, at most 20.
    #[serde(default)]
    pub fetches: Vec<FetchView>,
    /// The answers to its fetches as far as they are stored, in the order in which they came.
    #[serde(default)]
    pub answers: Vec<AnswerView>,
    /// Whether there are more answers than there was room for.
    #[serde(default)]
    pub answers_left_out: bool,
    pub request: RequestView,
}

/// A fetch that is still to be made.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct FetchView {
    /// The item that it is for.
    pub item: u32,
    /// The source's id of the lead.
    pub external_id: Option<String>,
    /// The method and the address, with its secrets masked.
    pub request: String,
    /// How often it was tried.
    pub attempts: u32,
    /// When it is tried next.
    pub next_attempt_at: Micros,
    /// When it is given up.
    pub given_up_at: Micros,
}

/// A stored answer to a fetch, with its secrets masked.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AnswerView {
    /// The item that the fetch was for.
    pub item: u32,
    /// The source's id of the lead.
    pub external_id: Option<String>,
    /// The method and the address, with its secrets masked.
    pub request: String,
    pub status: u16,
    /// The body if it is UTF-8. Null otherwise.
    pub body: Option<String>,
    /// The body in base64 if it is not UTF-8. Null otherwise.
    pub body_base64: Option<String>,
}

/// A request as it is stored, with its secrets masked. An erasure empties it.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RequestView {
    pub method: String,
    pub path: String,
    /// Names and values, in their order.
    pub query: Vec<(String, String)>,
    /// Names and values, in their order.
    pub headers: Vec<(String, String)>,
    /// The body if it is UTF-8. Null otherwise.
    pub body: Option<String>,
    /// The body in base64 if it is not UTF-8. Null otherwise.
    pub body_base64: Option<String>,
}

/// How to convert a delivery again.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ReplayRequest {
    /// Write what the conversion makes, and the differences except where a person has edited since.
    /// Without it the answer shows what would be made or changed, and nothing is: a new lead has the
    /// difference `deal.created`. A failed or parked delivery is converted without it, too.
    #[serde(default)]
    pub apply: bool,
    /// Release a quarantined delivery if its sender check passes now.
    #[serde(default)]
    pub release: bool,
    /// The status that the delivery had when it was looked at. If it has changed since, the request is
    /// refused with 409 and changes nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<DeliveryStatus>,
}

/// A delivery after it was converted again.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct Replayed {
    pub id: DeliveryId,
    pub status: DeliveryStatus,
    /// Why it was not converted. One that has made leads keeps them, and its status. Null if it was.
    #[serde(default)]
    pub error: Option<String>,
    pub items: Vec<ItemOutcome>,
}

impl Replayed {
    /// Returns why its conversion failed, if it stays as it was.
    pub fn stays(&self) -> Option<&str> {
        let error = self.error.as_deref();
        let has_made = matches!(
            self.status,
            DeliveryStatus::Converted | DeliveryStatus::Duplicate
        );
        error.filter(|_| has_made)
    }

    pub fn sentence(&self) -> String {
        let (id, status) = (self.id, self.status.as_str());
        match (self.stays(), &self.error) {
            (Some(why), _) => format!("{id}: not converted, and stays {status}: {why}"),
            (None, Some(why)) => format!("{id}: {status}: {why}"),
            (None, None) => format!("{id}: {status}"),
        }
    }
}

columns! {
    ListedDelivery<'_> as listed {
        "Id" commands => Cell::id(listed.facts().id),
        "Received" => Cell::from(listed.facts().received_at).link(listed.page()),
        "From" => &listed.sender,
        "Status" main => Cell::word(listed.facts().status.as_str()).reason(listed.facts().error.as_ref()),
        "Items" number named => listed.delivery.items,
        "Bytes" number commands => listed.facts().bytes,
        "Converted by" => listed.facts().ran.as_ref().map(|ran| {
            format!("{} {} ({})", ran.plugin, ran.version, ran.digest.short())
        }),
        "Error" commands => &listed.facts().error,
        "Delivery" more pages => Cell::id(listed.facts().id).link(listed.page()),
    }

    DeliveryDetailView as delivery {
        "Delivery" => Cell::id(delivery.facts.id),
        "Status" => Cell::word(delivery.facts.status.as_str()),
        "Error" => &delivery.facts.error,
        "From" => Cell::from(origin(&delivery.facts.connection, &delivery.facts))
            .link(format!("/deliveries?connection={}", delivery.facts.connection_id)),
        "Received" => delivery.facts.received_at,
        "Size" => size::readable(delivery.facts.bytes),
        "Attempts" => delivery.facts.attempts,
        "Next attempt" => delivery.next_attempt_at,
        "Converted by" => delivery.facts.ran.as_ref().map(|ran| {
            let digest = ran.digest.short();
            Cell::from(format!("{} {} ({digest}), {}", ran.plugin, ran.version, ran.contract))
                .link(format!("/plugins/{}", ran.plugin))
        }),
        "Configuration" => delivery.facts.ran.as_ref().map(|ran| {
            Cell::from(ran.config_version).link(match delivery.facts.instance_id {
                Some(id) => format!("/instances/{id}"),
                None => format!("/connections/{}", delivery.facts.connection_id),
            })
        }),
    }

    ItemOutcome as item {
        "Item" => item.index,
        "Status" => Cell::word(item.status.as_str()),
        "External id" => &item.external_id,
        "Deal" => item.deal_id.map(|id| Cell::id(id).link(format!("/deals/{id}"))),
        "Contact" => item.contact_id.map(|id| Cell::id(id).link(format!("/contacts/{id}"))),
        "Message" => &item.message,
    }

    ItemDifference<'_> as of {
        "Item" commands => of.item.index,
        "Field" => &of.diff.field,
        "Before" => Cell::id(shortened(&of.diff.before)),
        "After" => Cell::id(shortened(&of.diff.after)),
        "Note" => match (of.diff.applied, of.diff.edited_by_person) {
            (true, _) => Cell::from("written"),
            (false, true) => Cell::from("kept: edited by a person").tag("warn"),
            (false, false) => Cell::from("differs"),
        },
    }

    FetchView as fetch {
        "Item" => fetch.item,
        "Request" => Cell::id(&fetch.request),
        "Attempts" number => fetch.attempts,
        "Next" => fetch.next_attempt_at,
        "Given up" => fetch.given_up_at,
    }
}

/// A field that a replay would change, with its item.
pub struct ItemDifference<'a> {
    item: &'a ItemOutcome,
    diff: &'a FieldDiff,
}

/// Returns a value as far as a table shows it.
fn shortened(value: &Value) -> String {
    let mut text = value.to_string();
    if text.len() > limits::SHOWN_VALUE_BYTES {
        text.truncate(text.floor_char_boundary(limits::SHOWN_VALUE_BYTES));
        text += "... (--json prints all of it)";
    }
    text
}

pub fn differences(item: &ItemOutcome) -> Vec<ItemDifference<'_>> {
    let all = item.diff.iter();
    all.map(|diff| ItemDifference { item, diff }).collect()
}

/// Returns the sender with this name: a connection, or an instance's provider.
pub fn origin(name: &str, delivery: &DeliveryFacts) -> String {
    match delivery.instance_id {
        None => name.to_owned(),
        Some(instance) => format!("{name} (instance {instance})"),
    }
}

/// A delivery in a list, with the name of its sender.
pub struct ListedDelivery<'a> {
    pub delivery: &'a DeliveryView,
    pub sender: String,
}

impl ListedDelivery<'_> {
    fn facts(&self) -> &DeliveryFacts {
        &self.delivery.facts
    }

    fn page(&self) -> String {
        format!("/deliveries/{}", self.facts().id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_conversion_that_fails_is_said_whatever_the_delivery_stays() {
        let id = DeliveryId::new(Micros(0));
        let check = |status, error: Option<&str>, expect: &str| {
            let replayed = Replayed {
                id,
                status,
                error: error.map(str::to_owned),
                items: Vec::new(),
            };
            assert_eq!(replayed.sentence(), format!("{id}: {expect}"));
        };
        check(DeliveryStatus::Converted, None, "converted");
        let stays = "not converted, and stays converted: it trapped";
        check(DeliveryStatus::Converted, Some("it trapped"), stays);
        let failed = "failed: it trapped";
        check(DeliveryStatus::Failed, Some("it trapped"), failed);
    }
}
