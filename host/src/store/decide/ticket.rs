//! Tickets: opened when a conversation is handed to people, or a deal without one, with
//! at most one open ticket for each; changed by the desk. Resolving a ticket closes its
//! conversation.

use super::Ticket;
use super::conversation;
use super::known::{Change, Known};
use crate::domain::conversation::SPECIAL_INSTRUCTIONS;
use crate::domain::id::{ConversationId, DealId, OwnerId, TicketId};
use crate::domain::ticket::Status;
use crate::store::{TicketPatch, TicketPatched};

/// Hands the conversation to people: to this owner, or to whichever agent takes it. The
/// contact's answer is not awaited any more.
pub(super) fn hand_over(known: &mut Known, id: ConversationId, owner: Option<OwnerId>) {
    let now = known.now;
    let Some(conversation) = known.dialogue.conversations.get_mut(&id) else {
        return;
    };
    if conversation.transferred_at.is_none() || conversation.respond_by.is_some() {
        conversation.transferred_at = conversation.transferred_at.or(Some(now));
        conversation.respond_by = None;
        known.dialogue.touch_conversation(id);
    }
    if known.dialogue.live_tickets.contains_key(&id) {
        return;
    }
    let Some(conversation) = known.dialogue.conversations.get(&id) else {
        return;
    };
    let special_instructions = conversation.props.get(SPECIAL_INSTRUCTIONS);
    let special_instructions = special_instructions.and_then(|text| text.as_str());
    let ticket = Ticket {
        workspace: conversation.workspace,
        conversation: Some(id),
        deal: conversation.deal,
        contact: conversation.contact,
        agent: conversation.agent,
        agent_type: conversation.agent_type.clone(),
        source: conversation.source.clone(),
        owner,
        status: Status::Open,
        special_instructions: special_instructions.map(str::to_owned),
        opened_at: now,
        answered_at: None,
        resolved_at: None,
        change: Change::New,
    };
    known.dialogue.add_ticket(TicketId::new(now), ticket);
}

/// Hands the deal to people, together with its conversation if there is one.
pub(super) fn hand_over_deal(known: &mut Known, id: DealId, talk: Option<ConversationId>) {
    let Some(deal) = known.deals.get(&id) else {
        return;
    };
    if let Some(talk) = talk {
        let owner = deal.owner;
        return hand_over(known, talk, owner);
    }
    if known.dialogue.live_deal_tickets.contains_key(&id) {
        return;
    }
    let ticket = Ticket {
        workspace: deal.workspace,
        conversation: None,
        deal: Some(id),
        contact: deal.person,
        agent: deal.agent,
        agent_type: None,
        source: None,
        owner: deal.owner,
        status: Status::Open,
        special_instructions: None,
        opened_at: known.now,
        answered_at: None,
        resolved_at: None,
        change: Change::New,
    };
    known.dialogue.add_ticket(TicketId::new(known.now), ticket);
}

pub(super) fn patch(known: &mut Known, patch: &TicketPatch) -> TicketPatched {
    let now = known.now;
    let id = patch.ticket;
    let of_workspace = |ticket: &&Ticket| ticket.workspace == patch.workspace;
    let Some(before) = known
        .dialogue
        .tickets
        .get(&id)
        .filter(of_workspace)
        .cloned()
    else {
        return TicketPatched::NoTicket;
    };
    let mut ticket = before.clone();
    match &patch.owner_email {
        None => {}
        Some(None) => ticket.owner = None,
        Some(Some(email)) => match known.owners.get(&(patch.workspace, email.clone())) {
            Some(owner) => ticket.owner = Some(*owner),
            None => return TicketPatched::NoOwner,
        },
    }
    if let Some(status) = patch.status {
        if status != Status::Resolved && superseded(known, id, &before) {
            return TicketPatched::Superseded;
        }
        ticket.status = status;
        ticket.answered_at = match status {
            Status::Answered => ticket.answered_at.or(Some(now)),
            Status::Open | Status::Resolved => ticket.answered_at,
        };
        ticket.resolved_at = match status {
            Status::Resolved => ticket.resolved_at.or(Some(now)),
            Status::Open | Status::Answered => None,
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
            (Some(conversation), _) => drop(known.dialogue.live_tickets.remove(&conversation)),
            (None, Some(deal)) => drop(known.dialogue.live_deal_tickets.remove(&deal)),
            (None, None) => {}
        }
    }
    known.dialogue.know_ticket(id, ticket);
    known.dialogue.touch_ticket(id);
    if let Some(conversation) = conversation.filter(|_| is_resolved) {
        conversation::close(known, conversation);
    }
    TicketPatched::Done { changed: true }
}

