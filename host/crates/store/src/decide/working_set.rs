//! The rows that a batch touches: loaded under the write lock, changed in memory, saved by the
//! store. Each row records whether it is new or changed. For contacts and deals the order of
//! their first changes is recorded too, which is the order of their stamps.

use super::FetchRecord;
use super::dialogue::Dialogue;
use super::dialogue::touch;
use super::quarantine::Quarantine;
use crate::decide::prelude::*;
use crate::sql::Json;
use crate::{
    ByPartner, ChangedBy, ConversionPart, ConvertedBy, DeliveryOutcome, FieldChange, ItemOutcome,
};
use leadhost_domain::connection::ConnectionPause;
use leadhost_domain::contact::SAID;
use leadhost_domain::exchange::HttpResponse;
use leadhost_domain::repair::{RepairState, RepairUndone, RepairedKind};

pub type ClaimKey = (ConnectionId, String);

/// An external id of a partner's deal.
pub type ExternalId = (WorkspaceId, PartnerId, String);

/// The change of a key that a contact gets.
enum AddedKey {
    /// No contact has it: it becomes the contact's own.
    Own((WorkspaceId, String)),
    /// Another contact has it: from now on the two share it.
    Shared((WorkspaceId, String, ContactId)),
    /// The two share it already: the row is stored.
    StoredShared((WorkspaceId, String, ContactId)),
}

#[derive(Debug, Default)]
pub struct WorkingSet {
    /// The time, read after the write lock was taken.
    pub now: Micros,
    pub deliveries: HashMap<DeliveryId, DeliveryRecord>,
    pub fetches: HashMap<(DeliveryId, u32), FetchRecord>,
    pub claims: HashMap<ClaimKey, Claim>,
    /// The newest leads of ids that people share, by the keys of the ids, oldest first.
    pub leads_of_id: HashMap<ClaimKey, Vec<DealId>>,
    pub contacts: HashMap<ContactId, ContactRecord>,
    pub contact_keys: HashMap<(WorkspaceId, String), ContactId>,
    pub deals: HashMap<DealId, DealRecord>,
    pub products: HashMap<(WorkspaceId, String), ProductId>,
    /// The existing products of `ReadSet::product_ids`, with their external ids.
    pub product_ids: HashMap<(WorkspaceId, ProductId), String>,
    pub owners: HashMap<(WorkspaceId, String), OwnerId>,
    /// The partners' deals with `ReadSet::external_ids`.
    pub external_ids: HashMap<ExternalId, DealId>,
    pub first_agents: HashMap<WorkspaceId, AgentId>,
    /// The quarantines that the batch may fill. All others have enough room.
    pub quarantine: HashMap<ConnectionId, Quarantine>,
    pub dialogue: Dialogue,
    /// The states of repairs, with their generations.
    pub repairs: HashMap<RepairId, (RepairState, i64)>,
    /// The stored shared keys among `ReadSet::shared_keys`.
    pub known_shared_keys: HashSet<(WorkspaceId, String, ContactId)>,
    /// The fields of the person in the stored leads of some contacts, by deal: `ReadSet::said_by_leads`.
    pub said: HashMap<ContactId, Vec<(DealId, Value)>>,
    /// The match keys of the contacts of `ReadSet::held_by`, own and shared ones, and all their
    /// conversations.
    pub held_keys: HashMap<ContactId, Vec<String>>,
    pub talks: HashMap<ContactId, Vec<Talk>>,

