//! People and their deals.

use serde::Serialize;

use super::super::super::json;
use super::{Next, parameter};
use crate::domain::row::Entity;
use crate::store::StoreError;
use crate::store::decide::Known;

#[derive(Serialize)]
struct ContactRow<'a> {
    workspace: String,
    cursor: i64,
    id: String,
    name: Option<&'a str>,
    email: Option<&'a str>,
    phone: Option<&'a str>,
    banned: Option<i64>,
    props: String,
}

pub(super) const CONTACTS: &str = "
insert into contacts (workspace_id, cursor_us, id, name, email, phone_number, banned_at, props,
  created_at, updated_at)
select value ->> 'workspace', value ->> 'cursor', value ->> 'id', value ->> 'name',
  value ->> 'email', value ->> 'phone', value ->> 'banned', value ->> 'props',
  min(?2, value ->> 'cursor'), min(?2, value ->> 'cursor')
from jsonb_each(?1)
where true
on conflict (id) do update
set cursor_us = excluded.cursor_us, name = excluded.name, email = excluded.email,
  phone_number = excluded.phone_number, banned_at = excluded.banned_at, props = excluded.props,
  updated_at = excluded.updated_at";

pub(super) fn contacts(known: &Known, next: &mut Next) -> Result<Option<String>, StoreError> {
    let mut rows = Vec::new();
    for id in &known.changed_contacts {
        if let Some(contact) = known.contacts.get(id) {
            rows.push(ContactRow {
                workspace: contact.workspace.to_string(),
                cursor: next.take(contact.workspace, Entity::Contacts)?,
                id: id.to_string(),
                name: contact.name.as_deref(),
                email: contact.email.as_deref(),
                phone: contact.phone_number.as_deref(),
                banned: contact.banned_at.map(|at| at.0),
                props: json(&contact.props)?,
            });
        }
    }
    parameter(&rows)
}

#[derive(Serialize)]
struct DealRow<'a> {
    workspace: String,
    cursor: i64,
    id: String,
    person: String,
    agent: Option<i64>,
    owner: Option<String>,
    status: &'static str,
    stage: &'static str,
    title: Option<&'a str>,
    props: String,
    edited: String,
    product: Option<String>,
    external: Option<&'a str>,
    partner: Option<String>,
    connection: Option<&'a str>,
    delivery: Option<String>,
}

// Who made a deal and what it came from does not change; the partner of one that
// came through a connection is the connection's.
pub(super) const DEALS: &str = "
insert into deals (workspace_id, cursor_us, id, person_id, agent_id, owner_id, status, title, props,
  edited, created_at, updated_at, stage_code, product_id, external_id, partner_id, connection_id,
  delivery_id)
select value ->> 'workspace', value ->> 'cursor', value ->> 'id', value ->> 'person',
  value ->> 'agent', value ->> 'owner', value ->> 'status', value ->> 'title', value ->> 'props',
  value ->> 'edited', min(?2, value ->> 'cursor'), min(?2, value ->> 'cursor'),
  value ->> 'stage', value ->> 'product', value ->> 'external', value ->> 'partner',
  value ->> 'connection', value ->> 'delivery'
from jsonb_each(?1)
where true
on conflict (id) do update
set cursor_us = excluded.cursor_us, person_id = excluded.person_id,
  owner_id = excluded.owner_id, status = excluded.status, title = excluded.title,
  props = excluded.props, edited = excluded.edited,
  updated_at = excluded.updated_at, stage_code = excluded.stage_code,
  product_id = excluded.product_id";

pub(super) fn deals(known: &Known, next: &mut Next) -> Result<Option<String>, StoreError> {
    let mut rows = Vec::new();
    for id in &known.changed_deals {
        if let Some(deal) = known.deals.get(id) {
            rows.push(DealRow {
                workspace: deal.workspace.to_string(),
                cursor: next.take(deal.workspace, Entity::Deals)?,
                id: id.to_string(),
                person: deal.person.to_string(),
                agent: deal.agent.map(|agent| agent.0),
                owner: deal.owner.map(|id| id.to_string()),
                status: deal.status.as_str(),
                stage: deal.stage.as_str(),
                title: deal.title.as_deref(),
                props: json(&deal.props)?,
                edited: json(&deal.edited)?,
                product: deal.product.map(|id| id.to_string()),
                external: deal.external_id.as_deref(),
                partner: deal.partner.map(|id| id.to_string()),
                connection: deal.connection.as_ref().map(|id| id.as_str()),
                delivery: deal.delivery.map(|id| id.to_string()),
            });
        }
    }
    parameter(&rows)
}
