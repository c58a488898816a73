//! How one row of a dialogue leads to the next, so that every store follows it in the
//! same way. A store loads in this order, each step with the results of the steps before
//! it: contact keys with their contacts, references and idempotency rows; the named
//! tickets; the messages with their sends; the conversations, including the open ones of
//! deals; the live tickets; the contacts and the rows of the report; deals and holds. A
//! store that locks rows does so in its own order.

use super::dialogue::ReferenceKey;
use super::failure_report::GIVEN_UP;
use super::read_set::ReadSet;
use crate::decide::prelude::*;
use crate::message_error_id;

impl ReadSet {
    /// Messages, with their sends: the named ones, and those to which references and
    /// idempotency rows lead.
    pub fn messages_of(&self, set: &WorkingSet) -> BTreeSet<(WorkspaceId, MessageId)> {
        let of_references = self.references.iter().filter_map(|key| {
            let reference = set.dialogue.references.get(key)?;
            Some((reference.workspace, reference.message?))
        });
        let of_requests = self.idempotency.iter().filter_map(|key| {
            let remembered = set.dialogue.idempotency.get(key)?;
            Some((key.workspace, remembered.message?))
        });
        let named = self.messages.iter().copied();
        named.chain(of_references).chain(of_requests).collect()
    }

    /// Conversations: the named ones, and those of messages that are not out yet, are
    /// answered, or failed. Statuses of other messages do not change their conversations.
    pub fn conversations_of(&self, set: &WorkingSet) -> BTreeSet<(WorkspaceId, ConversationId)> {
        let dialogue = &set.dialogue;
        let answered = self
            .answered
            .iter()
            .filter_map(|key| dialogue.references.get(key)?.message);
        let messages = answered
            .chain(dialogue.sends.keys().copied())
            .chain(self.failed(set));
        let of_messages = messages.filter_map(|id| {
            let message = dialogue.messages.get(&id)?;
            Some((message.workspace, message.conversation))
        });
        let of_tickets = dialogue.tickets.values().filter_map(|ticket| {
            let conversation = ticket.conversation?;
            Some((ticket.workspace, conversation))
        });
        of_messages
            .chain(of_tickets)
            .chain(self.conversations.iter().copied())
            .collect()
    }

    /// Deals whose conversations and tickets are all needed.
    pub fn wholly_of(&self, set: &WorkingSet) -> BTreeSet<(WorkspaceId, DealId)> {
        let deals = set.deals.iter().filter(|_| self.all_about_deals);
        deals.map(|(id, deal)| (deal.workspace, *id)).collect()
    }

    /// Conversations whose live ticket is needed: the named ones, those of the named
    /// tickets, and the open ones of deals. If deals are needed or new, this means all open
    /// conversations, because the batch may assign any of them to a deal.
    pub fn handed_of(&self, set: &WorkingSet) -> BTreeSet<(WorkspaceId, ConversationId)> {
        let dialogue = &set.dialogue;
        let of_tickets = self.tickets.iter().filter_map(|(workspace, id)| {
            let conversation = dialogue.tickets.get(id)?.conversation?;
            Some((*workspace, conversation))
        });
        let of_deals = dialogue
            .conversations
            .iter()
            .filter(|(_, conversation)| {
                (!self.deal_conversations.is_empty() || !self.new_deals_of.is_empty())
                    && conversation.closed_at.is_none()
            })
            .map(|(id, conversation)| (conversation.workspace, *id));
        let named = self.handed.iter().copied();
        named.chain(of_tickets).chain(of_deals).collect()
    }

    /// Deals whose own live ticket is needed: the named ones, and those of the named
    /// tickets without a conversation.
    pub fn handed_deals_of(&self, set: &WorkingSet) -> BTreeSet<(WorkspaceId, DealId)> {
        let of_tickets = self.tickets.iter().filter_map(|(workspace, id)| {
            let ticket = set.dialogue.tickets.get(id)?;
            let deal = ticket.deal.filter(|_| ticket.conversation.is_none())?;
            Some((*workspace, deal))
        });
        self.deal_conversations
            .iter()
            .copied()
            .chain(of_tickets)
            .collect()
    }