    // The results, besides the rows above.
    /// Stored deliveries that are evicted from a full quarantine.
    pub evicted: Vec<(WorkspaceId, DeliveryId)>,
    /// Deliveries whose raw request is not kept, because it names a person who was erased.
    pub emptied: BTreeSet<(WorkspaceId, DeliveryId)>,
    pub changed_contacts: Vec<ContactId>,
    pub changed_deals: Vec<DealId>,
    /// Deals that get no stamp, because only `edited` or `provenance` changes, which no export shows.
    pub unstamped_deals: BTreeSet<(WorkspaceId, DealId)>,
    pub new_contact_keys: Vec<(WorkspaceId, String, ContactId)>,
    /// Keys of contacts that other contacts had first, including those already stored.
    pub shared_keys: BTreeSet<(WorkspaceId, String, ContactId)>,
    /// Those of them that are new, for receipts, in their order. Without the keys of
    /// `known_shared_keys`.
    pub new_shared_keys: Vec<(WorkspaceId, String, ContactId)>,
    pub pauses: Vec<(ConnectionId, ConnectionPause)>,
    /// The answers to settled fetches, in the order of their settlement.
    pub new_answers: Vec<SettledAnswer>,
    pub new_history: Vec<NewHistory>,
    pub new_logs: Vec<NewLog>,
    pub new_repair_changes: Vec<NewRepairChange>,
    pub undone_changes: Vec<UndoneChange>,
    /// Deliveries that count for this version again, because a change of its repair was undone.
    pub harmed_again: BTreeMap<(WorkspaceId, DeliveryId), ConvertedBy>,
    pub removed_contact_keys: Vec<(WorkspaceId, String)>,
    /// Match keys that their contacts share no more.
    pub removed_shared_keys: Vec<(WorkspaceId, String, ContactId)>,
    /// Items of deliveries whose deals belong to another contact now: the last one of several.
    pub moved_items: BTreeMap<(WorkspaceId, DeliveryId, u32), ContactId>,
    /// Conversations whose messages and sends get another contact: the last one of several.
    pub moved_conversations: BTreeMap<(WorkspaceId, ConversationId), ContactId>,
}

/// A conversation of a contact of `ReadSet::held_by`.
#[derive(Debug)]
pub struct Talk {
    pub conversation: ConversationId,
    pub deal: Option<DealId>,
    /// It began before its deal.
    pub is_older: bool,
    /// The person began it.
    pub asks: bool,
    /// The person has answered our message.
    pub answers: bool,
}

impl Talk {
    /// Returns whether it proves that its person exists, whatever the leads say.
    pub fn is_somebodys(&self) -> bool {
        self.deal.is_none() || self.is_older || self.asks || self.answers
    }
}

#[derive(Debug)]
pub struct NewRepairChange {
    pub workspace: WorkspaceId,
    pub repair: RepairId,
    pub delivery: DeliveryId,
    pub item: u32,
    pub kind: RepairedKind,
    pub row: Uuid,
    /// The contact whose data the values are.
    pub contact: ContactId,
    pub field: String,
    pub before: Value,
    pub after: Value,
}

#[derive(Debug)]
pub struct UndoneChange {
    pub workspace: WorkspaceId,
    pub number: i64,
    pub undone: RepairUndone,
}

#[derive(Debug)]
pub struct NewHistory {
    pub workspace: WorkspaceId,
    pub deal: DealId,
    pub by: ChangedBy,
    pub changes: Vec<FieldChange>,
}

#[derive(Debug)]
pub struct NewLog {
    pub by: ByPartner,
    pub deal: DealId,
    pub id: DealLogId,
    pub kind: String,
    pub subject: String,
    pub description: Option<String>,
    pub metadata: Map<String, Value>,
}

#[derive(Debug, Default)]
pub struct Others {
    /// How many there are in each status, where that matters.
    pub statuses: HashMap<ItemStatus, u64>,
    /// The last place of any item.
    pub last: Option<u32>,
}

/// The beginning of a note that says what failed before.
pub const EARLIER: &str = "earlier, until ";

impl DeliveryRecord {
    /// Returns whether its conversion is not done, although some of its items may exist.
    pub fn is_to_be_converted(&self) -> bool {
        match self.status {
            DeliveryStatus::Queued => self.next_attempt_at.is_some(),
            DeliveryStatus::Failed | DeliveryStatus::Parked => true,
            _ => false,
        }
    }

    /// Holds the delivery for the parts after this one, and releases it with the last one. It stays as
    /// it is otherwise.
    pub fn hold_until_last(&mut self, part: Option<&ConversionPart>) {
        match part {
            Some(part) if !part.is_last() => {
                if part.until.is_some() {
                    self.held_until = part.until;
                    self.change.touch();
                }
            }
            _ => {
                self.held = false;
                self.change.touch();
            }
        }
    }

