//! Deals as the gateway and operators find them, newest first, and the history of one.
//!
//! Filters are combined with AND. One filter that an index supports leads each query. The others,
//! if given, are applied to what it found.

use std::cmp::Reverse;

use crate::operations::agents;
use crate::operations::prelude::*;
use crate::operations::said;
use crate::row::deals::{Looked, phone_key_of};
use crate::{
    DealChange, DealFilter, DealItem, DealLog, DealPage, DealPast, FoundDeal, NewestDeals, Scope,
};
use leadhost_domain::contact::{SAID, email_key};
use leadhost_domain::deal::DealView;
use leadhost_domain::said::Said;

/// Selects the contacts that have a key: the first owner and those that share it.
macro_rules! having {
    ($key:literal) => {
        concat!(
            "
  select contact_id from contact_keys where workspace_id = :workspace and key = ",
            $key,
            "
  union
  select contact_id from shared_keys where workspace_id = :workspace and key = ",
            $key
        )
    };
}

macro_rules! shown {
    ($page:expr) => {
        sql(concat!(
            "
select page.id, page.workspace_id, page.status, page.created_at, page.updated_at, page.owner_id, page.props,
  page.external_id, page.title, page.stage_code, page.connection_id, page.delivery_id, page.partner_id,
  o.name as owner_name, o.email as owner_email,
  c.id as person_id, c.name as person_name, c.email as person_email, c.phone_number,
  p.id as product_id, p.name as product_name, p.external_id as product_external_id,
  a.id as agent_id, a.name as agent_name, a.number as agent_number
from (",
            $page,
            "
) as page
join contacts as c on c.workspace_id = page.workspace_id and c.id = page.person_id
left join owners as o on o.id = page.owner_id
left join products as p on p.id = page.product_id
left join agents as a on a.id = page.agent_id
order by page.id desc"
        ))
    };
}

