//! A conversation: found or begun, changed by sent and received messages, and closed. Its
//! status follows from its times (`domain::conversation`).

use std::collections::hash_map::Entry;

use crate::decide::prelude::*;
use leadhost_domain::conversation::{ConversationStatus, SPECIAL_INSTRUCTIONS, Times, status};
use leadhost_domain::deal::TEST;
use leadhost_domain::message::earliest;

/// The conversation that an outgoing message asks for.
pub(super) struct ConversationOpening<'a> {
    pub contact: ContactId,
    pub source: Option<&'a str>,
    /// The deal it is about. `None`: the conversation's deal, or else the contact's
    /// newest open deal.
    pub deal: Option<DealId>,
    pub transfer: bool,
    pub special_instructions: Option<&'a str>,
    /// The partner that asks for it, and what it says of the person (`domain::said`).
    pub said: Option<(PartnerId, Map<String, Value>)>,
}

/// The message that an incoming one answers, according to the channel.
#[derive(Clone, Copy)]
pub(super) struct RepliedTo {
    pub conversation: ConversationId,
    /// The instance sent it.
    pub is_ours: bool,
}

/// The values of one kind that are kept of what a partner said of a person.
const SAID_VALUES: usize = 10;

impl ConversationRecord {
    pub fn status(&self) -> ConversationStatus {
        status(Times {
            first_message_at: self.first_message_at,
            answered_at: self.answered_at,
            no_response_at: self.no_response_at,
            transferred_at: self.transferred_at,
            closed_at: self.closed_at,
        })
    }

    /// The next time at which time changes the conversation.
    pub fn due_at(&self) -> Option<Micros> {
        [self.respond_by, self.close_by].into_iter().flatten().min()
    }

    fn is_settled(&self) -> bool {
        [
            self.answered_at,
            self.no_response_at,
            self.transferred_at,
            self.closed_at,
        ]
        .iter()
        .any(Option::is_some)
    }

    /// Returns when a message of this time answers ours, which is never before ours. `None` if
    /// it was written before ours: channels deliver late. Their times are whole seconds, so a
    /// message of the same second counts as later, and a reply to ours is later whatever its
    /// time.
    fn answer_time(&self, at: Micros, is_reply: bool) -> Option<Micros> {
        let ours = self.messaged_at?;
        (is_reply || at >= ours.second()).then(|| at.max(ours))
    }

    /// Keeps what a partner says of the person, before what it said earlier. Returns whether that was
    /// new.
    fn hear(&mut self, partner: PartnerId, said: Map<String, Value>) -> bool {
        let partner = partner.to_string();
        let before = self.said.get(&partner).cloned().unwrap_or_default();
        let mut now = before.as_object().cloned().unwrap_or_default();
        for (name, value) in said {
            if let (Some(Value::Array(known)), Value::Array(values)) = (now.get_mut(&name), &value)
            {
                known.retain(|one| !values.contains(one));
                known.splice(0..0, values.iter().cloned());
                known.truncate(SAID_VALUES);
            } else {
                now.insert(name, value);
            }
        }
        let now = Value::Object(now);
        let is_new = now != before;
        self.said.insert(partner, now);
        is_new
    }

    /// Notes a message at this time, which keeps the conversation open for a while.
    fn moved(&mut self, at: Micros, idle_after: Duration) {
        self.last_message_at = self.last_message_at.max(Some(at));
        if self.closed_at.is_none() {
            self.close_by = self.close_by.max(Some(at.plus(idle_after)));
        }
    }
}

/// Returns the conversation for an outgoing message: the open one, or a new one.
pub(super) fn for_sending(
    set: &mut WorkingSet,
    channel: &Channel,
    opening: &ConversationOpening<'_>,
) -> ConversationId {
    let id = open(set, channel, opening.contact)
        .unwrap_or_else(|| begin(set, channel, opening.contact, opening.source));
    let newest = set.dialogue.newest_deals.get(&opening.contact).copied();
    let now = set.now;
    let Some(conversation) = set.dialogue.conversations.get_mut(&id) else {
        return id;
    };
    let mut changed = false;
    let deal = opening.deal.or(conversation.deal).or(newest);
    changed |= std::mem::replace(&mut conversation.deal, deal) != deal;
    changed |= std::mem::replace(&mut conversation.transfer, opening.transfer) != opening.transfer;
    if let Some(text) = opening.special_instructions {
        let text = json!(text);
        match conversation.props.entry(SPECIAL_INSTRUCTIONS) {
            serde_json::map::Entry::Occupied(mut before) => {
                changed |= before.insert(text.clone()) != text;
            }
            serde_json::map::Entry::Vacant(free) => {
                free.insert(text);
                changed = true;
            }
        }
    }
    if conversation.messaged_at.is_none() {
        conversation.messaged_at = Some(now);
        changed = true;
    }
    if let Some((partner, said)) = &opening.said {
        changed |= conversation.hear(*partner, said.clone());
    }
    if changed {
        set.dialogue.touch_conversation(id);
    }
    id
}

