//! Tickets as the desk and operators find them, newest first.

use crate::Scope;
use crate::operations::prelude::*;

use crate::TicketFilter;
use crate::operations::said;
use leadhost_domain::deal::PersonPart;
use leadhost_domain::said::Said;
use leadhost_domain::ticket::{OwnerPart, TicketView};

// Selects the tickets first and joins related rows afterwards, for only as many rows as are asked
// for.
macro_rules! tickets_where {
    (few, $lead:literal) => {
        tickets_where!(concat!(
            "(
    select *
    from tickets
    where ",
            $lead,
            "
    and (workspace_id = :workspace) is true
    offset 0                                    -- postgres
  ) as own
  where true"
        ))
    };
    ($from:expr) => {
        sql(concat!(
            "
select page.id, page.status, page.conversation_id, page.deal_id, c.id as person_id, c.name as person_name,
  c.email as person_email, c.phone_number, page.agent_id, o.id as owner_id, o.name as owner_name,
  o.email as owner_email, page.special_instructions, page.opened_at, page.answered_at, page.resolved_at,
  page.updated_at
from (
  select *
  from ",
            $from,
            "
  and (:ticket::uuid is null or id = :ticket)
  and (:contact::uuid is null or contact_id = :contact)
  and (:deal::uuid is null or deal_id = :deal)
  and (:status::text is null or status = :status)
  and (:partner::uuid is null
    or exists (
      select 1
      from deals as d
      left join connections as s
        on s.id = d.connection_id
      where d.id = deal_id
      and (d.workspace_id = :workspace) is true
      and coalesce(d.partner_id, s.partner_id) = :partner)
    or exists (
      select 1
      from conversations as k
      where k.id = conversation_id
      and (k.workspace_id = :workspace) is true
      and ((k.said -> :key::text) is not null
        or deal_id is null
        and k.said::text = '{}')))
  and id < :before
  order by id desc
  limit :limit
) as page
join contacts as c
  on c.workspace_id = page.workspace_id
  and c.id = page.contact_id
left join owners as o
  on o.id = page.owner_id
order by page.id desc"
        ))
    };
}

statements! {
    static ALL: Sql = tickets_where!("tickets\n  where workspace_id = :workspace");

    static BY_ID: Sql =
        tickets_where!("tickets\n  where (workspace_id = :workspace) is true\n  and id = :ticket");

    static BY_STATUS: Sql =
        tickets_where!("tickets\n  where workspace_id = :workspace\n  and status = :status");

    // `offset 0` is a fence: walking the tickets in their order would look cheap while there are few.
    static BY_CONTACT: Sql = tickets_where!(few, "contact_id = :contact");
    static BY_DEAL: Sql = tickets_where!(few, "deal_id = :deal");
}

from_row! {
    TicketView |row| {
        id, status, conversation_id, deal_id, person = PersonPart::from_row(row)?, agent_id,
        owner = match row.get("owner_id")? {
            Some(id) => Some(read!(row => OwnerPart { id = id, name: "owner_name", email: "owner_email" })),
            None => None,
        },
        special_instructions, opened_at, answered_at, resolved_at, updated_at,
    }
}

#[leadhost_boxed::boxed]
impl Store {
    pub async fn tickets(
        &self,
        scope: &Scope,
        filter: &TicketFilter,
    ) -> Result<Vec<TicketView>, StoreError> {
        self.search_tickets(scope.workspace(), filter).await
    }

    /// Returns the tickets of a workspace as operators find them, newest first.
    pub async fn search_tickets(
        &self,
        workspace: WorkspaceId,
        filter: &TicketFilter,
    ) -> Result<Vec<TicketView>, StoreError> {
        let filter = filter.clone();
        let sql = if filter.ticket.is_some() {
            &BY_ID
        } else if filter.deal.is_some() {
            &BY_DEAL
        } else if filter.contact.is_some() {
            &BY_CONTACT
        } else if filter.status.is_some() {
            &BY_STATUS
        } else {
            &ALL
        };
        steps!(self.database.read(Of(&[workspace])), |tx| {
            let partner = said::limited(tx, workspace, filter.partner).await?;
            let key = partner.map(|partner| partner.to_string());
            let args = args! {
                workspace,
                partner,
                key: key.as_deref(),
                ticket: filter.ticket,
                contact: filter.contact,
                deal: filter.deal,
                status: filter.status.map(|status| status.as_str()),
                // Without a given id, up to the greatest one, so that the index is walked as a
                // range.
                before: filter.before.map_or(Uuid::max(), |id| id.0),
                limit: filter.limit,
            };
            let mut found = tx.rows(sql, &args, TicketView::from_row).await?;
            if let Some(partner) = partner {
                let persons = found.iter().map(|ticket| &*ticket.person.id);
                let own = said::of(tx, workspace, partner, persons).await?;
                let nothing = Said::default();
                for ticket in &mut found {
                    let said = own.get(&ticket.person.id).unwrap_or(&nothing);
                    said.limit(&Value::Null, &mut ticket.person);
                    let instructions = ticket.special_instructions.take();
                    ticket.special_instructions =
                        instructions.filter(|text| said.has_instructions(text));
                }
            }
            Ok(found)
        })
        .await
    }
}
