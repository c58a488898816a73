//! Contacts and deals: new ones in one statement, changed ones in another.

use std::borrow::Cow;

use chrono::{DateTime, Utc};
use sqlx::postgres::PgConnection;
use uuid::Uuid;

use super::{Saved, Stamped};
use crate::domain::time::Micros;
use crate::store::StoreError;
use crate::store::decide::{Contact, Deal};
use crate::store::postgres::columns::{self, at};

pub(super) async fn save(
    connection: &mut PgConnection,
    now: Micros,
    contacts: &Saved<'_, Contact>,
    deals: &Saved<'_, Deal>,
) -> Result<(), StoreError> {
    if !contacts.new.is_empty() || !deals.new.is_empty() {
        insert(connection, now, &contacts.new, &deals.new).await?;
    }
    if !contacts.changed.is_empty() || !deals.changed.is_empty() {
        update(connection, now, &contacts.changed, &deals.changed).await?;
    }
    Ok(())
}

#[derive(Default)]
struct Contacts<'a> {
    workspaces: Vec<Uuid>,
    stamps: Vec<i64>,
    ids: Vec<Uuid>,
    names: Vec<Option<Cow<'a, str>>>,
    emails: Vec<Option<Cow<'a, str>>>,
    phones: Vec<Option<Cow<'a, str>>>,
    bans: Vec<Option<DateTime<Utc>>>,
    props: Vec<String>,
}

impl<'a> Contacts<'a> {
    fn of(rows: &[Stamped<'a, Contact>]) -> Result<Self, StoreError> {
        let mut contacts = Self::default();
        for Stamped { id, stamp, row } in rows {
            let text = |text: &'a Option<String>| text.as_deref().map(columns::text);
            contacts.workspaces.push(row.workspace.0);
            contacts.stamps.push(*stamp);
            contacts.ids.push(*id);
            contacts.names.push(text(&row.name));
            contacts.emails.push(text(&row.email));
            contacts.phones.push(text(&row.phone_number));
            contacts.bans.push(row.banned_at.map(at));
            contacts.props.push(columns::json(&row.props)?);
        }
        Ok(contacts)
    }
}

#[derive(Default)]
struct Deals<'a> {
    workspaces: Vec<Uuid>,
    stamps: Vec<i64>,
    ids: Vec<Uuid>,
    people: Vec<Uuid>,
    agents: Vec<Option<i64>>,
    owners: Vec<Option<Uuid>>,
    statuses: Vec<&'static str>,
    titles: Vec<Option<Cow<'a, str>>>,
    props: Vec<String>,
    edited: Vec<String>,
    stages: Vec<&'static str>,
    products: Vec<Option<Uuid>>,
    externals: Vec<Option<Cow<'a, str>>>,
    partners: Vec<Option<Uuid>>,
    connections: Vec<Option<&'a str>>,
    deliveries: Vec<Option<Uuid>>,
}

