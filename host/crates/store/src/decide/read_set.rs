//! The rows that a store must load before a batch can be decided.

use super::accept::enters_quarantine;
use super::dialogue::ReferenceKey;
use super::undo;
use super::working_set::{ClaimKey, ExternalId};
use crate::decide::prelude::*;
use crate::{
    ContactParting, Event, FetchOutcome, IdempotencyKey, ItemResult, MessageVerdict, NewDeal,
    NewEvent, NewItem, Reconversion, RepairUndo, SHARED, SendOutcome, SendSettlement, Write,
    erased_reference, message_error_id, person_key,
};
use leadhost_domain::channel::ChannelError;
use leadhost_domain::deal;
use leadhost_domain::repair::{CONVERSATIONS, PERSON, RepairedKind, SPLIT};

/// Sorted sets, so that a store that locks rows always locks them in the same order.
#[derive(Debug, Default)]
pub struct ReadSet {
    /// Deliveries, with items and their fetches.
    pub deliveries: BTreeMap<DeliveryId, ItemPlaces>,
    pub claims: BTreeSet<ClaimKey>,
    pub contact_keys: BTreeSet<(WorkspaceId, String)>,
    pub products: BTreeSet<(WorkspaceId, String)>,
    pub product_ids: BTreeSet<(WorkspaceId, ProductId)>,
    pub owners: BTreeSet<(WorkspaceId, String)>,
    pub deals: BTreeSet<(WorkspaceId, DealId)>,
    /// Contacts by their ids, which may no longer exist.
    pub contacts: BTreeSet<(WorkspaceId, ContactId)>,
    /// Repairs that replays are part of, or that are undone. None of them ends before the batch.
    pub repairs: BTreeSet<RepairId>,
    /// Match keys of a repair that writes. The receipt needs to know which contacts already share
    /// them.
    pub shared_keys: BTreeSet<(WorkspaceId, String)>,
    /// Deliveries that a repair would convert again: the match keys of their deals' contacts are needed,
    /// and what else gives them these.
    pub repaired: BTreeSet<DeliveryId>,
    /// Other contacts that need the same rows: a repair splits them, or its undo joins them again.
    pub parted: BTreeSet<(WorkspaceId, ContactId)>,
    /// Match keys for which the first other contact that shares them is needed.
    pub heirs_of: BTreeSet<(WorkspaceId, String, ContactId)>,
    /// Those contacts, once they are found: their leads and open conversations are needed too.
    pub heirs: BTreeSet<(WorkspaceId, ContactId)>,
    /// Contacts whose leads' values for the person are needed, besides `repaired`.
    pub said_by_leads: BTreeSet<(WorkspaceId, ContactId)>,
    /// Workspaces whose first agent takes leads that name no agent.
    pub first_agents: BTreeSet<WorkspaceId>,
    /// Connections whose quarantine grows, and by how much at most.
    pub quarantine: BTreeMap<ConnectionId, Arriving>,
    /// What tells the persons of leads with an external id, with the id: see [`ReadSet::claims_of_persons`].
    pub persons: BTreeMap<ClaimKey, (String, BTreeSet<String>)>,
    /// External ids of new deals. A deal of the partner may have one.
    pub external_ids: BTreeSet<ExternalId>,
    /// Claims whose deals, with their contacts, may change.
    pub deals_of_claims: BTreeSet<ClaimKey>,
    /// Deliveries whose items' deals, with their contacts, may change.
    pub deals_of_deliveries: BTreeSet<DeliveryId>,

    /// The conversations and tickets of the deals that may change are needed, closed ones
    /// too: a lead says whether it is a test, and analytics may have to start or stop
    /// counting them; or a repair that moved a deal is undone.
    pub all_about_deals: bool,

    /// Every workspace that a write names itself.
    pub workspaces: BTreeSet<WorkspaceId>,