/// Returns whether another ticket has replaced it since it was resolved.
fn superseded(known: &Known, id: TicketId, ticket: &Ticket) -> bool {
    let live = match (ticket.conversation, ticket.deal) {
        (Some(conversation), _) => known.dialogue.live_tickets.get(&conversation),
        (None, Some(deal)) => known.dialogue.live_deal_tickets.get(&deal),
        (None, None) => None,
    };
    live.is_some_and(|live| *live != id)
}

#[cfg(test)]
mod tests {
    use super::super::sample::*;
    use super::*;
    use crate::domain::deal::Stage;
    use crate::domain::id::WorkspaceId;
    use crate::store::DealPatch;

    const CHANGED: TicketPatched = TicketPatched::Done { changed: true };
    const KEPT: TicketPatched = TicketPatched::Done { changed: false };

    /// Returns a conversation that was handed over because it was not answered, and its
    /// ticket.
    fn handed(known: &mut Known) -> (ConversationId, TicketId) {
        let deal = stored_deal(known);
        let talk = talk_about(known, deal, notification());
        known.now = time(86_400);
        assert!(elapse(known, talk));
        saved(known);
        (talk, ticket(known).0)
    }

    fn to_status(known: &mut Known, id: TicketId, status: Status) -> TicketPatched {
        let status = Some(status);
        patch_ticket(
            known,
            TicketPatch {
                status,
                ..ticket_wish(id)
            },
        )
    }

    fn to_owner(known: &mut Known, id: TicketId, owner: Option<&str>) -> TicketPatched {
        let owner_email = Some(owner.map(str::to_owned));
        let wish = TicketPatch {
            owner_email,
            ..ticket_wish(id)
        };
        patch_ticket(known, wish)
    }

    #[test]
    fn an_unanswered_conversation_is_handed_to_people_once() {
        let known = &mut known();
        let (talk_id, id) = handed(known);
        let (_, opened) = ticket(known);
        assert_eq!(opened.conversation, Some(talk_id));
        assert_eq!((opened.status, opened.owner), (Status::Open, None));
        let of = talk(known, talk_id);
        assert!(of.agent_type.is_some() && of.source.is_some());
        assert_eq!(opened.agent_type, of.agent_type);
        assert_eq!(opened.source, of.source);
        assert_eq!(opened.opened_at, time(86_400));
        let now = talk(known, talk_id);
        assert_eq!(now.no_response_at, Some(time(86_400)));
        assert_eq!(now.transferred_at, Some(time(86_400)));
        // A timeout and a partner hand it over again: it is already handed over.
        assert!(!elapse(known, talk_id));
        let stage = Some(Stage::Transferred);
        let deal = talk(known, talk_id).deal.expect("a deal");
        change(
            known,
            DealPatch {
                stage,
                ..wish(deal)
            },
        );
        assert_eq!(ticket(known).0, id);
        assert!(known.dialogue.changed_tickets.is_empty());
        assert!(known.dialogue.changed_conversations.is_empty());
    }

    #[test]
    fn a_timeout_hands_nothing_over_if_the_notification_forbade_it() {
        let known = &mut known();
        let deal = stored_deal(known);
        let mut quiet = notification();
        quiet.details.transfer = false;
        let talk_id = talk_about(known, deal, quiet);
        known.now = time(86_400);
        assert!(elapse(known, talk_id));
        assert!(known.dialogue.tickets.is_empty());
        assert_eq!(talk(known, talk_id).transferred_at, None);
        assert!(talk(known, talk_id).no_response_at.is_some());
    }

    #[test]
    fn a_ticket_is_claimed_and_released() {
        let known = &mut known();
        let (_, id) = handed(known);
        assert_eq!(to_owner(known, id, Some(OLGA)), CHANGED);
        assert_eq!(ticket(known).1.owner, Some(owner()));
        assert_eq!(to_owner(known, id, Some(OLGA)), KEPT);
        assert_eq!(to_owner(known, id, None), CHANGED);
        assert_eq!(ticket(known).1.owner, None);
        assert_eq!(known.dialogue.changed_tickets, [id]);
    }