impl<'a> Deals<'a> {
    fn of(rows: &[Stamped<'a, Deal>]) -> Result<Self, StoreError> {
        let mut deals = Self::default();
        for Stamped { id, stamp, row } in rows {
            let text = |text: &'a Option<String>| text.as_deref().map(columns::text);
            deals.workspaces.push(row.workspace.0);
            deals.stamps.push(*stamp);
            deals.ids.push(*id);
            deals.people.push(row.person.0);
            deals.agents.push(row.agent.map(|agent| agent.0));
            deals.owners.push(row.owner.map(|id| id.0));
            deals.statuses.push(row.status.as_str());
            deals.titles.push(text(&row.title));
            deals.props.push(columns::json(&row.props)?);
            deals.edited.push(columns::json(&row.edited)?);
            deals.stages.push(row.stage.as_str());
            deals.products.push(row.product.map(|id| id.0));
            deals.externals.push(text(&row.external_id));
            deals.partners.push(row.partner.map(|id| id.0));
            deals
                .connections
                .push(row.connection.as_ref().map(|id| id.as_str()));
            deals.deliveries.push(row.delivery.map(|id| id.0));
        }
        Ok(deals)
    }
}

const INSERT: &str = "
with people as (
  insert into contacts (workspace_id, cursor_us, id, name, email, phone_number, banned_at, props,
    created_at, updated_at)
  select n.workspace_id, n.cursor_us, n.id, n.name, n.email, n.phone_number, n.banned_at,
    n.props::json, least($1, 'epoch'::timestamptz + n.cursor_us * '1 microsecond'::interval), least($1, 'epoch'::timestamptz + n.cursor_us * '1 microsecond'::interval)
  from unnest($2::uuid[], $3::bigint[], $4::uuid[], $5::text[], $6::text[], $7::text[],
    $8::timestamptz[], $9::text[])
    as n (workspace_id, cursor_us, id, name, email, phone_number, banned_at, props)
)
insert into deals (workspace_id, cursor_us, id, person_id, agent_id, owner_id, status, title, props,
  edited, created_at, updated_at, stage_code, product_id, external_id, partner_id, connection_id,
  delivery_id)
select n.workspace_id, n.cursor_us, n.id, n.person_id, n.agent_id, n.owner_id, n.status, n.title,
  n.props::json, n.edited::jsonb, least($1, 'epoch'::timestamptz + n.cursor_us * '1 microsecond'::interval), least($1, 'epoch'::timestamptz + n.cursor_us * '1 microsecond'::interval), n.stage_code, n.product_id, n.external_id, n.partner_id,
  n.connection_id, n.delivery_id
from unnest($10::uuid[], $11::bigint[], $12::uuid[], $13::uuid[], $14::bigint[], $15::uuid[],
  $16::text[], $17::text[], $18::text[], $19::text[], $20::text[], $21::uuid[], $22::text[],
  $23::uuid[], $24::text[], $25::uuid[])
  as n (workspace_id, cursor_us, id, person_id, agent_id, owner_id, status, title, props, edited,
    stage_code, product_id, external_id, partner_id, connection_id, delivery_id)";

async fn insert(
    connection: &mut PgConnection,
    now: Micros,
    contacts: &[Stamped<'_, Contact>],
    deals: &[Stamped<'_, Deal>],
) -> Result<(), StoreError> {
    let contacts = Contacts::of(contacts)?;
    let deals = Deals::of(deals)?;
    sqlx::query(INSERT)
        .bind(at(now))
        .bind(contacts.workspaces)
        .bind(contacts.stamps)
        .bind(contacts.ids)
        .bind(contacts.names)
        .bind(contacts.emails)
        .bind(contacts.phones)
        .bind(contacts.bans)
        .bind(contacts.props)
        .bind(deals.workspaces)
        .bind(deals.stamps)
        .bind(deals.ids)
        .bind(deals.people)
        .bind(deals.agents)
        .bind(deals.owners)
        .bind(deals.statuses)
        .bind(deals.titles)
        .bind(deals.props)
        .bind(deals.edited)
        .bind(deals.stages)
        .bind(deals.products)
        .bind(deals.externals)
        .bind(deals.partners)
        .bind(deals.connections)
        .bind(deals.deliveries)
        .execute(connection)
        .await?;
    Ok(())
}

// Who made a deal and what it came from stays; the partner of one that came
// through a connection is the connection's.
const UPDATE: &str = "
with people as (
  update contacts as c
  set cursor_us = n.cursor_us, name = n.name, email = n.email, phone_number = n.phone_number,
    banned_at = n.banned_at, props = n.props::json, updated_at = least($1, 'epoch'::timestamptz + n.cursor_us * '1 microsecond'::interval)
  from unnest($2::uuid[], $3::bigint[], $4::uuid[], $5::text[], $6::text[], $7::text[],
    $8::timestamptz[], $9::text[])
    as n (workspace_id, cursor_us, id, name, email, phone_number, banned_at, props)
  where c.workspace_id = n.workspace_id
  and c.id = n.id
)
update deals as d
set cursor_us = n.cursor_us, person_id = n.person_id, owner_id = n.owner_id, status = n.status,
  title = n.title,
  props = n.props::json, edited = n.edited::jsonb, updated_at = least($1, 'epoch'::timestamptz + n.cursor_us * '1 microsecond'::interval), stage_code = n.stage_code,
  product_id = n.product_id
from unnest($10::uuid[], $11::bigint[], $12::uuid[], $13::uuid[], $14::text[], $15::text[],
  $16::text[], $17::text[], $18::text[], $19::uuid[], $20::uuid[])
  as n (workspace_id, cursor_us, id, owner_id, status, title, props, edited, stage_code, product_id,
    person_id)
where d.workspace_id = n.workspace_id
and d.id = n.id";

async fn update(
    connection: &mut PgConnection,
    now: Micros,
    contacts: &[Stamped<'_, Contact>],
    deals: &[Stamped<'_, Deal>],
) -> Result<(), StoreError> {
    let contacts = Contacts::of(contacts)?;
    let deals = Deals::of(deals)?;
    sqlx::query(UPDATE)
        .bind(at(now))
        .bind(contacts.workspaces)
        .bind(contacts.stamps)
        .bind(contacts.ids)
        .bind(contacts.names)
        .bind(contacts.emails)
        .bind(contacts.phones)
        .bind(contacts.bans)
        .bind(contacts.props)
        .bind(deals.workspaces)
        .bind(deals.stamps)
        .bind(deals.ids)
        .bind(deals.owners)
        .bind(deals.statuses)
        .bind(deals.titles)
        .bind(deals.props)
        .bind(deals.edited)
        .bind(deals.stages)
        .bind(deals.products)
        .bind(deals.people)
        .execute(connection)
        .await?;
    Ok(())
}

pub const SQL: &[&str] = &[INSERT, UPDATE];
