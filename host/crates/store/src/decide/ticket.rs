//! Tickets: opened when a conversation is handed to people, or a deal without one, with
//! at most one open ticket for each; changed by the desk. Resolving a ticket closes its
//! conversation.

use super::conversation;
use crate::decide::prelude::*;
use crate::{TicketPatch, TicketPatched};
use leadhost_domain::conversation::SPECIAL_INSTRUCTIONS;
use leadhost_domain::ticket::TicketStatus;

/// Hands the conversation to people: to this owner, or to whichever agent takes it. The contact's answer is
/// no longer awaited.
pub(super) fn hand_over(set: &mut WorkingSet, id: ConversationId, owner: Option<OwnerId>) {
    let now = set.now;
    let Some(conversation) = set.dialogue.conversations.get_mut(&id) else {
        return;
    };
    if conversation.transferred_at.is_none() || conversation.respond_by.is_some() {
        conversation.transferred_at = conversation.transferred_at.or(Some(now));
        conversation.respond_by = None;
        set.dialogue.touch_conversation(id);
    }
    if set.dialogue.live_tickets.contains_key(&id) {
        return;
    }
    let Some(conversation) = set.dialogue.conversations.get(&id) else {
        return;
    };
    let special_instructions = conversation.props.get(SPECIAL_INSTRUCTIONS);
    let special_instructions = special_instructions.and_then(|text| text.as_str());
    let ticket = TicketRecord {
        workspace: conversation.workspace,
        conversation: Some(id),
        deal: conversation.deal,
        contact: conversation.contact,
        agent: conversation.agent,
        agent_type: conversation.agent_type.clone(),
        source: conversation.source.clone(),
        owner,
        status: TicketStatus::Open,
        special_instructions: special_instructions.map(str::to_owned),
        opened_at: now,
        answered_at: None,
        resolved_at: None,
        change: RowChange::New,
    };
    set.dialogue.add_ticket(TicketId::new(now), ticket);
}

/// Hands the deal to people, together with its conversation if there is one.
pub(super) fn hand_over_deal(
    set: &mut WorkingSet,
    id: DealId,
    conversation: Option<ConversationId>,
) {
    let Some(deal) = set.deals.get(&id) else {
        return;
    };
    if let Some(conversation) = conversation {
        let owner = deal.owner;
        move_ticket(set, id, conversation);
        return hand_over(set, conversation, owner);
    }
    if set.dialogue.live_deal_tickets.contains_key(&id) {
        return;
    }
    let ticket = TicketRecord {
        workspace: deal.workspace,
        conversation: None,
        deal: Some(id),
        contact: deal.person,
        agent: deal.agent,
        agent_type: None,
        source: None,
        owner: deal.owner,
        status: TicketStatus::Open,
        special_instructions: None,
        opened_at: set.now,
        answered_at: None,
        resolved_at: None,
        change: RowChange::New,
    };
    set.dialogue.add_ticket(TicketId::new(set.now), ticket);
}

/// Gives the deal's own ticket, which opened when it had no conversation, to its conversation.
fn move_ticket(set: &mut WorkingSet, deal: DealId, conversation: ConversationId) {
    let dialogue = &mut set.dialogue;
    if !dialogue.live_tickets.contains_key(&conversation)
        && let Some(id) = dialogue.live_deal_tickets.remove(&deal)
        && let Some(ticket) = dialogue.tickets.get_mut(&id)
    {
        ticket.conversation = Some(conversation);
        dialogue.live_tickets.insert(conversation, id);
        dialogue.touch_ticket(id);
    }
}

/// Changes a ticket's status or owner. Changes nothing if the workspace has no such ticket or
/// owner, or if the ticket would be open again although another one has taken its place.
pub(super) fn patch(set: &mut WorkingSet, patch: &TicketPatch) -> TicketPatched {
    let now = set.now;
    let id = patch.ticket;
    let of_workspace = |ticket: &&TicketRecord| ticket.workspace == patch.workspace;
    let Some(before) = set.dialogue.tickets.get(&id).filter(of_workspace).cloned() else {
        return TicketPatched::NoTicket;
    };
    let mut ticket = before.clone();
    match &patch.owner_email {
        None => {}
        Some(None) => ticket.owner = None,
        Some(Some(email)) => match set.owners.get(&(patch.workspace, email.clone())) {
            Some(owner) => ticket.owner = Some(*owner),
            None => return TicketPatched::NoOwner,
        },
    }
    if let Some(status) = patch.status {
        if status != TicketStatus::Resolved && superseded(set, id, &before) {
            return TicketPatched::Superseded;
        }
        ticket.status = status;
        ticket.answered_at = match status {
            TicketStatus::Answered => ticket.answered_at.or(Some(now)),
            TicketStatus::Open | TicketStatus::Resolved => ticket.answered_at,
        };
        ticket.resolved_at = match status {
            TicketStatus::Resolved => ticket.resolved_at.or(Some(now)),
            TicketStatus::Open | TicketStatus::Answered => None,
        };
    }
    let is_same = (ticket.status, ticket.owner) == (before.status, before.owner);
    if is_same {
        return TicketPatched::Done { changed: false };
    }
    let is_resolved = ticket.resolved_at.is_some() && before.resolved_at.is_none();
    let conversation = ticket.conversation;
    if is_resolved {
        match (conversation, ticket.deal) {
            (Some(conversation), _) => drop(set.dialogue.live_tickets.remove(&conversation)),
            (None, Some(deal)) => drop(set.dialogue.live_deal_tickets.remove(&deal)),
            (None, None) => {}
        }
    }
    set.dialogue.know_ticket(id, ticket);
    set.dialogue.touch_ticket(id);
    if let Some(conversation) = conversation.filter(|_| is_resolved) {
        conversation::close(set, conversation);
    }
    TicketPatched::Done { changed: true }
}