    /// Further contacts besides those found by keys: those of failed messages.
    pub fn contacts_of(&self, set: &WorkingSet) -> BTreeSet<(WorkspaceId, ContactId)> {
        self.failed(set)
            .into_iter()
            .filter_map(|id| {
                let message = set.dialogue.messages.get(&id)?;
                Some((message.workspace, message.contact))
            })
            .collect()
    }

    /// The contacts whose open conversations are all needed: those of new deals, those of
    /// deals that leads change, and those of deals whose conversations are needed.
    pub fn talking_contacts_of(&self, set: &WorkingSet) -> BTreeSet<(WorkspaceId, ContactId)> {
        let by_key = self.new_deals_of.iter().filter_map(|key| {
            let contact = set.contact_keys.get(key)?;
            Some((key.0, *contact))
        });
        let of_deals = self
            .deal_conversations
            .iter()
            .filter_map(|(workspace, id)| {
                let deal = set.deals.get(id)?;
                Some((*workspace, deal.person))
            });
        let of_claims = self.deals_of_claims.iter().filter_map(|key| {
            let claim = set.claims.get(key)?;
            let deal = set.deals.get(&claim.deal?)?;
            Some((claim.workspace, deal.person))
        });
        let of_ids = set.leads_of_id.values().flatten().filter_map(|id| {
            let deal = set.deals.get(id)?;
            Some((deal.workspace, deal.person))
        });
        let heirs = self.heirs.iter().copied();
        let found = by_key.chain(of_deals).chain(of_claims).chain(of_ids);
        let found = found.chain(heirs);
        found.collect()
    }

    /// The contacts of the deals that a repair may change, and those that it parts or its undo joins.
    pub fn held_by(&self, set: &WorkingSet) -> BTreeSet<(WorkspaceId, ContactId)> {
        let deliveries = self.repaired.iter().filter_map(|id| set.deliveries.get(id));
        let deals = deliveries.flat_map(|one| one.items.values().filter_map(|item| item.deal));
        let deals = deals.filter_map(|id| set.deals.get(&id));
        let people = deals.map(|deal| (deal.workspace, deal.person));
        people.chain(self.parted.iter().copied()).collect()
    }

    /// The contacts found by keys whose open conversation with an instance is needed, and
    /// whose newest open deal is needed.
    pub fn contact_conversations_of(
        &self,
        set: &WorkingSet,
    ) -> BTreeSet<(WorkspaceId, ContactId, AgentId)> {
        self.contact_conversations
            .iter()
            .filter_map(|(workspace, key, agent, _)| {
                let contact = *set.contact_keys.get(&(*workspace, key.clone()))?;
                Some((*workspace, contact, *agent))
            })
            .collect()
    }

    /// The holds on the number and on the contacts found by keys.
    pub fn holds_of(&self, set: &WorkingSet) -> BTreeSet<(ConnectionId, Option<ContactId>)> {
        let mut holds = BTreeSet::new();
        for (workspace, key, _, connection) in &self.contact_conversations {
            holds.insert((connection.clone(), None));
            let contact = set.contact_keys.get(&(*workspace, key.clone()));
            if let Some(contact) = contact {
                holds.insert((connection.clone(), Some(*contact)));
            }
        }
        holds
    }

    /// Rows of the report: those that may be reported again, those of references whose
    /// message may become known, and those of messages that may be given up.
    pub fn errors_of(&self, set: &WorkingSet) -> BTreeSet<(WorkspaceId, MessageErrorId)> {
        let mut errors = self.errors.clone();
        for key in &self.references {
            let Some(reference) = set.dialogue.references.get(key) else {
                continue;
            };
            let (connection, external_id) = key;
            errors.extend(reference.progress.errors.iter().map(|error| {
                let id = message_error_id(connection, external_id, &error.code);
                (reference.workspace, id)
            }));
        }
        for report in self
            .reported
            .iter()
            .filter(|report| report.reference.is_none())
        {
            let send = report
                .message
                .and_then(|id| Some((id, set.dialogue.sends.get(&id)?)));
            errors.extend(send.map(|(id, send)| {
                let id = message_error_id(&send.connection, &id.to_string(), GIVEN_UP);
                (send.workspace, id)
            }));
        }
        errors
    }

