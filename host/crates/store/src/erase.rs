//! Erasing a person, and the record of an erasure.
//!
//! A person is erased in steps. Each step is one bounded transaction that commits the
//! removals together with their record; the last step removes the contact itself. An
//! interrupted erasure therefore continues when the same request is repeated, and data
//! that arrives in the meantime is erased too. The record contains no personal data: only
//! ids, numbers and times.

use crate::prelude::*;
use leadhost_domain::contact::{self, FoundBy};

/// The note that an emptied delivery shows to operators.
pub(super) const EMPTIED: &str =
    "emptied: a person whom it brought was erased; the outcomes of its other items are kept";

/// Replaces the answer to a request about an erased person, which may have named the person:
/// [`StoredAnswer::is_erased`](super::StoredAnswer::is_erased).
pub(super) const ERASED_ANSWER: &str = r#"{"status":400,"headers":[],"body":""}"#;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PersonBy {
    /// A contact id, which may be that of an erasure's record.
    Id(ContactId),
    /// One of `domain::contact::keys`.
    Key(String),
}

/// A person, with what is needed to find the person's data. Do not log it.
#[derive(Clone, PartialEq, Eq)]
pub struct Person {
    pub workspace: WorkspaceId,
    pub id: ContactId,
    /// Empty for a person who is already erased.
    pub keys: Vec<String>,
    pub email: Option<String>,
    pub phone_number: Option<String>,
    /// Other contacts with the address or number by which the person was found, at most
    /// `limits::OTHERS_NAMED` of them.
    pub others: Vec<ContactId>,
}

impl Person {
    /// Returns somebody who is no contact, by a number or an address. Messages and deliveries may name
    /// such a person.
    pub fn unknown(
        workspace: WorkspaceId,
        (phone_number, email): (Option<String>, Option<String>),
    ) -> Self {
        Self {
            workspace,
            id: ContactId::random(),
            keys: contact::keys_of(&phone_number, &email),
            email,
            phone_number,
            others: Vec::new(),
        }
    }

    pub fn names(&self) -> Vec<String> {
        let of_keys = self.keys.iter().filter_map(|key| {
            let (kind, name) = key.split_once(':')?;
            (kind != "email").then_some(name)
        });
        let mut names = BTreeSet::new();
        for name in of_keys.chain(self.phone_number.as_deref()) {
            let bare = name.strip_prefix('+').unwrap_or(name);
            names.insert(bare.to_owned());
            names.insert(format!("+{bare}"));
        }
        names.into_iter().collect()
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Erased {
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
    /// Deliveries that also brought others. They are emptied; the outcomes of the other
    /// items are kept.
    pub shared_deliveries: u64,
    /// Answers of sources to fetches for this person.
    pub fetch_answers: u64,
    /// Values in receipts of repairs. The rows stay, without them.
    pub repair_changes: u64,
}

impl Erased {
    pub fn add(&mut self, more: &Self) {
        for (sum, count) in self.counts().into_iter().zip(more.clone().counts()) {
            *sum += *count;
        }
    }

    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    fn counts(&mut self) -> [&mut u64; 17] {
        [
            &mut self.contacts,
            &mut self.contact_keys,
            &mut self.deals,
            &mut self.deal_changes,
            &mut self.deal_logs,
            &mut self.conversations,
            &mut self.messages,
            &mut self.message_errors,
            &mut self.tickets,
            &mut self.sends,
            &mut self.holds,
            &mut self.channel_refs,
            &mut self.idempotency_answers,
            &mut self.deliveries,
            &mut self.shared_deliveries,
            &mut self.fetch_answers,
            &mut self.repair_changes,
        ]
    }
}

/// A delivery that names the person and was kept, because its leads are not known yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftDelivery {
    pub id: DeliveryId,
    pub status: DeliveryStatus,
}

/// A stored delivery that names a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StandingDelivery {
    pub id: DeliveryId,
    pub status: DeliveryStatus,
    /// An item of it led to another contact.
    pub is_shared: bool,
    /// A lead of it is still to be converted, so its contact is not known.
    pub is_pending: bool,
}

/// Data that was found and kept.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RemainingData {
    /// Kept by their ids: afterwards nothing else links them to the person.
    pub deliveries: Vec<LeftDelivery>,
    /// The number of further deliveries.
    pub more_deliveries: u64,
}

impl RemainingData {
    pub fn add(&mut self, delivery: LeftDelivery) {
        if self.deliveries.len() < limits::LEFT_REMEMBERED {
            self.deliveries.push(delivery);
        } else {
            self.more_deliveries += 1;
        }
    }

    /// Returns the form that is shown: the first deliveries by id, the rest as a count.
    #[must_use]
    pub fn for_display(mut self) -> Self {
        let more = self.deliveries.len().saturating_sub(limits::LEFT_SHOWN);
        self.deliveries.truncate(limits::LEFT_SHOWN);
        self.more_deliveries += u64::try_from(more).unwrap_or(u64::MAX);
        self
    }