// Selects the deals first and joins related rows afterwards, for only as many rows as are asked
// for. `offset 0` is a fence if the index of the leading filter has another order: otherwise
// reading the index in order to its end looks cheap while there are few deals.
macro_rules! deals_where {
    (having, $key:literal) => {
        deals_where!(@ concat!(
            "
    select own.*
    from (",
            having!($key),
            "
    ) as found
    fenced join deals as own
      on own.person_id = found.contact_id
      and own.workspace_id = :workspace
"
        ))
    };
    ($lead:literal) => {
        deals_where!($lead, "")
    };
    ($lead:literal, $fence:literal) => {
        deals_where!(@ concat!(
            "
    select *
    from deals
    where workspace_id = :workspace
    and ",
            $lead,
            "
    ",
            $fence
        ))
    };
    (@ $led:expr) => {
        shown!(concat!(
            "
  select *
  from (",
            $led,
            "
  ) as led
  where (:deal::uuid is null or id = :deal)
  and (:person::uuid is null or person_id = :person)
  and (:phone::text is null or person_id in (",
            having!(":phone"),
            "))
  and (:email::text is null or person_id in (",
            having!(":email"),
            "))
  and (:external_id::text is null or external_id = :external_id)
  and (:partner::uuid is null or :partner = coalesce(partner_id, (
    select s.partner_id from connections as s where s.id = connection_id)))
  and (:before::uuid is null or id < :before)
  order by id desc
  limit :limit"
        ))
    };
}

statements! {
    static BY_ID: Sql = deals_where!("id = :deal");
    static BY_PERSON: Sql = deals_where!("person_id = :person", "offset 0 -- postgres");
    static BY_PHONE: Sql = deals_where!(having, ":phone");
    static BY_EMAIL: Sql = deals_where!(having, ":email");
    static BY_EXTERNAL_ID: Sql = deals_where!("external_id = :external_id", "offset 0 -- postgres");
    static ALL: Sql = deals_where!("true");

    // The newest of each workspace, because the key of deals begins with the workspace in PostgreSQL.
    static NEWEST: Sql = shown!(
        "
  select own.*                                            -- postgres
  from workspaces as w                                    -- postgres
  cross join lateral (                                    -- postgres
    select *
    from deals
    where workspace_id = w.id                             -- postgres
    where (workspace_id between :first and :last) is true -- sqlite
    and id >= :floor
    and id < :before
    order by id desc
    limit :limit
  ) as own                                                -- postgres
  where w.id between :first and :last                     -- postgres
  order by own.id desc                                    -- postgres
  limit :limit                                            -- postgres"
    );

    // In SQLite, no index leads to the newest deals of one workspace.
    static FLOOR: Sql = sql("
select id                                                 -- sqlite
from deals                                                -- sqlite
where id < :before                                        -- sqlite
order by id desc                                          -- sqlite
limit 1 offset :rows                                      -- sqlite
");

    // Through the items of the contact, which are few.
    static ITEMS: Sql = sql("
select delivery_id, status
from (
  select delivery_id, status, deal_id
  from items
  where contact_id = :contact
  and (workspace_id = :workspace) is true
  order by delivery_id desc
  limit :items
) as own
where deal_id = :deal
order by delivery_id desc
limit :limit");

    static MADE: Sql = sql("
select created_at, delivery_id
from deals
where workspace_id = :workspace
and id = :deal");

    static HISTORY: Sql = sql("
select at as changed_at, who, changes
from deal_history
where deal_id = :deal
order by number desc
limit :limit");

    static LOGS: Sql = sql("
select id, created_at, partner_id, key_id, kind, subject, description, metadata
from deal_logs
where deal_id = :deal
and (:before::uuid is null or id < :before)
order by id desc
limit :limit");
}

from_row! {
    DealItem |row| { delivery: "delivery_id", status }
}

#[leadhost_boxed::boxed]
impl Store {
    /// Returns deals, newest first: at most `limit`, and fewer if they are large.
    pub async fn deals(
        &self,
        scope: &Scope,
        filter: &DealFilter,
        limit: u32,
    ) -> Result<DealPage, StoreError> {
        let workspace = scope.workspace();
        let filter = filter.clone();
        steps!(self.database.read(Of(&[workspace])), |tx| {
            let mut filter = filter;
            let limited = said::limited(tx, workspace, filter.partner).await?;
            loop {
                let args = arguments(workspace, &filter, i64::from(limit) + 1);
                let mut found = Looked::new(limit);
                tx.rows_while(leading(&filter), &args, |row| {
                    Ok(found.add(DealView::from_row(row)?))
                })
                .await?;
                let mut page = found.page;
                let last = page.deals.last().and_then(|deal| deal.deal.id.parse().ok());
                if let Some(partner) = limited {
                    let persons = page.deals.iter().map(|deal| &*deal.person.id);
                    let said = said::of(tx, workspace, partner, persons).await?;
                    limit_to_own(&said, &filter, &mut page.deals);
                }
                // A page on which all deals are left out would look like the last one.
                if !page.deals.is_empty() || !page.more {
                    return Ok(page);
                }
                filter.before = last;
            }
        })
        .await
    }

    /// Returns the deals of a workspace that match the filter as operators find them, newest first: at
    /// most `limit`.
    pub async fn search_deals(
        &self,
        workspace: WorkspaceId,
        filter: &DealFilter,
        limit: u32,
    ) -> Result<Vec<FoundDeal>, StoreError> {
        let filter = filter.clone();
        steps!(self.database.read_many(Of(&[workspace])), |tx| {
            let args = arguments(workspace, &filter, limit.into());
            tx.rows(leading(&filter), &args, FoundDeal::from_row).await
        })
        .await
    }

    /// Returns the newest deals of one workspace or of all, at most `limit`, and how far back they were
    /// looked for.
    pub async fn newest_deals(
        &self,
        workspace: Option<WorkspaceId>,
        before: Option<DealId>,
        limit: u32,
    ) -> Result<NewestDeals, StoreError> {
        let in_order = matches!(&self.database, Database::Postgres(_));
        steps!(self.database.read_many(Of(&[])), |tx| {
            // Without a given id, up to the greatest one, so that the index is walked as a range.
            let before = before.map_or(Uuid::max(), |id| id.0);
            let floor: Option<DealId> = if in_order {
                None
            } else {
                let args = args! { before, rows: limits::DEALS_LOOKED_THROUGH };
                tx.row(&FLOOR, &args, |row| row.get("id")).await?
            };
            let wanted = match workspace {
                Some(workspace) => vec![workspace],
                None => agents::workspace_ids(tx).await?,
            };
            let mut deals: Vec<FoundDeal> = Vec::new();
            for (some, first, last) in agents::parts(&wanted) {
                tx.name(some).await?;
                let args = args! {
                    first,
                    last,
                    floor: floor.map_or(Uuid::nil(), |id| id.0),
                    before,
                    limit,
                };
                deals.extend(tx.rows(&NEWEST, &args, FoundDeal::from_row).await?);
            }
            deals.sort_by_key(|deal| Reverse(deal.id));
            deals.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
            Ok(NewestDeals { deals, floor })
        })
        .await
    }

    /// Returns the deliveries with items that led to this deal of the contact, newest first: at most
    /// `limit`.
    pub async fn deal_items(
        &self,
        workspace: WorkspaceId,
        contact: ContactId,
        deal: DealId,
        limit: u32,
    ) -> Result<Vec<DealItem>, StoreError> {
        let items = limits::SEARCHED_ITEMS;
        let args = args! { workspace, contact, deal, items, limit };
        self.database
            .rows(
                VisibleRows::Of(&[workspace]),
                &ITEMS,
                args,
                DealItem::from_row,
            )
            .await
    }

    /// Returns a deal's history and notes, or `None` if the workspace has no such deal.
    pub async fn deal_past(
        &self,
        workspace: WorkspaceId,
        deal: DealId,
        limit: u32,
    ) -> Result<Option<DealPast>, StoreError> {
        steps!(self.database.read(Of(&[workspace])), |tx| {
            let made = tx
                .row(
                    &MADE,
                    &args! { workspace, deal },
                    cells!("created_at", "delivery_id"),
                )
                .await?;
            let Some((created_at, delivery_id)) = made else {
                return Ok(None);
            };
            let before = None::<DealLogId>;
            let args = args! { deal, before, limit };
            Ok(Some(DealPast {
                created_at,
                delivery_id,
                history: tx
                    .rows(&HISTORY, &args! { deal, limit }, DealChange::from_row)
                    .await?,
                logs: tx.rows(&LOGS, &args, DealLog::from_row).await?,
            }))
        })
        .await
    }

    /// Returns notes of the deal that the filter names, newest first: at most `limit` of those before
    /// the given one. Returns `None` if no deal matches.
    pub async fn deal_logs(
        &self,
        scope: &Scope,
        filter: &DealFilter,
        before: Option<DealLogId>,
        limit: u32,
    ) -> Result<Option<Vec<DealLog>>, StoreError> {
        let (filter, workspace) = (filter.clone(), scope.workspace());
        steps!(self.database.read(Of(&[workspace])), |tx| {
            let args = arguments(workspace, &filter, 1);
            let found = tx.row(leading(&filter), &args, |row| row.get("id")).await?;
            let Some(deal): Option<DealId> = found else {
                return Ok(None);
            };
            let args = args! { deal, before, limit };
            Ok(Some(tx.rows(&LOGS, &args, DealLog::from_row).await?))
        })
        .await
    }
}

/// Leaves of the persons what the partner said of them, and of the deals those whose person it
/// would find by the same key if it were alone.
fn limit_to_own(own: &HashMap<String, Said>, filter: &DealFilter, deals: &mut Vec<DealView>) {
    let nothing = Said::default();
    let phone = filter.phone_key.as_deref().map(phone_key_of);
    let email = filter.email.as_deref().map(email_key);
    let wanted: Vec<String> = phone.into_iter().chain(email).collect();
    deals.retain_mut(|deal| {
        let said = own.get(&deal.person.id).unwrap_or(&nothing);
        said.limit(&deal.deal.props[SAID], &mut deal.person);
        let keys = said.keys();
        wanted.iter().all(|key| keys.contains(key))
    });
}

/// Returns the statement that the index of one of the given filters leads.
fn leading(filter: &DealFilter) -> &'static Sql {
    if filter.deal.is_some() {
        &BY_ID
    } else if filter.person.is_some() {
        &BY_PERSON
    } else if filter.phone_key.is_some() {
        &BY_PHONE
    } else if filter.email.is_some() {
        &BY_EMAIL
    } else if filter.external_id.is_some() {
        &BY_EXTERNAL_ID
    } else {
        &ALL
    }
}

fn arguments(workspace: WorkspaceId, filter: &DealFilter, limit: i64) -> Vec<Arg<'_>> {
    args! {
        workspace,
        deal: filter.deal,
        person: filter.person,
        phone: filter.phone_key.as_deref().map(phone_key_of),
        email: filter.email.as_deref().map(email_key),
        external_id: filter.external_id.as_deref(),
        partner: filter.partner,
        before: filter.before,
        limit,
    }
    .to_vec()
}

/// Without a leading filter, it reads a workspace's deals from the newest on.
#[cfg(test)]
pub const WHOLE: &[&Sql] = &[&ALL];