    // Rows of messages. `related_rows` finds the rows to which they lead.
    pub idempotency: BTreeSet<IdempotencyKey>,
    pub references: BTreeSet<ReferenceKey>,
    pub messages: BTreeSet<(WorkspaceId, MessageId)>,
    pub conversations: BTreeSet<(WorkspaceId, ConversationId)>,
    /// Contact keys for which the open conversation with this instance is needed,
    /// together with the contact's newest open deal and its holds.
    pub contact_conversations: BTreeSet<(WorkspaceId, String, AgentId, ConnectionId)>,
    /// Contact keys of new deals: one of the contact's open conversations may become about
    /// the deal.
    pub new_deals_of: BTreeSet<(WorkspaceId, String)>,
    /// Rows of the report that may exist already.
    pub errors: BTreeSet<(WorkspaceId, MessageErrorId)>,
    /// References whose messages' conversations are needed.
    pub answered: BTreeSet<ReferenceKey>,
    pub reported: BTreeSet<MessageReport>,
    /// Deals whose own and whose contacts' open conversations are needed, with the live ticket of each, and
    /// the live ticket of the deal itself.
    pub deal_conversations: BTreeSet<(WorkspaceId, DealId)>,
    /// Conversations whose live ticket is needed.
    pub handed: BTreeSet<(WorkspaceId, ConversationId)>,
    /// Tickets, each with its conversation and the live ticket beside it.
    pub tickets: BTreeSet<(WorkspaceId, TicketId)>,
}

/// The deliveries that a batch brings into a quarantine.
#[derive(Clone, Copy, Debug, Default)]
pub struct Arriving {
    pub count: u64,
    /// The total size of their bodies.
    pub bytes: u64,
}

/// The items of a delivery that a batch looks at. A delivery may have thousands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ItemPlaces {
    /// Ranges of places: first and last.
    pub stretches: BTreeSet<(u32, u32)>,
    /// Whether the statuses of the other items are needed too.
    pub others: bool,
}

/// The last place that an item can have.
const LAST_PLACE: u32 = i32::MAX as u32;

const ALL_PLACES: (u32, u32) = (0, LAST_PLACE);

impl ItemPlaces {
    /// Returns whether the batch looks at the item at this place.
    pub fn has(&self, place: u32) -> bool {
        let mut stretches = self.stretches.iter();
        stretches.any(|(first, last)| (*first..=*last).contains(&place))
    }