/// Returns whether another ticket has replaced it since it was resolved.
fn superseded(set: &WorkingSet, id: TicketId, ticket: &TicketRecord) -> bool {
    let live = match (ticket.conversation, ticket.deal) {
        (Some(conversation), _) => set.dialogue.live_tickets.get(&conversation),
        (None, Some(deal)) => set.dialogue.live_deal_tickets.get(&deal),
        (None, None) => None,
    };
    live.is_some_and(|live| *live != id)
}

#[cfg(test)]
mod tests {
    use super::super::sample::*;
    use super::*;
    use crate::DealPatch;
    use leadhost_domain::deal::DealStage;

    const CHANGED: TicketPatched = TicketPatched::Done { changed: true };
    const UNCHANGED: TicketPatched = TicketPatched::Done { changed: false };

    /// Returns a conversation that was handed over because it was not answered, and its
    /// ticket.
    fn handed(set: &mut WorkingSet) -> (ConversationId, TicketId) {
        let deal = stored_deal(set);
        let conversation = conversation_about(set, deal, notification());
        set.now = time(86_400);
        assert!(elapse(set, conversation));
        saved(set);
        (conversation, ticket(set).0)
    }

    fn to_status(set: &mut WorkingSet, id: TicketId, status: TicketStatus) -> TicketPatched {
        let status = Some(status);
        patch_ticket(
            set,
            TicketPatch {
                status,
                ..ticket_wish(id)
            },
        )
    }

    fn to_owner(set: &mut WorkingSet, id: TicketId, owner: Option<&str>) -> TicketPatched {
        let owner_email = Some(owner.map(str::to_owned));
        let wish = TicketPatch {
            owner_email,
            ..ticket_wish(id)
        };
        patch_ticket(set, wish)
    }

    #[test]
    fn an_unanswered_conversation_is_handed_to_people_once() {
        let set = &mut working_set();
        let (conversation_id, id) = handed(set);
        let (_, opened) = ticket(set);
        assert_eq!(opened.conversation, Some(conversation_id));
        assert_eq!((opened.status, opened.owner), (TicketStatus::Open, None));
        let of = conversation_by_id(set, conversation_id);
        assert!(of.agent_type.is_some() && of.source.is_some());
        assert_eq!(opened.agent_type, of.agent_type);
        assert_eq!(opened.source, of.source);
        assert_eq!(opened.opened_at, time(86_400));
        let now = conversation_by_id(set, conversation_id);
        assert_eq!(now.no_response_at, Some(time(86_400)));
        assert_eq!(now.transferred_at, Some(time(86_400)));
        // A timeout and a partner hand it over again: it is already handed over.
        assert!(!elapse(set, conversation_id));
        let stage = Some(DealStage::Transferred);
        let deal = conversation_by_id(set, conversation_id)
            .deal
            .expect("a deal");
        change(
            set,
            DealPatch {
                stage,
                ..wish(deal)
            },
        );
        assert_eq!(ticket(set).0, id);
        assert!(set.dialogue.changed_tickets.is_empty());
        assert!(set.dialogue.changed_conversations.is_empty());
    }

    #[test]
    fn a_timeout_hands_nothing_over_if_the_notification_forbade_it() {
        let set = &mut working_set();
        let deal = stored_deal(set);
        let mut quiet = notification();
        quiet.details.transfer = false;
        let conversation_id = conversation_about(set, deal, quiet);
        set.now = time(86_400);
        assert!(elapse(set, conversation_id));
        assert!(set.dialogue.tickets.is_empty());
        assert_eq!(
            conversation_by_id(set, conversation_id).transferred_at,
            None
        );
        assert!(
            conversation_by_id(set, conversation_id)
                .no_response_at
                .is_some()
        );
    }

    #[test]
    fn a_ticket_is_claimed_and_released() {
        let set = &mut working_set();
        let (_, id) = handed(set);
        assert_eq!(to_owner(set, id, Some(OLGA)), CHANGED);
        assert_eq!(ticket(set).1.owner, Some(owner()));
        assert_eq!(to_owner(set, id, Some(OLGA)), UNCHANGED);
        assert_eq!(to_owner(set, id, None), CHANGED);
        assert_eq!(ticket(set).1.owner, None);
        assert_eq!(set.dialogue.changed_tickets, [id]);
    }

