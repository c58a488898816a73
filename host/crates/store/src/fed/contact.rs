//! Contacts: the people that deals belong to.

use serde_json::{Map, Value, json};

use super::record::{Fed, written};
use crate::StoreError;
use crate::change::RowChange;
use crate::row::RowColumns;
use crate::schema::table::{OnConflict, TableSchema, column, jsonb, leaves, leaves_as, nullable};
use crate::sql::SqlType::{Json, Number, Text, Time, Uuid};
use crate::sql::{Arg, Sql, args, json, made};
use leadhost_domain::id::{ContactId, WorkspaceId};
use leadhost_domain::row::Entity;
use leadhost_domain::time::Micros;

#[derive(Debug)]
pub struct ContactRecord {
    pub workspace: WorkspaceId,
    pub name: Option<String>,
    pub email: Option<String>,
    pub phone_number: Option<String>,
    /// Set if the contact wants no messages or was banned.
    pub banned_at: Option<Micros>,
    pub props: Map<String, Value>,
    pub edited: Vec<String>,
    pub change: RowChange,
}

pub static CONTACTS: TableSchema = TableSchema {
    name: "contacts",
    key: &["id"],
    leads_with_workspace: true,
    feed: Some(Entity::Contacts),
    ends: &[],
    columns: &[
        column("workspace_id", Uuid),
        column("cursor_us", Number),
        column("id", Uuid),
        nullable("name", Text),
        nullable("email", Text),
        nullable("phone_number", Text),
        nullable("banned_at", Time),
        column("props", Json),
        jsonb("edited"),
        column("created_at", Time),
        column("updated_at", Time),
    ],
    exported: &[
        leaves("id"),
        leaves("workspace_id"),
        leaves_as("cursor_us", "cursor_at"),
        leaves("name"),
        leaves("email"),
        leaves("phone_number"),
        leaves("banned_at"),
        leaves("props"),
    ],
};

impl ContactRecord {
    /// Returns what the receipt of a repair keeps of a contact that it merges into another one.
    pub fn before_merge(&self) -> Value {
        json!({
            "name": self.name,
            "email": self.email,
            "phone_number": self.phone_number,
            "props": self.props,
        })
    }

    /// Returns the contact of which a receipt has kept this, to be created again.
    pub fn merged(workspace: WorkspaceId, before: &Value) -> Self {
        let text = |field: &str| before[field].as_str().map(str::to_owned);
        Self {
            workspace,
            name: text("name"),
            email: text("email"),
            phone_number: text("phone_number"),
            banned_at: None,
            props: before["props"].as_object().cloned().unwrap_or_default(),
            edited: Vec::new(),
            change: RowChange::New,
        }
    }

    /// Reads a contact. The columns of its properties and of its edited fields are named by the
    /// caller, because a row may hold those of a deal as well.
    pub fn read(
        row: &impl RowColumns,
        props: &'static str,
        edited: &'static str,
    ) -> Result<Self, StoreError> {
        Ok(Self {
            workspace: row.id("workspace_id")?,
            name: row.text_if("name")?,
            email: row.text_if("email")?,
            phone_number: row.text_if("phone_number")?,
            banned_at: row.time_if("banned_at")?,
            props: row.json(props)?,
            edited: row.json(edited)?,
            change: RowChange::None,
        })
    }
}

impl Fed<11> for ContactRecord {
    type Id = ContactId;
    const FEED: Entity = Entity::Contacts;
    const MAY_MEET: bool = false;

    written!(CONTACTS, OnConflict::Fail, fixed: ["edited", "created_at"]);

    fn args(&self, id: Self::Id, cursor_us: i64, at: Micros) -> Result<[Arg<'_>; 11], StoreError> {
        Ok(args! {
            workspace_id: self.workspace,
            cursor_us,
            id,
            name: self.name.as_deref(),
            email: self.email.as_deref(),
            phone_number: self.phone_number.as_deref(),
            banned_at: self.banned_at,
            props: json(&self.props)?,
            edited: json(&self.edited)?,
            created_at: at,
            updated_at: at,
        })
    }
}