    /// Returns whether the batch looks at all items of the delivery.
    pub fn are_all(&self) -> bool {
        self.stretches.contains(&ALL_PLACES)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct MessageReport {
    pub reference: Option<ReferenceKey>,
    pub message: Option<MessageId>,
    /// The message is reported as failed: the report needs its contact and its
    /// conversation.
    pub fails: bool,
}

/// Returns what the batch needs. `stored` returns the stored deliveries, which must be
/// loaded first: see [`ReadSet::deliveries`].
pub fn read_set<'a>(
    writes: &[Write],
    stored: impl Fn(DeliveryId) -> Option<&'a DeliveryRecord>,
) -> ReadSet {
    let mut read_set = ReadSet::default();
    for write in writes {
        match write {
            Write::Accept(acceptance) => {
                let delivery = &acceptance.delivery;
                read_set.workspaces.insert(delivery.workspace);
                if acceptance.result.status == Some(DeliveryStatus::Quarantined) {
                    let bytes = u64::try_from(delivery.body.len()).unwrap_or(u64::MAX);
                    read_set.add_quarantined(&delivery.connection, bytes);
                }
                read_set.add_items(delivery.workspace, &acceptance.result.items);
            }
            Write::Convert(again) => {
                read_set.look_at(again);
                let replay = again.mode.is_replay();
                if let Mode::Repair(repair) = &again.mode {
                    read_set.repairs.insert(repair.id);
                }
                if replay {
                    read_set.deals_of_deliveries.insert(again.delivery);
                }
                if let Some(delivery) = stored(again.delivery) {
                    read_set.add_items(delivery.workspace, &again.result.items);
                    read_set.add_repaired(delivery.workspace, again);
                    let status = again.result.status;
                    if status.is_some_and(|status| enters_quarantine(delivery, status)) {
                        read_set.add_quarantined(&delivery.connection, delivery.bytes);
                    }
                }
            }
            Write::Release { delivery, .. } | Write::Renew { delivery, .. } => {
                read_set.places(*delivery, []);
            }
            Write::Answer(answer) => {
                read_set.places(answer.delivery, [at(answer.index)]);
            }
            Write::Settle(settlement) => {
                let first = (0, limits::ITEMS_LOOKED_AT - 1);
                let stretches = [first, at(settlement.index)];
                read_set.places(settlement.delivery, stretches).others = true;
                if let (Some(delivery), FetchOutcome::Items(items)) =
                    (stored(settlement.delivery), &settlement.outcome)
                {
                    for item in items {
                        read_set.add_item(delivery.workspace, item);
                    }
                }
            }
            Write::Notify(new) => {
                read_set.add_contact_conversation(&new.channel, &new.contact_keys);
                let deal = new.deal.map(|deal| (new.channel.workspace, deal));
                read_set.deals.extend(deal);
                let claim = new.idempotency.as_ref();
                read_set
                    .idempotency
                    .extend(claim.map(|claim| claim.key.clone()));
            }
            Write::Remember(new) => {
                read_set.workspaces.insert(new.claim.key.workspace);
                read_set.idempotency.insert(new.claim.key.clone());
            }
            Write::Begin(start) => read_set.add_message(start.workspace, start.message),
            Write::Sent(settlement) => read_set.add_settlement(settlement),
            Write::Resolve(resolution) => {
                read_set.add_message(resolution.workspace, resolution.message);
                if resolution.verdict == MessageVerdict::GiveUp {
                    read_set.reported.insert(MessageReport {
                        reference: None,
                        message: Some(resolution.message),
                        fails: true,
                    });
                }
            }
            Write::Elapse(elapse) => {
                read_set.workspaces.insert(elapse.workspace);
                let conversation = (elapse.workspace, elapse.conversation);
                read_set.conversations.insert(conversation);
                read_set.handed.insert(conversation);
            }
            Write::PatchDeal(patch) => {
                let workspace = patch.by.workspace;
                read_set.add_deal(workspace, patch.deal);
                read_set.deal_conversations.insert((workspace, patch.deal));
                let product = patch.product.iter();
                read_set
                    .products
                    .extend(product.map(|id| (workspace, id.clone())));
                let owner = patch.owner_email.iter().flatten();
                read_set
                    .owners
                    .extend(owner.map(|email| (workspace, email.clone())));
            }
            Write::CreateDeal(new) => read_set.add_new_deal(new),
            Write::LogDeal(new) => {
                read_set.add_deal(new.by.workspace, new.deal);
                let claim = new.idempotency.as_ref();
                read_set
                    .idempotency
                    .extend(claim.map(|claim| claim.key.clone()));
            }
            Write::PatchTicket(patch) => {
                let workspace = patch.workspace;
                read_set.workspaces.insert(workspace);
                read_set.tickets.insert((workspace, patch.ticket));
                let owner = patch.owner_email.iter().flatten();
                read_set
                    .owners
                    .extend(owner.map(|email| (workspace, email.clone())));
            }
            Write::PartContact(part) => read_set.add_parting(part),
            Write::UndoRepair(undo) => read_set.add_undo(undo),
        }
    }
    read_set
}

fn at(place: u32) -> (u32, u32) {
    (place, place)
}

impl ReadSet {
    fn places(
        &mut self,
        delivery: DeliveryId,
        stretches: impl IntoIterator<Item = (u32, u32)>,
    ) -> &mut ItemPlaces {
        let places = self.deliveries.entry(delivery).or_default();
        places.stretches.extend(stretches);
        places
    }

    fn add_quarantined(&mut self, connection: &ConnectionId, bytes: u64) {
        let arriving = self.quarantine.entry(connection.clone()).or_default();
        arriving.count += 1;
        arriving.bytes = arriving.bytes.saturating_add(bytes);
    }