    /// Messages reported as failed, now or before they were known.
    fn failed(&self, set: &WorkingSet) -> BTreeSet<MessageId> {
        let references = &set.dialogue.references;
        let failed_before = |key: &&ReferenceKey| {
            let reference = references.get(*key);
            reference.is_some_and(|reference| !reference.progress.errors.is_empty())
        };
        let fail_now = self.reported.iter().filter(|report| report.fails);
        let failing: BTreeSet<&ReferenceKey> = fail_now
            .filter_map(|report| report.reference.as_ref())
            .chain(self.references.iter().filter(failed_before))
            .collect();
        let mut messages = BTreeSet::new();
        for report in &self.reported {
            let fails = report
                .reference
                .as_ref()
                .map_or(report.fails, |key| failing.contains(key));
            if fails {
                let reference = report
                    .reference
                    .as_ref()
                    .and_then(|key| references.get(key));
                messages.extend(report.message);
                messages.extend(reference.and_then(|reference| reference.message));
            }
        }
        messages
    }
}

#[cfg(test)]
mod tests {
    use super::super::sample::{
        accepted, channel, error, notification, notify, settle, working_set,
    };
    use super::super::sample::{status, time};
    use super::super::{event, read_set};
    use crate::{Acceptance, ConversionResult, ItemResult, NewDelivery, NewEvent, NewItem, Write};
    use leadhost_domain::message::MessageProgress;

    fn webhook(new: NewEvent) -> Write {
        let item = NewItem {
            index: 0,
            result: ItemResult::Event(Box::new(new)),
        };
        Write::Accept(Box::new(Acceptance {
            keys: Vec::new(),
            delivery: NewDelivery {
                id: leadhost_domain::id::DeliveryId::new(time(0)),
                workspace: channel().workspace,
                connection: channel().connection,
                received_at: time(0),
                method: "POST".to_owned(),
                path: "/".to_owned(),
                query: Vec::new(),
                headers: Vec::new(),
                body: Default::default(),
            },
            peer: None,
            result: ConversionResult {
                status: None,
                items: vec![item],
                ran: None,
                error: None,
                notes: Vec::new(),
                attempts: 0,
                next_attempt_at: None,
                presented: None,
            },
        }))
    }

    fn read() -> MessageProgress {
        MessageProgress {
            read_at: Some(time(1)),
            ..MessageProgress::default()
        }
    }

    #[test]
    fn a_status_without_a_failure_loads_only_its_message() {
        let set = &mut working_set();
        let id = notify(set, notification());
        settle(set, id, 0, accepted("w1", 1));
        set.dialogue.sends.clear();
        let read_set = read_set(&[webhook(status("w1", None, read(), 1))], |_| None);
        let workspace = channel().workspace;
        assert_eq!(read_set.messages_of(set), [(workspace, id)].into());
        assert!(read_set.conversations_of(set).is_empty());
        assert!(read_set.contacts_of(set).is_empty());
    }

    #[test]
    fn a_failure_loads_conversation_contact_and_report_even_if_it_arrived_before_the_answer() {
        let set = &mut working_set();
        let id = notify(set, notification());
        let failed = MessageProgress::failed(time(1), error("131026", ""));
        event::decide(set, &status("w1", None, failed.clone(), 1), None);
        set.dialogue.sends.clear();
        // Then a status reports that the id is our message.
        for writes in [
            [webhook(status("w1", Some(id), read(), 1))],
            [webhook(status("w2", Some(id), failed, 1))],
        ] {
            let read_set = read_set(&writes, |_| None);
            assert_eq!(read_set.conversations_of(set).len(), 1);
            assert_eq!(read_set.contacts_of(set).len(), 1);
            assert_eq!(read_set.errors_of(set).len(), 1);
        }
    }

    #[test]
    fn a_notification_leads_to_the_conversation_and_the_holds_of_its_contact() {
        let set = &mut working_set();
        let id = notify(set, notification());
        let contact = set.dialogue.messages[&id].contact;
        let read_set = read_set(&[Write::Notify(Box::new(notification()))], |_| None);
        let conversations = read_set.contact_conversations_of(set);
        assert_eq!(
            conversations,
            [(channel().workspace, contact, channel().agent)].into()
        );
        let line = channel().connection;
        let holds = [(line.clone(), None), (line, Some(contact))];
        assert_eq!(read_set.holds_of(set), holds.into());
    }
}