    /// Reserves the places up to this one: no new item gets them.
    pub fn reserve(&mut self, last: u32) {
        self.others.last = self.others.last.max(Some(last));
    }

    pub fn has_finished_items(&self) -> bool {
        self.items.values().any(ItemRecord::is_finished)
            || self
                .others
                .statuses
                .keys()
                .any(|status| status.is_finished())
    }

    /// Adds the store's count for a status, which includes the items that are looked at.
    pub fn count_others(&mut self, status: ItemStatus, count: u64) {
        let items = self.items.values();
        let seen = items.filter(|item| item.status == status).count();
        let others = count.saturating_sub(seen as u64);
        if others > 0 {
            self.others.statuses.insert(status, others);
        }
    }

    /// Returns the outcome of the write for the delivery, with its items that are looked at and not
    /// removed.
    pub fn outcome(&mut self, id: DeliveryId) -> DeliveryOutcome {
        DeliveryOutcome {
            delivery: id,
            status: self.status,
            error: self.error.clone(),
            items: self
                .items
                .iter()
                .filter(|(_, item)| item.change != RowChange::Removed)
                .map(|(index, item)| item.outcome(*index))
                .collect(),
            evicted: 0,
            greeted: std::mem::take(&mut self.greeted),
        }
    }

    /// Returns the statuses of its items, except of removed ones. A status of items that are
    /// not looked at occurs once, however many they are.
    pub fn item_statuses(&self) -> Vec<ItemStatus> {
        self.items
            .values()
            .filter(|item| item.change != RowChange::Removed)
            .map(|item| item.status)
            .chain(self.others.statuses.keys().copied())
            .collect()
    }
}

impl ItemRecord {
    pub fn new(status: ItemStatus, external_id: Option<String>) -> Self {
        Self {
            status,
            external_id,
            deal: None,
            contact: None,
            message: None,
            diff: Vec::new(),
            change: RowChange::New,
        }
    }

    pub fn with_message(status: ItemStatus, external_id: Option<String>, message: &str) -> Self {
        Self {
            message: Some(message.to_owned()),
            ..Self::new(status, external_id)
        }
    }

    /// Returns whether the item made or changed a deal: converting it again must not do so twice.
    pub fn is_finished(&self) -> bool {
        self.status.is_finished()
    }

    pub fn outcome(&self, index: u32) -> ItemOutcome {
        ItemOutcome {
            index,
            status: self.status,
            external_id: self.external_id.clone(),
            deal_id: self.deal,
            contact_id: self.contact,
            message: self.message.clone(),
            diff: self.diff.clone(),
        }
    }
}

#[derive(Debug)]
pub struct SettledAnswer {
    pub workspace: WorkspaceId,
    pub delivery: DeliveryId,
    pub item: u32,
    pub hop: u32,
    pub external_id: Option<String>,
    pub request: Json,
    pub response: HttpResponse,
}

impl DeliveryRecord {
    /// Returns how many of its notes say what failed before. A plugin may write such lines, too: no more
    /// count than the service keeps.
    pub fn earlier_lines(&self) -> usize {
        let lines = self.notes.iter().take(limits::EARLIER_FAILURES);
        lines.take_while(|note| note.starts_with(EARLIER)).count()
    }
}

impl WorkingSet {
    /// Adds notes to a delivery, as far as there is room.
    pub fn note(&mut self, delivery: DeliveryId, notes: &[String]) {
        let Some(delivery) = self.deliveries.get_mut(&delivery) else {
            return;
        };
        let most = limits::NOTES_PER_DELIVERY + delivery.earlier_lines();
        for note in notes {
            if delivery.notes.len() < most && !delivery.notes.contains(note) {
                delivery.notes.push(note.clone());
                delivery.change.touch();
            }
        }
    }