    fn look_at(&mut self, again: &Reconversion) {
        if let Some(part) = &again.part {
            let places = self.places(again.delivery, [part.places]);
            places.others |= part.is_last();
            if part.is_first() {
                // Items of an earlier conversion past the end of this one are removed.
                places.stretches.insert((part.of, LAST_PLACE));
            }
        } else if again.result.status.is_some() {
            let first = (0, limits::ITEMS_LOOKED_AT - 1);
            self.places(again.delivery, [first]).others = true;
        } else {
            self.places(again.delivery, [ALL_PLACES]);
        }
    }

    /// Items beyond those places: the owners of the batch's keys, if they belong to one
    /// of its deliveries.
    pub fn owners(&self, set: &WorkingSet) -> BTreeSet<(DeliveryId, u32)> {
        let claims = set.claims.values();
        claims
            .filter(|claim| {
                let places = self.deliveries.get(&claim.delivery);
                places.is_some_and(|places| !places.has(claim.item))
            })
            .map(|claim| (claim.delivery, claim.item))
            .collect()
    }

    /// Returns the keys that leads may have together with their persons, once a lead has the key alone, and
    /// the keys of ids that people share.
    pub fn claims_of_persons(&self, set: &WorkingSet) -> BTreeSet<ClaimKey> {
        let known = self.persons.iter();
        let known = known.filter(|(key, _)| set.claims.contains_key(key));
        let keys = known.flat_map(|((of, key), (_, persons))| {
            let all = persons.iter().map(String::as_str).chain([SHARED]);
            all.filter_map(|person| Some((of.clone(), person_key(key, person)?)))
        });
        keys.collect()
    }

    /// Returns the keys of ids that people share, each with its workspace and its id.
    pub fn shared_ids<'a>(&'a self, set: &WorkingSet) -> Vec<(&'a ClaimKey, WorkspaceId, &'a str)> {
        let known = self.persons.iter().filter_map(|(key, (id, _))| {
            let shared = (key.0.clone(), person_key(&key.1, SHARED)?);
            Some((key, set.claims.get(&shared)?.workspace, id.as_str()))
        });
        known.collect()
    }

    /// Returns the deliveries with only some items loaded. `others` chooses those that also
    /// need the statuses of their other items, or those that do not.
    pub fn in_part(&self, others: bool) -> BTreeSet<DeliveryId> {
        self.deliveries
            .iter()
            .filter(|(_, places)| !places.are_all() && places.others == others)
            .map(|(id, _)| *id)
            .collect()
    }

    fn add_items(&mut self, workspace: WorkspaceId, items: &[NewItem]) {
        for item in items {
            self.add_item(workspace, &item.result);
        }
    }

    fn add_item(&mut self, workspace: WorkspaceId, item: &ItemResult) {
        match item {
            ItemResult::Lead(lead) => {
                self.all_about_deals |= lead.deal_props.contains_key(deal::TEST);
                if let Some(dedupe) = &lead.dedupe {
                    let key = (lead.connection.clone(), dedupe.key.clone());
                    if let Some(id) = &lead.external_id {
                        let persons = self.persons.entry(key.clone());
                        let (_, persons) = persons.or_insert_with(|| (id.clone(), BTreeSet::new()));
                        persons.extend(lead.told_by());
                    }
                    self.deals_of_claims.insert(key.clone());
                    self.claims.insert(key);
                }
                self.add_contact_keys(workspace, &lead.contact_keys);
                self.add_new_deal_of(workspace, &lead.contact_keys);
                for product in &lead.products {
                    self.products.insert((workspace, product.clone()));
                }
                if lead.agent.is_none() {
                    self.first_agents.insert(workspace);
                }
                if let Some(greeting) = &lead.greeting {
                    self.add_contact_conversation(&greeting.channel, &lead.contact_keys);
                }
            }
            ItemResult::Fetch(fetch) => {
                if let Some(dedupe) = &fetch.dedupe {
                    self.claims
                        .insert((fetch.connection.clone(), dedupe.key.clone()));
                }
            }
            ItemResult::Event(new) => self.add_event(new),
            ItemResult::Ignored(_) | ItemResult::Invalid(_) | ItemResult::Unrouted(_) => {}
        }
    }

