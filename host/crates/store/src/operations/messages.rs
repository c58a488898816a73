//! Messages as operators see them, and conversations that are due because of the time.

use std::cmp::Reverse;

use crate::operations::agents;
use crate::operations::prelude::*;
use crate::{Elapse, OutboxFilter, OutboxMessage};
use leadhost_domain::message::MessageState;

// All filters apply to the inner query; the remaining columns are looked up only for its rows.
macro_rules! messages_of {
    ($found:literal) => {
        sql(concat!(
            "
select page.id, page.workspace_id, page.conversation_id, page.contact_id, c.name as contact_name,
  c.phone_number, page.agent_id, page.created_at, page.actor, page.kind, page.content,
  page.metadata, page.delivered_at, page.read_at, page.ran, q.due_at
from (",
            $found,
            "
  order by m.id desc
  limit :limit
) as page
left join contacts as c
  on c.workspace_id = page.workspace_id
  and c.id = page.contact_id
left join queue as q
  on q.delivery_id = page.id
  and q.item = -2
  and q.status = 'waiting'
order by page.id desc"
        ))
    };
}

statements! {
    // The index by time covers all workspaces, and nearly none of them has anything due.
    static DUE: Sql = sql("
select workspace_id, id
from conversations
where due_at <= :now
order by due_at
limit :limit");

    // Takes the newest messages of each instance, and then the newest of these.
    static LIST: Sql = messages_of!(
        "
  select m.*
  from agents as a
  cross join lateral (                                -- postgres
    select *                                          -- postgres
    from messages                                     -- postgres
    where agent_id = a.id                             -- postgres
    and (:state::text is null or state = :state)      -- postgres
    and id < :before                                  -- postgres
    order by id desc                                  -- postgres
    limit :limit                                      -- postgres
  ) as m                                              -- postgres
  cross join messages as m                            -- sqlite
    on m.id in (                                      -- sqlite
      select n.id                                     -- sqlite
      from messages as n                              -- sqlite
      where n.agent_id = a.id                         -- sqlite
      and (:state is null or n.state = :state)        -- sqlite
      and n.id < :before                              -- sqlite
      order by n.id desc                              -- sqlite
      limit :limit)                                   -- sqlite
  where a.workspace_id between :first and :last
  and (:agent::bigint is null or a.id = :agent)"
    );

    // Unsent messages are found through the queue, which is short.
    static LIST_WAITING: Sql = messages_of!(
        "
  select m.*
  from queue as q
  ordered join messages as m
    on m.id = q.delivery_id
  where q.item = -2
  and q.status = :state
  and q.delivery_id < :before
  and q.workspace_id between :first and :last
  and m.state = :state
  and (:agent::bigint is null or m.agent_id = :agent)"
    );

    static LIST_CONVERSATION: Sql = messages_of!(
        "
  select m.*
  from messages as m
  where m.conversation_id = :conversation
  and m.id < :before
  and m.workspace_id between :first and :last
  and (:state::text is null or m.state = :state)      -- postgres
  and (:state is null or m.state = :state)            -- sqlite
  and (:agent::bigint is null or m.agent_id = :agent)"
    );

    static LIST_CONTACT: Sql = messages_of!(
        "
  select m.*
  from conversations as c
  ordered join messages as m
    on m.conversation_id = c.id
  where c.contact_id = :contact
  and c.workspace_id between :first and :last
  and m.id < :before
  and (:state::text is null or m.state = :state)      -- postgres
  and (:state is null or m.state = :state)            -- sqlite
  and (:agent::bigint is null or m.agent_id = :agent)"
    );
}

from_row! {
    Elapse |row| { workspace: "workspace_id", conversation: "id" }

    OutboxMessage |row| {
        id, workspace_id, conversation_id, contact_id, contact_name, phone_number,
        instance_id: "agent_id", created_at, actor, kind, content, metadata, delivered_at, read_at, ran,
        next_attempt_at: "due_at",
    }
}

#[leadhost_boxed::boxed]
impl Store {
    /// Returns conversations that are due because they were unanswered or idle for too long, the
    /// longest overdue first.
    pub async fn conversations_due(
        &self,
        now: Micros,
        limit: u32,
    ) -> Result<Vec<Elapse>, StoreError> {
        let args = args! { now, limit };
        self.database
            .rows(VisibleRows::All, &DUE, args, Elapse::from_row)
            .await
    }

    pub async fn outbox(&self, filter: &OutboxFilter) -> Result<Vec<OutboxMessage>, StoreError> {
        let filter = filter.clone();
        let sql: &'static Sql = match (filter.conversation, filter.state) {
            (Some(_), _) => &LIST_CONVERSATION,
            (None, Some(MessageState::Waiting | MessageState::Sending | MessageState::Unknown)) => {
                &LIST_WAITING
            }
            (None, _) => &LIST,
        };
        steps!(self.database.read_many(Of(&[])), |tx| {
            let wanted = match filter.workspace {
                Some(workspace) => vec![workspace],
                None => agents::workspace_ids(tx).await?,
            };
            let mut found: Vec<OutboxMessage> = Vec::new();
            for (some, first, last) in agents::parts(&wanted) {
                tx.name(some).await?;
                // Without a given id, up to the greatest one, so that the index is walked as a
                // range.
                let before = filter.before.map_or(Uuid::max(), |id| id.0);
                let state = filter.state.map(MessageState::as_str);
                let (agent, limit) = (filter.agent, filter.limit);
                if let Some(contacts) = &filter.contacts {
                    for contact in contacts {
                        let args = args! { first, last, agent, state, contact, before, limit };
                        let of = tx.rows(&LIST_CONTACT, &args, OutboxMessage::from_row);
                        found.extend(of.await?);
                    }
                    continue;
                }
                let args = match filter.conversation {
                    Some(conversation) => {
                        args! { first, last, agent, state, conversation, before, limit }.to_vec()
                    }
                    None => args! { first, last, agent, state, before, limit }.to_vec(),
                };
                found.extend(tx.rows(sql, &args, OutboxMessage::from_row).await?);
            }
            found.sort_by_key(|message| Reverse(message.id));
            found.truncate(usize::try_from(filter.limit).unwrap_or(usize::MAX));
            Ok(found)
        })
        .await
    }
}
