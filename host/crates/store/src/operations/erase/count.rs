//! Counts what erasing a person would remove, without doing it.

use super::raw;
use crate::operations::prelude::*;
use crate::operations::repairs::changes_about;
use crate::{Erased, Person};

statements! {
    // Errors and channels' ids of messages are found in two ways: through the person's conversations,
    // and by the names that channels use for the person. Each is counted once.
    static COUNTS: Sql = sql(concat!(
        "
select
  (select count(*) from contacts where workspace_id = :workspace and id = :contact) as contacts,
  (select count(*) from contact_keys where contact_id = :contact)
    + (select count(*) from shared_keys where contact_id = :contact) as contact_keys,
  (select count(*) from deals
    where person_id = :contact
    and workspace_id = :workspace                                          -- postgres
  ) as deals,
  (select count(*) from deals as d join deal_history as h on h.deal_id = d.id
    where d.person_id = :contact
    and d.workspace_id = :workspace                                        -- postgres
  ) as deal_changes,
  (select count(*) from deals as d join deal_logs as l on l.deal_id = d.id
    where d.person_id = :contact
    and d.workspace_id = :workspace                                        -- postgres
  ) as deal_logs,
  (select count(*) from conversations where contact_id = :contact) as conversations,
  (select count(*) from conversations as c join messages as m on m.conversation_id = c.id
    where c.contact_id = :contact) as messages,
  (select count(*) from (
    select e.id
    from conversations as c
    join message_errors as e on e.conversation_id = c.id
    where c.contact_id = :contact
    union
    select id
    from message_errors
    where recipient_id in (select value from json_each(:names))            -- sqlite
    where recipient_id = any (array(                                       -- postgres
      select json_array_elements_text(:names)))                            -- postgres
    and recipient_id is not null
    and message_id is null
    and (workspace_id = :workspace) is true
  ) as found) as message_errors,
  (select count(*) from conversations as c
    join messages as m on m.conversation_id = c.id
    fenced join sends as s
      on s.message_id = m.id
      and s.workspace_id = :workspace                                      -- postgres
    where c.contact_id = :contact) as sends,
  (select count(*) from conversations as c
    join messages as m on m.conversation_id = c.id
    fenced join idempotency as i
      on i.message_id = m.id
      and i.message_id is not null                                         -- postgres
      and (i.workspace_id = :workspace) is true                            -- postgres
    where c.contact_id = :contact
    and (i.answer is null or (i.answer ->> 'status')::int >= 400)) as idempotency_answers,
  (select count(*) from (
    select r.connection_id, r.external_id
    from conversations as c
    join messages as m on m.conversation_id = c.id
    cross join json_each(m.metadata, '$.externalIds') as wanted            -- sqlite
    cross join lateral json_array_elements_text(                           -- postgres
      case json_typeof(m.metadata -> 'externalIds')                        -- postgres
        when 'array' then m.metadata -> 'externalIds'                      -- postgres
      end                                                                  -- postgres
    ) as wanted (value)                                                    -- postgres
    fenced join connections as k
      on k.workspace_id = :workspace
    fenced join channel_refs as r
      on r.connection_id = k.id
      and r.external_id = wanted.value
      and r.message_id = m.id
    where c.contact_id = :contact
    union
    select connection_id, external_id
    from channel_refs
    where recipient_id in (select value from json_each(:names))            -- sqlite
    where recipient_id = any (array(                                       -- postgres
      select json_array_elements_text(:names)))                            -- postgres
    and recipient_id is not null
    and (workspace_id = :workspace) is true
  ) as found) as channel_refs,
  (select count(*) from connections as k
    fenced join holds as h
      on h.connection_id = k.id
      and h.contact_id = :contact
    where k.workspace_id = :workspace) as holds,
  (select count(*) from repair_changes where value_before is not null and number in (",
        changes_about!(),
        "
    union
    select c.number
    from deals as d
    join repair_changes as c on c.row_id = d.id
    where d.person_id = :contact
    and d.workspace_id = :workspace                                        -- postgres
  )) as repair_changes,
  (select count(*) from tickets where contact_id = :contact) as tickets"
    ));
}

#[leadhost_boxed::boxed]
impl Store {
    /// Returns what erasing a person would remove, as far as it can be counted.
    pub async fn count_person(&self, person: &Person) -> Result<Erased, StoreError> {
        let person = person.clone();
        steps!(self.database.read_many(Of(&[person.workspace])), |tx| {
                    let args = args! {
                        workspace: person.workspace,
                        contact: person.id,
                        names: json(&person.names())?,
                    };
                    let mut counted = tx.only(&COUNTS, &args, |row| {
                        Ok(read!(row => Erased {
                            contacts, contact_keys, deals, deal_changes, deal_logs, conversations, messages,
                            message_errors, sends, idempotency_answers, channel_refs, holds, repair_changes,
                            tickets, deliveries = 0, shared_deliveries = 0, fetch_answers = 0,
                        }))
                    }).await?;
                    counted.add(&raw::count(tx, &person).await?);
                    Ok(counted)
                })
            .await
    }
}