    fn add_event(&mut self, new: &NewEvent) {
        let channel = &new.channel;
        self.workspaces.insert(channel.workspace);
        self.add_contact_keys(channel.workspace, &new.further_keys);
        match &new.event {
            Event::Status {
                external_id,
                message,
                progress,
                recipient_id,
                ..
            } => {
                if let Some(id) = recipient_id
                    && !new.further_keys.is_empty()
                {
                    let keys = contact::channel_keys(&channel.channel, id);
                    self.add_contact_keys(channel.workspace, &keys);
                }
                if let Some(message) = message {
                    self.add_message(channel.workspace, *message);
                }
                let reference = (channel.connection.clone(), external_id.clone());
                self.references.insert(reference.clone());
                let erased = erased_reference(external_id);
                self.references.insert((reference.0.clone(), erased));
                self.add_errors(channel, external_id, &progress.errors);
                self.reported.insert(MessageReport {
                    reference: Some(reference),
                    message: *message,
                    fails: !progress.errors.is_empty(),
                });
            }
            Event::Inbound(inbound) => {
                let key = |id: &String| (channel.connection.clone(), id.clone());
                self.references.insert(key(&inbound.external_id));
                if let Some(reply_to) = &inbound.reply_to {
                    self.references.insert(key(reply_to));
                    self.answered.insert(key(reply_to));
                }
                self.add_contact_conversation(channel, &inbound.contact_keys);
                self.add_contact_conversation(channel, &new.further_keys);
            }
            Event::Template { .. } => {}
            Event::Consent { contact_keys, .. } => {
                self.add_contact_keys(channel.workspace, contact_keys);
            }
            Event::Number {
                contact_keys,
                new_keys,
                ..
            } => {
                // A later event in the same webhook may find the contact by a new key.
                self.add_contact_conversation(channel, contact_keys);
                self.add_contact_keys(channel.workspace, new_keys);
            }
        }
    }

    fn add_settlement(&mut self, settlement: &SendSettlement) {
        let channel = &settlement.channel;
        self.add_message(channel.workspace, settlement.message);
        self.add_contact_keys(channel.workspace, &settlement.further_keys);
        if let Some((key, _)) = &settlement.answer {
            self.idempotency.insert(key.clone());
        }
        match &settlement.outcome {
            SendOutcome::Accepted {
                external_ids,
                recipient_id,
                ..
            } => {
                for id in external_ids {
                    let reference = (channel.connection.clone(), id.clone());
                    self.references.insert(reference.clone());
                    let erased = erased_reference(id);
                    self.references.insert((reference.0.clone(), erased));
                    self.reported.insert(MessageReport {
                        reference: Some(reference),
                        message: Some(settlement.message),
                        fails: false,
                    });
                }
                if let Some(id) = recipient_id {
                    let keys = contact::channel_keys(&channel.channel, id);
                    self.add_contact_keys(channel.workspace, &keys);
                }
            }
            SendOutcome::Refused(error) => {
                let of = settlement.message.to_string();
                self.add_errors(channel, &of, std::slice::from_ref(error));
                self.reported.insert(MessageReport {
                    reference: None,
                    message: Some(settlement.message),
                    fails: true,
                });
            }
            SendOutcome::Later { .. } | SendOutcome::Held { .. } | SendOutcome::Unknown { .. } => {}
        }
    }

    /// Adds what only a repair needs: the match keys whose sharing it may record in its receipt, or count,
    /// and, to count who would come apart, what its leads' contacts have besides.
    fn add_repaired(&mut self, workspace: WorkspaceId, again: &Reconversion) {
        let Mode::Repair(repair) = &again.mode else {
            return;
        };
        if !repair.apply {
            self.repaired.insert(again.delivery);
        }
        for item in &again.result.items {
            if let ItemResult::Lead(lead) = &item.result {
                let keys = lead.contact_keys.iter();
                self.shared_keys
                    .extend(keys.map(|key| (workspace, key.clone())));
            }
        }
    }

