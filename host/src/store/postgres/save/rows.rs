//! Rows as they travel: one array a column.

use std::borrow::Cow;

use chrono::{DateTime, Utc};
use sqlx::postgres::PgConnection;
use uuid::Uuid;

use crate::domain::id::DeliveryId;
use crate::store::StoreError;
use crate::store::decide::{Change, Claim, Delivery, Item, Known};
use crate::store::postgres::columns::{self, at};

#[derive(Default)]
pub struct Claims<'a> {
    pub connections: Vec<&'a str>,
    pub keys: Vec<Cow<'a, str>>,
    pub workspaces: Vec<Uuid>,
    pub deliveries: Vec<Uuid>,
    pub items: Vec<i32>,
    pub untils: Vec<Option<DateTime<Utc>>>,
    pub deals: Vec<Option<Uuid>>,
    pub contacts: Vec<Option<Uuid>>,
}

impl<'a> Claims<'a> {
    pub fn push(&mut self, connection: &'a str, key: Cow<'a, str>, claim: &Claim) {
        self.connections.push(connection);
        self.keys.push(key);
        self.workspaces.push(claim.workspace.0);
        self.deliveries.push(claim.delivery.0);
        self.items.push(place(claim.item));
        self.untils.push(claim.until.map(at));
        self.deals.push(claim.deal.map(|id| id.0));
        self.contacts.push(claim.contact.map(|id| id.0));
    }
}

/// What may change of a delivery.
#[derive(Default)]
pub struct States<'a> {
    pub statuses: Vec<&'static str>,
    pub errors: Vec<Option<Cow<'a, str>>>,
    pub notes: Vec<String>,
    pub ran: Vec<Option<String>>,
    pub attempts: Vec<i64>,
    pub next: Vec<Option<DateTime<Utc>>>,
    pub presented: Vec<Option<&'a [u8]>>,
}

impl<'a> States<'a> {
    pub fn push(&mut self, delivery: &'a Delivery) -> Result<(), StoreError> {
        let notes: Vec<_> = delivery
            .notes
            .iter()
            .map(|note| columns::text(note))
            .collect();
        self.statuses.push(delivery.status.as_str());
        self.errors
            .push(delivery.error.as_deref().map(columns::text));
        self.notes.push(columns::json(&notes)?);
        self.ran
            .push(delivery.ran.as_ref().map(columns::json).transpose()?);
        self.attempts.push(i64::from(delivery.attempts));
        self.next.push(delivery.next_attempt_at.map(at));
        self.presented.push(delivery.presented.as_deref());
        Ok(())
    }
}

#[derive(Default)]
pub struct Items<'a> {
    pub workspaces: Vec<Uuid>,
    pub deliveries: Vec<Uuid>,
    pub places: Vec<i32>,
    pub statuses: Vec<&'static str>,
    pub externals: Vec<Option<Cow<'a, str>>>,
    pub deals: Vec<Option<Uuid>>,
    pub contacts: Vec<Option<Uuid>>,
    pub messages: Vec<Option<Cow<'a, str>>>,
}

impl<'a> Items<'a> {
    pub fn push(&mut self, id: DeliveryId, delivery: &Delivery, index: u32, item: &'a Item) {
        self.workspaces.push(delivery.workspace.0);
        self.deliveries.push(id.0);
        self.places.push(place(index));
        self.statuses.push(item.status.as_str());
        self.externals
            .push(item.external_id.as_deref().map(columns::text));
        self.deals.push(item.deal.map(|id| id.0));
        self.contacts.push(item.contact.map(|id| id.0));
        self.messages
            .push(item.message.as_deref().map(columns::text));
    }

    /// The items to write of these deliveries, and the places to empty.
    pub fn of(known: &'a Known, which: impl Fn(&Delivery) -> bool) -> (Self, Places) {
        let mut items = Self::default();
        let mut removed = Places::default();
        let chosen = known
            .deliveries
            .iter()
            .filter(|(_, delivery)| which(delivery));
        for (id, delivery) in chosen {
            for (index, item) in &delivery.items {
                match item.change {
                    Change::None => {}
                    Change::Removed => removed.push(delivery.workspace.0, *id, *index),
                    Change::New | Change::Changed => items.push(*id, delivery, *index, item),
                }
            }
        }
        (items, removed)
    }
}

/// Items or fetches by where they are.
#[derive(Default)]
pub struct Places {
    pub workspaces: Vec<Uuid>,
    pub deliveries: Vec<Uuid>,
    pub places: Vec<i32>,
}

impl Places {
    pub fn push(&mut self, workspace: Uuid, delivery: DeliveryId, index: u32) {
        self.workspaces.push(workspace);
        self.deliveries.push(delivery.0);
        self.places.push(place(index));
    }
}

pub fn place(index: u32) -> i32 {
    i32::try_from(index).expect("a delivery has far fewer items")
}

pub async fn remove(
    connection: &mut PgConnection,
    sql: &'static str,
    places: Places,
) -> Result<(), StoreError> {
    if places.places.is_empty() {
        return Ok(());
    }
    sqlx::query(sql)
        .bind(places.workspaces)
        .bind(places.deliveries)
        .bind(places.places)
        .execute(connection)
        .await?;
    Ok(())
}

/// A column of rows.
pub fn each<'a, R, T>(rows: &'a [R], column: impl Fn(&'a R) -> T) -> Vec<T> {
    rows.iter().map(column).collect()
}
