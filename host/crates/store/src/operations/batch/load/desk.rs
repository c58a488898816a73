//! Tickets: the ones that writes name, the open ones of conversations and deals that change, and all of deals
//! that turn out to be tests.
//!
//! A ticket may get a conversation or a deal that it had not. If a named ticket got a conversation
//! after it was found without a lock, the batch runs again.

use super::links::Links;
use super::locked::ids;
use crate::decide::TicketRecord;
use crate::operations::prelude::*;

macro_rules! tickets_of {
    ($each:literal, $wanted:literal, $order:literal) => {
        made(|| {
            let columns = schema::TICKETS.read("t", &[]);
            let (each, wanted, order) = ($each, $wanted, $order);
            format!(
                "
each ({each})
select {columns}
from {wanted}
ordered join tickets as t
  on t.id = wanted.id
  and (t.workspace_id = wanted.workspace_id) is true{order}"
            )
        })
    };
}

statements! {
    static FIND: Sql = tickets_of!("workspace_id uuid, id uuid", "each as wanted", "");

    // One statement returns all wanted tickets, so that they are locked in one order.
    static LOCK: Sql = tickets_of!(
        "workspace_id uuid, id uuid, conversation_id uuid, deal_id uuid, closed_too truth",
        "(
  select workspace_id, id
  from each
  where id is not null
  union
  select each.workspace_id, live.id
  from each
  fenced join tickets as live
    on live.conversation_id = each.conversation_id
    and live.resolved_at is null
  union
  select each.workspace_id, about.id
  from each
  fenced join tickets as about
    on about.deal_id = each.deal_id
    and (each.closed_too
      or about.conversation_id is null
      and about.resolved_at is null)
) as wanted",
        "
order by t.id -- postgres
for update of t -- postgres"
    );
}

/// Returns which of the named tickets exist, without a lock, to find what they lead to.
pub async fn follow(
    tx: &mut Tx,
    draft: &mut WorkingSet,
    read_set: &ReadSet,
) -> Result<BTreeSet<(WorkspaceId, TicketId)>, StoreError> {
    let named: Vec<(TicketId, TicketRecord)> = tx
        .rows_each(&FIND, &ids(&read_set.tickets), with_id)
        .await?;
    let mut found = BTreeSet::new();
    for (id, ticket) in named {
        found.insert((ticket.workspace, id));
        draft.dialogue.know_ticket(id, ticket);
    }
    Ok(found)
}

enum TicketLookup {
    Id(TicketId),
    /// The open ticket of a conversation.
    Conversation(ConversationId),
    Deal(DealId),
    AllOfDeal(DealId),
}

impl TicketLookup {
    fn row(self, workspace_id: WorkspaceId) -> [Arg<'static>; 5] {
        let (mut id, mut conversation_id, mut deal_id) = (None, None, None);
        let mut closed_too = false;
        match self {
            Self::Id(of) => id = Some(of),
            Self::Conversation(of) => conversation_id = Some(of),
            Self::Deal(of) => deal_id = Some(of),
            Self::AllOfDeal(of) => {
                deal_id = Some(of);
                closed_too = true;
            }
        }
        args! { workspace_id, id, conversation_id, deal_id, closed_too }
    }
}

/// Loads tickets, once their conversations and deals are locked.
/// Fails with [`StoreError::Contended`] if a named ticket has got a conversation that is not
/// locked.
pub async fn tickets(
    tx: &mut Tx,
    set: &mut WorkingSet,
    links: &Links,
    read_set: &ReadSet,
) -> Result<(), StoreError> {
    let mut conversations = read_set.handed_of(set);
    conversations.extend(&links.handed);
    let mut deals = read_set.deal_conversations.clone();
    deals.extend(&links.deals);
    let mut wanted = Vec::new();
    for (workspace, id) in &links.tickets {
        wanted.push(TicketLookup::Id(*id).row(*workspace));
    }
    for (workspace, conversation) in conversations {
        wanted.push(TicketLookup::Conversation(conversation).row(workspace));
    }
    for (workspace, deal) in deals {
        wanted.push(TicketLookup::Deal(deal).row(workspace));
    }
    for (workspace, deal) in read_set.wholly_of(set) {
        wanted.push(TicketLookup::AllOfDeal(deal).row(workspace));
    }
    let found: Vec<(TicketId, TicketRecord)> = tx.rows_each(&LOCK, &wanted, with_id).await?;
    for (id, ticket) in found {
        let is_locked = |id| links.conversations.contains(&(ticket.workspace, id));
        let is_named = links.tickets.contains(&(ticket.workspace, id));
        if is_named && !ticket.conversation.is_none_or(is_locked) {
            return Err(StoreError::Contended);
        }
        set.dialogue.know_ticket(id, ticket);
    }
    Ok(())
}