    /// Returns the claim that makes a lead received at this time a duplicate, if there is one.
    pub fn live_claim(&self, key: &ClaimKey, received_at: Micros) -> Option<&Claim> {
        self.claims.get(key).filter(|claim| {
            claim.change != RowChange::Removed
                && claim.until.is_none_or(|until| received_at < until)
        })
    }

    /// Releases a key whose owner has no deal, so that a repeat is not a duplicate.
    pub fn release_claim(&mut self, key: &ClaimKey, delivery: DeliveryId, item: u32) {
        if let Some(claim) = self.claims.get_mut(key)
            && claim.delivery == delivery
            && claim.item == item
            && claim.deal.is_none()
        {
            claim.change = RowChange::Removed;
        }
    }

    /// Returns what the leads of a contact say of the person, oldest first, as they are by now in this
    /// batch. A deal that no lead made says nothing.
    pub fn said_of(&self, id: ContactId) -> Vec<(DealId, Value)> {
        let loaded = self.deals.iter().filter(|(_, deal)| deal.person == id);
        let loaded =
            loaded.map(|(id, deal)| (*id, deal.props.get(SAID).cloned().unwrap_or_default()));
        let stored = self.said.get(&id).into_iter().flatten();
        let stored = stored.filter(|(deal, _)| !self.deals.contains_key(deal));
        let mut all: Vec<_> = loaded.chain(stored.cloned()).collect();
        all.sort_by_key(|(deal, _)| *deal);
        all
    }

    /// Takes a key from a contact, which owns or shares it.
    pub fn remove_key(&mut self, (workspace, contact): (WorkspaceId, ContactId), key: String) {
        let shared = (workspace, key.clone(), contact);
        let entry = (workspace, key);
        // It may have got the key in this batch.
        if self.contact_keys.get(&entry) == Some(&contact) {
            self.contact_keys.remove(&entry);
            self.new_contact_keys.retain(|new| *new != shared);
            self.removed_contact_keys.push(entry);
        } else {
            self.shared_keys.remove(&shared);
            self.new_shared_keys.retain(|new| *new != shared);
            self.removed_shared_keys.push(shared);
        }
    }

    /// Gives a conversation with its tickets to another contact. Returns false if that has an open one
    /// with the same instance.
    pub fn move_conversation(&mut self, id: ConversationId, to: ContactId) -> bool {
        let dialogue = &mut self.dialogue;
        let Some(conversation) = dialogue.conversations.get_mut(&id) else {
            return false;
        };
        let (workspace, from) = (conversation.workspace, conversation.contact);
        if let (Some(agent), None) = (conversation.agent, conversation.closed_at) {
            if dialogue.open.contains_key(&(to, agent)) {
                return false;
            }
            dialogue.open.remove(&(from, agent));
            dialogue.open.insert((to, agent), id);
        }
        conversation.contact = to;
        dialogue.touch_conversation(id);
        let tickets = dialogue.tickets.iter_mut();
        let own = tickets.filter(|(_, ticket)| ticket.conversation == Some(id));
        let own: Vec<TicketId> = own
            .map(|(id, ticket)| {
                ticket.contact = to;
                *id
            })
            .collect();
        for ticket in own {
            dialogue.touch_ticket(ticket);
        }
        self.moved_conversations.insert((workspace, id), to);
        true
    }

    pub fn touch_contact(&mut self, id: ContactId) {
        touch!(self.contacts, self.changed_contacts, id);
    }

    pub fn touch_deal(&mut self, id: DealId) {
        touch!(self.deals, self.changed_deals, id);
    }

    /// Updates the contact's newest open deal, which the contact's next message is about: this
    /// deal may have become it or have ceased to be it.
    pub fn newest_deal_follows(&mut self, id: DealId) {
        let Some(deal) = self.deals.get(&id) else {
            return;
        };
        let newest = &mut self.dialogue.newest_deals;
        if deal.status == DealStatus::Open {
            let newest = newest.entry(deal.person).or_insert(id);
            *newest = id.max(*newest);
        } else if newest.get(&deal.person) == Some(&id) {
            newest.remove(&deal.person);
        }
    }