/// Returns the time of an incoming message in its conversation. Channels' times are whole seconds, so a
/// message of the same second as the last one comes after it.
pub(super) fn time_after_last(set: &WorkingSet, id: ConversationId, at: Micros) -> Micros {
    let conversation = set.dialogue.conversations.get(&id);
    let last = conversation.and_then(|one| one.last_message_at.max(one.messaged_at));
    let last = last.filter(|last| at >= last.second());
    last.map_or(at, |last| {
        at.max(last.plus(Duration::from_micros(1)).min(set.now))
    })
}

/// Returns the conversation of an incoming message: the one of the message it answers, the open one, or a new
/// one. Returns the message's time in it as well.
pub(super) fn for_receiving(
    set: &mut WorkingSet,
    channel: &Channel,
    contact: ContactId,
    replied_to: Option<RepliedTo>,
    at: Micros,
) -> (ConversationId, Micros) {
    let is_meant = |message: &RepliedTo| {
        let conversation = set.dialogue.conversations.get(&message.conversation);
        conversation.is_some_and(|conversation| {
            conversation.contact == contact && conversation.closed_at.is_none()
        })
    };
    let replied_to = replied_to.filter(is_meant);
    let is_reply = replied_to.is_some_and(|message| message.is_ours);
    let id = replied_to
        .map(|message| message.conversation)
        .or_else(|| open(set, channel, contact))
        .unwrap_or_else(|| begin(set, channel, contact, None));
    let newest = set.dialogue.newest_deals.get(&contact).copied();
    let in_order = time_after_last(set, id, at);
    if let Some(conversation) = set.dialogue.conversations.get_mut(&id) {
        conversation.deal = conversation.deal.or(newest);
        let answers_at = conversation.answer_time(at, is_reply);
        let at = answers_at.unwrap_or(at);
        earliest(&mut conversation.first_message_at, Some(at));
        if answers_at.is_some() {
            // The first answer may arrive second.
            if earliest(&mut conversation.answered_at, answers_at) {
                conversation.no_response_at = None;
            }
            conversation.respond_by = None;
        }
        conversation.moved(at, channel.idle_after);
        set.dialogue.touch_conversation(id);
    }
    (id, in_order)
}

pub(super) fn open(
    set: &WorkingSet,
    channel: &Channel,
    contact: ContactId,
) -> Option<ConversationId> {
    let key = (contact, channel.agent);
    set.dialogue.open.get(&key).copied()
}

fn begin(
    set: &mut WorkingSet,
    channel: &Channel,
    contact: ContactId,
    source: Option<&str>,
) -> ConversationId {
    let id = ConversationId::new(set.now);
    set.dialogue.add_conversation(
        id,
        ConversationRecord {
            workspace: channel.workspace,
            contact,
            deal: None,
            agent: Some(channel.agent),
            agent_type: Some(channel.agent_kind.as_str().to_owned()),
            source: source.map(str::to_owned),
            channel: Some(channel.channel.clone()),
            first_message_at: None,
            answered_at: None,
            last_message_at: None,
            no_response_at: None,
            transferred_at: None,
            appointment_at: None,
            closed_at: None,
            props: Map::new(),
            messaged_at: None,
            transfer: true,
            respond_by: None,
            close_by: Some(set.now.plus(channel.idle_after)),
            said: Map::new(),
            change: RowChange::New,
        },
    );
    id
}