    /// Removes deliveries that no longer exist and updates the status of the others.
    pub(super) fn keep(&mut self, standing: &BTreeMap<DeliveryId, DeliveryStatus>) {
        self.deliveries.retain_mut(|left| {
            let status = standing.get(&left.id);
            left.status = status.copied().unwrap_or(left.status);
            status.is_some()
        });
    }
}

#[derive(Clone, Debug)]
pub struct NewErasure {
    pub id: ErasureId,
    pub workspace: WorkspaceId,
    pub contact: ContactId,
    pub found_by: FoundBy,
    pub key: KeyId,
    pub began_at: Micros,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Erasure {
    pub id: ErasureId,
    pub workspace_id: WorkspaceId,
    pub contact_id: ContactId,
    pub found_by: FoundBy,
    pub key_id: KeyId,
    pub began_at: Micros,
    /// None: the erasure was interrupted or is still running.
    pub done_at: Option<Micros>,
    pub erased: Erased,
    pub remaining: RemainingData,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EraseStep {
    pub erased: Erased,
    /// Nothing is left to do.
    pub done: bool,
    /// The time that the record has if this was the last step.
    pub at: Micros,
}

/// How much a step erases.
#[derive(Clone, Copy, Debug)]
pub enum Extent<'a> {
    /// Everything except the contact and its keys, by which a repeat finds it.
    ButContact,
    /// The contact too, once nothing else is left. This completes the record.
    Whole(&'a RemainingData),
}

/// A delivery with an item that led to no contact, as it came in.
#[derive(Clone, Debug)]
pub struct UnlinkedDelivery {
    pub standing: StandingDelivery,
    /// Another item of it led to the person.
    pub is_own: bool,
    /// JSON text.
    pub query: String,
    pub headers: String,
    pub body: Vec<u8>,
}

/// A page of deliveries with an item that led to no contact.
#[derive(Clone, Debug)]
pub struct UnlinkedPage {
    pub deliveries: Vec<UnlinkedDelivery>,
    /// The beginning of the next page. `None`: this was the last page.
    pub next: Option<DeliveryId>,
}

#[derive(Clone, Debug, Default)]
pub struct ErasureFilter {
    pub workspace: Option<WorkspaceId>,
    pub before: Option<ErasureId>,
    pub limit: u32,
}

/// Returns the deliveries that these erasures left, to be looked up.
pub(super) fn left_by(erasures: &[Erasure]) -> Vec<(WorkspaceId, DeliveryId)> {
    erasures
        .iter()
        .flat_map(|erasure| {
            let left = erasure.remaining.deliveries.iter();
            left.map(|left| (erasure.workspace_id, left.id))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_of_a_person_are_those_of_channels_and_keys() {
        let person = Person {
            workspace: WorkspaceId::new(Micros(1)),
            id: ContactId::random(),
            keys: vec![
                "phone:+551187654321".to_owned(),
                "email:rita@example.com".to_owned(),
                "whatsapp:5511987654321".to_owned(),
                "whatsapp:BR.1349".to_owned(),
            ],
            email: Some("rita@example.com".to_owned()),
            phone_number: Some("+5511987654321".to_owned()),
            others: Vec::new(),
        };
        assert_eq!(
            person.names(),
            [
                "+551187654321",
                "+5511987654321",
                "+BR.1349",
                "551187654321",
                "5511987654321",
                "BR.1349",
            ]
        );
    }

    #[test]
    fn left_deliveries_are_kept_and_shown_within_bounds() {
        let mut remaining = RemainingData::default();
        for _ in 0..limits::LEFT_REMEMBERED + 3 {
            remaining.add(LeftDelivery {
                id: DeliveryId::new(Micros(1)),
                status: DeliveryStatus::Parked,
            });
        }
        assert_eq!(remaining.deliveries.len(), limits::LEFT_REMEMBERED);
        assert_eq!(remaining.more_deliveries, 3);
        let first = remaining.deliveries[0].id;
        let shown = remaining.clone().for_display();
        assert_eq!(shown.deliveries.len(), limits::LEFT_SHOWN);
        let more = limits::LEFT_REMEMBERED - limits::LEFT_SHOWN + 3;
        assert_eq!(shown.more_deliveries, more as u64);
        remaining.keep(&BTreeMap::from([(first, DeliveryStatus::Rejected)]));
        let left = LeftDelivery {
            id: first,
            status: DeliveryStatus::Rejected,
        };
        assert_eq!(remaining.deliveries, [left]);
    }

    #[test]
    fn every_count_is_added() {
        let mut sum = Erased::default();
        let mut one = Erased::default();
        one.counts().into_iter().for_each(|count| *count = 2);
        sum.add(&one);
        sum.add(&one);
        let value = serde_json::to_value(&sum).expect("JSON");
        let fields = value.as_object().expect("an object");
        assert!(fields.values().all(|count| count == 4), "{value}");
    }
}