    fn add_parting(&mut self, part: &ContactParting) {
        let workspace = part.workspace;
        self.repairs.insert(part.repair.id);
        self.workspaces.insert(workspace);
        self.contacts.insert((workspace, part.contact));
        self.parted.insert((workspace, part.contact));
        for lead in &part.leads {
            self.add_deal(workspace, lead.deal);
        }
        self.add_contact_keys(workspace, &part.keys);
        self.add_new_deal_of(workspace, &part.keys);
        for key in &part.keys {
            self.shared_keys.insert((workspace, key.clone()));
            self.heirs_of.insert((workspace, key.clone(), part.contact));
        }
        self.all_about_deals = true;
    }

    fn add_undo(&mut self, undo: &RepairUndo) {
        self.repairs.insert(undo.repair);
        for change in &undo.changes {
            let workspace = change.workspace;
            self.workspaces.insert(workspace);
            if change.kind == RepairedKind::Deal {
                self.deals.insert((workspace, DealId(change.row)));
            }
            if change.field == SPLIT {
                self.parted.insert((workspace, ContactId(change.row)));
            }
            let contacts = undo::contacts_of(change).into_iter();
            self.contacts
                .extend(contacts.map(|contact| (workspace, contact)));
            self.add_contact_keys(workspace, &undo::keys_of(change));
            let talks = undo::conversations_of(change).into_iter();
            let talks: Vec<_> = talks.map(|talk| (workspace, talk)).collect();
            // Their live tickets are about the deal again, too.
            self.handed.extend(talks.iter().copied());
            self.conversations.extend(talks);
            let leads = undo::leads_of(change).map(|contact| (workspace, contact));
            self.said_by_leads.extend(leads);
            self.all_about_deals |= [PERSON, CONVERSATIONS].contains(&change.field.as_str())
                || change.field == format!("deal.props.{}", deal::TEST);
        }
    }

    fn add_deal(&mut self, workspace: WorkspaceId, deal: DealId) {
        self.workspaces.insert(workspace);
        self.deals.insert((workspace, deal));
    }

    fn add_new_deal(&mut self, new: &NewDeal) {
        let workspace = new.by.workspace;
        self.workspaces.insert(workspace);
        self.add_contact_keys(workspace, &new.contact_keys);
        self.add_new_deal_of(workspace, &new.contact_keys);
        if let Some(message) = &new.message {
            self.add_contact_conversation(&message.channel, &new.contact_keys);
        }
        if let Some(reference) = &new.product {
            let id = reference.id.map(|id| (workspace, id));
            self.product_ids.extend(id);
            let external_id = reference.external_id.clone();
            self.products.extend(external_id.map(|id| (workspace, id)));
        }
        if new.agent.is_none() && new.message.is_none() {
            self.first_agents.insert(workspace);
        }
        let claim = new.idempotency.as_ref();
        self.idempotency
            .extend(claim.map(|claim| claim.key.clone()));
        let id = new.external_id.iter();
        self.external_ids
            .extend(id.map(|id| (workspace, new.by.partner, id.clone())));
    }

    fn add_message(&mut self, workspace: WorkspaceId, message: MessageId) {
        self.workspaces.insert(workspace);
        self.messages.insert((workspace, message));
    }

    fn add_errors(&mut self, channel: &Channel, of: &str, errors: &[ChannelError]) {
        for error in errors {
            let id = message_error_id(&channel.connection, of, &error.code);
            self.errors.insert((channel.workspace, id));
        }
    }

    fn add_contact_conversation(&mut self, channel: &Channel, keys: &[String]) {
        self.workspaces.insert(channel.workspace);
        self.add_contact_keys(channel.workspace, keys);
        for key in keys {
            self.contact_conversations.insert((
                channel.workspace,
                key.clone(),
                channel.agent,
                channel.connection.clone(),
            ));
        }
    }

    fn add_new_deal_of(&mut self, workspace: WorkspaceId, keys: &[String]) {
        let keys = keys.iter().map(|key| (workspace, key.clone()));
        self.new_deals_of.extend(keys);
    }

    fn add_contact_keys(&mut self, workspace: WorkspaceId, keys: &[String]) {
        let keys = keys.iter().map(|key| (workspace, key.clone()));
        self.contact_keys.extend(keys);
    }
}