/// Makes an open conversation of a deal's contact about the deal, if it is about none: the one with
/// this instance, or if no instance is named, one with any, preferably the deal's. Returns whether
/// there was one. A test lead takes no conversation, because analytics would stop counting it.
pub(super) fn adopt(set: &mut WorkingSet, id: DealId, agent: Option<AgentId>) -> bool {
    let Some(deal) = set.deals.get(&id) else {
        return false;
    };
    if deal.props.get(TEST) == Some(&true.into()) {
        return false;
    }
    let conversations = set.dialogue.conversations.iter();
    let free = conversations.filter(|(_, one)| {
        (one.contact, one.deal, one.closed_at) == (deal.person, None, None)
            && agent.is_none_or(|agent| one.agent == Some(agent))
    });
    let chosen = free.max_by_key(|(id, one)| (one.agent == deal.agent, **id));
    let Some(chosen) = chosen.map(|(id, _)| *id) else {
        return false;
    };
    concerns(set, chosen, Some(id));
    true
}

/// Makes a conversation about this deal, or about none, together with its open ticket.
pub(super) fn concerns(set: &mut WorkingSet, id: ConversationId, deal: Option<DealId>) {
    let dialogue = &mut set.dialogue;
    if let Some(conversation) = dialogue.conversations.get_mut(&id) {
        conversation.deal = deal;
        dialogue.touch_conversation(id);
    }
    if let Some(ticket) = dialogue.live_tickets.get(&id).copied()
        && let Some(record) = dialogue.tickets.get_mut(&ticket)
    {
        record.deal = deal;
        dialogue.touch_ticket(ticket);
    }
}

/// Notes that the channel accepted a message of the instance at this time: the
/// conversation has begun, and awaits an answer unless it had one.
pub(super) fn taken(set: &mut WorkingSet, channel: &Channel, id: ConversationId, at: Micros) {
    let Some(conversation) = set.dialogue.conversations.get_mut(&id) else {
        return;
    };
    earliest(&mut conversation.first_message_at, Some(at));
    conversation.messaged_at = conversation.messaged_at.or(Some(at));
    if !conversation.is_settled() {
        let respond_by = Some(at.plus(channel.unanswered_after));
        conversation.respond_by = conversation.respond_by.max(respond_by);
    }
    conversation.moved(at, channel.idle_after);
    set.dialogue.touch_conversation(id);
}

/// Notes that a message stored at this time never went out. If it was the first one and
/// no other went out, incoming messages are not answers.
pub(super) fn not_taken(set: &mut WorkingSet, id: ConversationId, stored_at: Micros) {
    if let Some(conversation) = set.dialogue.conversations.get_mut(&id)
        && conversation.messaged_at == Some(stored_at)
        && conversation.respond_by.is_none()
        && !conversation.is_settled()
    {
        conversation.messaged_at = None;
        set.dialogue.touch_conversation(id);
    }
}

/// Closes the conversation if it is open. The next message begins a new one.
pub(super) fn close(set: &mut WorkingSet, id: ConversationId) {
    let now = set.now;
    let Some(conversation) = set.dialogue.conversations.get_mut(&id) else {
        return;
    };
    if conversation.closed_at.is_some() {
        return;
    }
    conversation.respond_by = None;
    conversation.close_by = None;
    conversation.closed_at = Some(now);
    if let Some(agent) = conversation.agent
        && let Entry::Occupied(open) = set.dialogue.open.entry((conversation.contact, agent))
        && *open.get() == id
    {
        open.remove();
    }
    set.dialogue.touch_conversation(id);
}

#[cfg(test)]
mod tests {
    use super::super::sample::*;
    use super::*;
    use crate::{DealCreated, NewDeal, Notification, SendOutcome};

    /// A conversation of the contact with the usual instance, and a later one with another.
    fn two_conversations(set: &mut WorkingSet) -> [ConversationId; 2] {
        let other = Channel {
            agent: AgentId(channel().agent.0 + 1),
            ..channel()
        };
        [channel(), other].map(|channel| {
            set.now = set.now.plus(Duration::from_secs(1));
            let id = notify(
                set,
                Notification {
                    channel,
                    ..notification()
                },
            );
            message(set, id).conversation
        })
    }

