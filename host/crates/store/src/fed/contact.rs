//! Contacts: the people that deals belong to.

use serde_json::json;

use super::record::fed;
use crate::prelude::*;
use crate::schema::described::table;

table! {
    pub static CONTACTS: "contacts" {
        key: &["id"],
        keyed_with_workspace: true,
        feed: Some(Entity::Contacts),
    }

    #[derive(Debug)]
    pub struct ContactRecord |self, row, id: ContactId, cursor_us: i64, at: Micros| {
        workspace_id => workspace: WorkspaceId [exported],
        cursor_us: i64 [exported_as("cursor_at")] = cursor_us,
        id: ContactId [exported] = id,
        name: Option<String> [exported],
        email: Option<String> [exported],
        phone_number: Option<String> [exported],
        /// Set if the contact wants no messages or was banned.
        banned_at: Option<Micros> [exported],
        props: Map<String, Value> [exported],
        edited: Vec<String> [jsonb, fixed],
        created_at: Micros [fixed] = at,
        updated_at: Micros = at,
        ;
        change: RowChange = RowChange::None,
    }
}

fed!(ContactRecord: ContactId in CONTACTS of Contacts, may_meet: false, is_over: |_row| false);

impl ContactRecord {
    /// Returns what the receipt of a repair keeps of a contact that it merges into another one.
    pub fn before_merge(&self) -> Value {
        // Names every field, so that none is forgotten.
        let Self {
            workspace: _,
            name,
            email,
            phone_number,
            banned_at: _,
            props,
            edited: _,
            change: _,
        } = self;
        json!({ "name": name, "email": email, "phone_number": phone_number, "props": props })
    }

    /// Returns the contact that a receipt has kept, to be created again. An undo loses whatever
    /// [`Self::before_merge`] keeps and this does not read.
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
}