    #[test]
    fn a_patch_without_changes_or_with_unknown_names_leaves_no_trace() {
        let set = &mut working_set();
        let (_, id) = handed(set);
        assert_eq!(patch_ticket(set, ticket_wish(id)), UNCHANGED);
        assert_eq!(to_status(set, id, TicketStatus::Open), UNCHANGED);
        assert_eq!(to_owner(set, id, None), UNCHANGED);
        let wrong = TicketPatch {
            status: Some(TicketStatus::Resolved),
            owner_email: Some(Some("nobody@example.com".to_owned())),
            ..ticket_wish(id)
        };
        assert_eq!(patch_ticket(set, wrong), TicketPatched::NoOwner);
        let workspace = WorkspaceId(uuid::Uuid::from_u128(9));
        let elsewhere = TicketPatch {
            workspace,
            status: Some(TicketStatus::Resolved),
            ..ticket_wish(id)
        };
        assert_eq!(patch_ticket(set, elsewhere), TicketPatched::NoTicket);
        let unknown = TicketId::new(set.now);
        assert_eq!(
            to_status(set, unknown, TicketStatus::Open),
            TicketPatched::NoTicket
        );
        assert_eq!(ticket(set).1.status, TicketStatus::Open);
        assert!(set.dialogue.changed_tickets.is_empty());
    }

    #[test]
    fn an_answered_ticket_keeps_its_first_answer_and_its_conversation_continues() {
        let set = &mut working_set();
        let (conversation_id, id) = handed(set);
        let answered = time(86_460);
        set.now = answered;
        assert_eq!(to_status(set, id, TicketStatus::Answered), CHANGED);
        set.now = time(86_520);
        assert_eq!(to_status(set, id, TicketStatus::Answered), UNCHANGED);
        assert_eq!(to_status(set, id, TicketStatus::Open), CHANGED);
        assert_eq!(to_status(set, id, TicketStatus::Answered), CHANGED);
        assert_eq!(ticket(set).1.answered_at, Some(answered));
        assert_eq!(ticket(set).1.resolved_at, None);
        assert_eq!(conversation_by_id(set, conversation_id).closed_at, None);
    }

    #[test]
    fn a_resolved_ticket_ends_its_conversation() {
        let set = &mut working_set();
        let (conversation_id, id) = handed(set);
        assert_eq!(to_status(set, id, TicketStatus::Resolved), CHANGED);
        assert_eq!(ticket(set).1.resolved_at, Some(set.now));
        assert_eq!(
            conversation_by_id(set, conversation_id).closed_at,
            Some(set.now)
        );
        assert_eq!(set.dialogue.changed_conversations, [conversation_id]);
        assert!(set.dialogue.live_tickets.is_empty());
        assert_eq!(to_status(set, id, TicketStatus::Resolved), UNCHANGED);
        // The next message begins a new one.
        let next = notify(set, notification());
        assert_ne!(message(set, next).conversation, conversation_id);
    }

    #[test]
    fn a_resolved_ticket_is_reopened_and_its_conversation_is_not() {
        let set = &mut working_set();
        let (conversation_id, id) = handed(set);
        to_status(set, id, TicketStatus::Resolved);
        assert_eq!(to_status(set, id, TicketStatus::Open), CHANGED);
        assert_eq!(ticket(set).1.resolved_at, None);
        assert_eq!(set.dialogue.live_tickets.get(&conversation_id), Some(&id));
        assert!(conversation_by_id(set, conversation_id).closed_at.is_some());
        assert_eq!(set.dialogue.changed_tickets, [id]);
    }

    #[test]
    fn a_replaced_ticket_stays_resolved() {
        let set = &mut working_set();
        let deal = stored_deal(set);
        let stage = |set: &mut WorkingSet, stage| {
            let stage = Some(stage);
            change(
                set,
                DealPatch {
                    stage,
                    ..wish(deal)
                },
            )
        };
        stage(set, DealStage::Transferred);
        let (first, _) = ticket(set);
        to_status(set, first, TicketStatus::Resolved);
        stage(set, DealStage::InService);
        stage(set, DealStage::Transferred);
        let second = set.dialogue.live_deal_tickets[&deal];
        assert_ne!(first, second);
        for status in [TicketStatus::Open, TicketStatus::Answered] {
            assert_eq!(to_status(set, first, status), TicketPatched::Superseded);
        }
        // Its owner may still change, and so may the other ticket.
        assert_eq!(to_owner(set, first, Some(OLGA)), CHANGED);
        assert_eq!(to_status(set, second, TicketStatus::Resolved), CHANGED);
        assert_eq!(to_status(set, first, TicketStatus::Open), CHANGED);
        assert_eq!(set.dialogue.live_deal_tickets[&deal], first);
    }
}