    #[test]
    fn a_new_deal_takes_the_conversation_of_its_instance_or_one_of_its_contact() {
        let (usual, other) = (channel().agent, AgentId(channel().agent.0 + 1));
        for (named, first, taken) in [
            (Some(usual), None, Some(0)),
            (Some(other), None, Some(1)),
            (Some(AgentId(99)), None, None),
            (None, Some(usual), Some(0)),
            (None, Some(other), Some(1)),
            (None, Some(AgentId(99)), Some(1)),
        ] {
            let set = &mut working_set();
            let conversations = two_conversations(set);
            set.first_agents
                .extend(first.map(|agent| (by().workspace, agent)));
            saved(set);
            let new = NewDeal {
                agent: named,
                ..new_deal()
            };
            let deal = new.id;
            assert!(matches!(make(set, new), DealCreated::Done(_)));
            let about = conversations.map(|id| set.dialogue.conversations[&id].deal);
            let mut expect = [None, None];
            if let Some(place) = taken {
                expect[place] = Some(deal);
                assert_eq!(set.dialogue.changed_conversations, [conversations[place]]);
            }
            assert_eq!(about, expect, "{named:?} {first:?}");
        }
    }

    #[test]
    fn a_new_deal_leaves_a_conversation_about_another_deal_and_a_test_takes_none() {
        let set = &mut working_set();
        let begun = notify(set, notification());
        let test = NewDeal {
            props: [(TEST.to_owned(), json!(true))].into_iter().collect(),
            ..new_deal()
        };
        make(set, test);
        assert_eq!(conversation(set, begun).deal, None);
        let first = NewDeal {
            id: DealId::new(time(1)),
            ..new_deal()
        };
        let (id, second) = (first.id, new_deal());
        make(set, first);
        make(set, second);
        assert_eq!(conversation(set, begun).deal, Some(id));
    }

    #[test]
    fn the_open_ticket_of_a_conversation_gets_its_deal() {
        let set = &mut working_set();
        let id = notify(set, notification());
        settle(set, id, 0, accepted("w1", 1));
        set.now = time(86_402);
        let at = message(set, id).conversation;
        assert!(elapse(set, at));
        assert_eq!(ticket(set).1.deal, None);
        let new = new_deal();
        let deal = new.id;
        make(set, new);
        assert_eq!(ticket(set).1.deal, Some(deal));
    }

    #[test]
    fn an_answered_conversation_awaits_no_further_answer() {
        let set = &mut working_set();
        let id = notify(set, notification());
        let contact = message(set, id).contact;
        for_receiving(set, &channel(), contact, None, time(1));
        settle(set, id, 0, accepted("w1", 2));
        let conversation = conversation(set, id);
        assert_eq!(conversation.answered_at, Some(time(1)));
        assert_eq!(conversation.respond_by, None);
        assert_eq!(conversation.first_message_at, Some(time(1)));
        assert_eq!(conversation.status(), ConversationStatus::Answered);
    }

    #[test]
    fn a_message_of_the_same_second_is_an_answer_and_an_older_one_is_not() {
        let at = |millis: i64| Micros(time(0).0 + millis * 1_000);
        let next = at(400).plus(Duration::from_micros(1));
        for (written_at, answered_at, first_message_at, in_order) in [
            (at(-1), None, at(-1), at(-1)),
            (at(0), Some(at(400)), at(400), next),
            (at(399), Some(at(400)), at(400), next),
            (at(400), Some(at(400)), at(400), next),
            (at(1_000), Some(at(1_000)), at(400), at(1_000)),
        ] {
            let set = &mut working_set();
            set.now = at(400);
            let id = notify(set, notification());
            let contact = message(set, id).contact;
            let ours = message(set, id).conversation;
            taken(set, &channel(), ours, at(400));
            set.now = at(1_500);
            let (_, at) = for_receiving(set, &channel(), contact, None, written_at);
            assert_eq!(at, in_order, "it comes after ours");
            let conversation = conversation(set, id);
            assert_eq!(conversation.answered_at, answered_at, "{written_at:?}");
            assert_eq!(conversation.first_message_at, Some(first_message_at));
            assert_eq!(conversation.respond_by.is_none(), answered_at.is_some());
        }
    }

    #[test]
    fn a_message_that_never_went_out_is_not_answered_unless_another_did() {
        let refused = || SendOutcome::Refused(super::super::sample::error("131026", ""));
        let set = &mut working_set();
        let first = notify(set, notification());
        settle(set, first, 0, refused());
        assert_eq!(conversation(set, first).messaged_at, None);
        let (second, third) = (notify(set, notification()), notify(set, notification()));
        settle(set, third, 0, accepted("w1", 1));
        settle(set, second, 0, refused());
        assert!(conversation(set, second).messaged_at.is_some());
    }
}