    pub fn add_contact(&mut self, id: ContactId, contact: ContactRecord) {
        self.contacts.insert(id, contact);
        self.changed_contacts.push(id);
    }

    /// Adds a new deal, which gets a stamp. It becomes its person's newest open deal.
    pub fn add_deal(&mut self, id: DealId, deal: DealRecord) {
        self.dialogue.newest_deals.insert(deal.person, id);
        self.deals.insert(id, deal);
        self.changed_deals.push(id);
    }

    /// Adds the keys. Keys without an owner become the contact's own, and keys of other contacts
    /// become shared.
    pub fn add_contact_keys(
        &mut self,
        workspace: WorkspaceId,
        contact: ContactId,
        keys: &[String],
    ) {
        for key in keys {
            match self.added_key(workspace, contact, key) {
                None => {}
                Some(AddedKey::Own(entry)) => {
                    let shared = (workspace, entry.1.clone(), contact);
                    if self.known_shared_keys.remove(&shared) {
                        self.removed_shared_keys.push(shared);
                    }
                    self.new_contact_keys
                        .push((workspace, entry.1.clone(), contact));
                    self.contact_keys.insert(entry, contact);
                }
                Some(AddedKey::Shared(entry)) => {
                    self.shared_keys.insert(entry.clone());
                    self.new_shared_keys.push(entry);
                }
                Some(AddedKey::StoredShared(entry)) => {
                    self.shared_keys.insert(entry);
                }
            }
        }
    }

    /// Makes the keys the contact's own. Another owner of one shares it from then on. Returns the
    /// former owners.
    pub fn take_contact_keys(
        &mut self,
        workspace: WorkspaceId,
        contact: ContactId,
        keys: &[String],
    ) -> Vec<ContactId> {
        let mut former = Vec::new();
        for key in keys {
            let entry = (workspace, key.clone());
            if let Some(owner) = self.contact_keys.get(&entry).copied()
                && owner != contact
            {
                let shared = |contact| (workspace, key.clone(), contact);
                self.shared_keys.remove(&shared(contact));
                self.removed_shared_keys.push(shared(contact));
                self.shared_keys.insert(shared(owner));
                self.contact_keys.remove(&entry);
                self.removed_contact_keys.push(entry);
                former.push(owner);
            }
        }
        self.add_contact_keys(workspace, contact, keys);
        former
    }

    /// Returns those of the keys that the contact has not: the ones that would become its own, and
    /// those of other contacts that it would share.
    pub fn missing_keys(
        &self,
        workspace: WorkspaceId,
        contact: ContactId,
        keys: &[String],
    ) -> (Vec<String>, Vec<String>) {
        let (mut own, mut shared) = (Vec::new(), Vec::new());
        for key in keys {
            match self.added_key(workspace, contact, key) {
                None | Some(AddedKey::StoredShared(_)) => {}
                Some(AddedKey::Own((_, key))) => own.push(key),
                Some(AddedKey::Shared((_, key, _))) => shared.push(key),
            }
        }
        (own, shared)
    }

    /// Returns what the key becomes if the contact gets it. `None` if it is the contact's own, or
    /// this batch shares it already.
    fn added_key(&self, workspace: WorkspaceId, contact: ContactId, key: &str) -> Option<AddedKey> {
        let entry = (workspace, key.to_owned());
        match self.contact_keys.get(&entry) {
            None => Some(AddedKey::Own(entry)),
            Some(owner) if *owner == contact => None,
            Some(_) => {
                let entry = (workspace, entry.1, contact);
                if self.shared_keys.contains(&entry) {
                    None
                } else if self.known_shared_keys.contains(&entry) {
                    Some(AddedKey::StoredShared(entry))
                } else {
                    Some(AddedKey::Shared(entry))
                }
            }
        }
    }

    /// Returns the product of the first of these external ids that the workspace has.
    pub fn product(&self, workspace: WorkspaceId, external_ids: &[String]) -> Option<ProductId> {
        external_ids
            .iter()
            .find_map(|id| self.products.get(&(workspace, id.clone())).copied())
    }
}