    #[test]
    fn a_patch_without_changes_or_with_unknown_names_leaves_no_trace() {
        let known = &mut known();
        let (_, id) = handed(known);
        assert_eq!(patch_ticket(known, ticket_wish(id)), KEPT);
        assert_eq!(to_status(known, id, Status::Open), KEPT);
        assert_eq!(to_owner(known, id, None), KEPT);
        let wrong = TicketPatch {
            status: Some(Status::Resolved),
            owner_email: Some(Some("nobody@example.com".to_owned())),
            ..ticket_wish(id)
        };
        assert_eq!(patch_ticket(known, wrong), TicketPatched::NoOwner);
        let workspace = WorkspaceId(uuid::Uuid::from_u128(9));
        let elsewhere = TicketPatch {
            workspace,
            status: Some(Status::Resolved),
            ..ticket_wish(id)
        };
        assert_eq!(patch_ticket(known, elsewhere), TicketPatched::NoTicket);
        let unknown = TicketId::new(known.now);
        assert_eq!(
            to_status(known, unknown, Status::Open),
            TicketPatched::NoTicket
        );
        assert_eq!(ticket(known).1.status, Status::Open);
        assert!(known.dialogue.changed_tickets.is_empty());
    }

    #[test]
    fn an_answered_ticket_keeps_its_first_answer_and_its_conversation_continues() {
        let known = &mut known();
        let (talk_id, id) = handed(known);
        let answered = time(86_460);
        known.now = answered;
        assert_eq!(to_status(known, id, Status::Answered), CHANGED);
        known.now = time(86_520);
        assert_eq!(to_status(known, id, Status::Answered), KEPT);
        assert_eq!(to_status(known, id, Status::Open), CHANGED);
        assert_eq!(to_status(known, id, Status::Answered), CHANGED);
        assert_eq!(ticket(known).1.answered_at, Some(answered));
        assert_eq!(ticket(known).1.resolved_at, None);
        assert_eq!(talk(known, talk_id).closed_at, None);
    }

    #[test]
    fn a_resolved_ticket_ends_its_conversation() {
        let known = &mut known();
        let (talk_id, id) = handed(known);
        assert_eq!(to_status(known, id, Status::Resolved), CHANGED);
        assert_eq!(ticket(known).1.resolved_at, Some(known.now));
        assert_eq!(talk(known, talk_id).closed_at, Some(known.now));
        assert_eq!(known.dialogue.changed_conversations, [talk_id]);
        assert!(known.dialogue.live_tickets.is_empty());
        assert_eq!(to_status(known, id, Status::Resolved), KEPT);
        // The next message begins a new one.
        let next = notify(known, notification());
        assert_ne!(message(known, next).conversation, talk_id);
    }

    #[test]
    fn a_resolved_ticket_is_reopened_and_its_conversation_is_not() {
        let known = &mut known();
        let (talk_id, id) = handed(known);
        to_status(known, id, Status::Resolved);
        assert_eq!(to_status(known, id, Status::Open), CHANGED);
        assert_eq!(ticket(known).1.resolved_at, None);
        assert_eq!(known.dialogue.live_tickets.get(&talk_id), Some(&id));
        assert!(talk(known, talk_id).closed_at.is_some());
        assert_eq!(known.dialogue.changed_tickets, [id]);
    }

    #[test]
    fn a_replaced_ticket_stays_resolved() {
        let known = &mut known();
        let deal = stored_deal(known);
        let stage = |known: &mut Known, stage| {
            let stage = Some(stage);
            change(
                known,
                DealPatch {
                    stage,
                    ..wish(deal)
                },
            )
        };
        stage(known, Stage::Transferred);
        let (first, _) = ticket(known);
        to_status(known, first, Status::Resolved);
        stage(known, Stage::InService);
        stage(known, Stage::Transferred);
        let second = known.dialogue.live_deal_tickets[&deal];
        assert_ne!(first, second);
        for status in [Status::Open, Status::Answered] {
            assert_eq!(to_status(known, first, status), TicketPatched::Superseded);
        }
        // Its owner may still change, and so may the other ticket.
        assert_eq!(to_owner(known, first, Some(OLGA)), CHANGED);
        assert_eq!(to_status(known, second, Status::Resolved), CHANGED);
        assert_eq!(to_status(known, first, Status::Open), CHANGED);
        assert_eq!(known.dialogue.live_deal_tickets[&deal], first);
    }
}
