//! `GET /admin/v1/deals/{id}?workspace=`: the history of a deal, newest first: who changed
//! what, and what partners noted. Partners and keys are named as long as they exist. Without
//! `workspace` every workspace is searched.

use std::collections::BTreeMap;

use hyper::StatusCode;
use serde::Serialize;
use serde_json::{Value, json};

use super::workspaces;
use crate::domain::id::{DealId, KeyId, PartnerId};
use crate::domain::workspace::Workspace;
use crate::http::call::Call;
use crate::http::error::ApiError;
use crate::http::reply::{self, Reply};
use crate::limits;
use crate::store::{ChangedBy, DealPast, Store, StoreError};

/// # Errors
///
/// [`ApiError::NotFound`] if there is no such deal or workspace, and [`ApiError::Store`] if the
/// store cannot be read.
pub async fn show(call: &Call<'_>, id: &str) -> Result<Reply, ApiError> {
    let missing = || ApiError::NotFound(format!("There is no deal `{id}`."));
    let deal: DealId = id.parse().map_err(|_| missing())?;
    let store = &*call.http.core.store;
    let among = match call.query().filled(&["workspace"]) {
        Some(text) => vec![workspaces::find(store, text).await?],
        None => store.workspaces().await?,
    };
    let (workspace, past) = find(store, among, deal).await?.ok_or_else(missing)?;
    let names = Names::load(store, &workspace).await?;
    let mut history = Vec::with_capacity(past.history.len());
    for change in &past.history {
        history.push(match change.by {
            ChangedBy::Partner { partner_id, key_id } => names.add(change, partner_id, key_id)?,
            ChangedBy::Source { .. } => value(change)?,
        });
    }
    let mut logs = Vec::with_capacity(past.logs.len());
    for log in &past.logs {
        logs.push(names.add(log, log.partner_id, log.key_id)?);
    }
    reply::json(
        StatusCode::OK,
        &json!({
            "id": deal,
            "workspace": workspace.slug,
            "createdAt": past.created_at,
            "deliveryId": past.delivery_id,
            "history": history,
            "logs": logs,
        }),
    )
}

/// `DELETE /admin/v1/deals/{id}?workspace=`: removes the deal with its history and notes. Its
/// contact stays, and so does its lead's dedupe key: a repeat does not restore it.
///
/// # Errors
///
/// [`ApiError::NotFound`] if there is no such deal or workspace, and [`ApiError::Store`] if the
/// store fails.
pub async fn remove(call: &Call<'_>, id: &str) -> Result<Reply, ApiError> {
    let missing = || ApiError::NotFound(format!("There is no deal `{id}`."));
    let deal: DealId = id.parse().map_err(|_| missing())?;
    let store = &*call.http.core.store;
    let among = match call.query().filled(&["workspace"]) {
        Some(text) => vec![workspaces::find(store, text).await?],
        None => store.workspaces().await?,
    };
    for workspace in among {
        if store.remove_deal(workspace.id, deal).await? {
            let gone = json!({ "id": deal, "workspace": workspace.slug, "removed": true });
            return reply::json(StatusCode::OK, &gone);
        }
    }
    Err(missing())
}

/// Returns the deal's history and its workspace.
async fn find(
    store: &dyn Store,
    among: Vec<Workspace>,
    deal: DealId,
) -> Result<Option<(Workspace, DealPast)>, StoreError> {
    for workspace in among {
        let past = store
            .deal_past(workspace.id, deal, limits::DEAL_PAST)
            .await?;
        if let Some(past) = past {
            return Ok(Some((workspace, past)));
        }
    }
    Ok(None)
}

/// The names that people use for partners and keys.
struct Names {
    partners: BTreeMap<PartnerId, String>,
    /// The label and its hint.
    keys: BTreeMap<KeyId, String>,
}

impl Names {
    async fn load(store: &dyn Store, workspace: &Workspace) -> Result<Self, StoreError> {
        let partners = store.partners(workspace.id).await?;
        let keys = store.keys(Some(workspace.id)).await?;
        let named = |key: crate::domain::key::KeyRecord| {
            let name = format!("{} {}", key.label, key.hint);
            (key.id, name.trim().to_owned())
        };
        Ok(Self {
            partners: partners.into_iter().map(|one| (one.id, one.name)).collect(),
            keys: keys.into_iter().map(named).collect(),
        })
    }

    /// Returns the row with the names of its author.
    fn add(&self, row: &impl Serialize, partner: PartnerId, key: KeyId) -> Result<Value, ApiError> {
        let mut shown = value(row)?;
        shown["partner"] = json!(self.partners.get(&partner));
        shown["key"] = json!(self.keys.get(&key));
        Ok(shown)
    }
}

fn value(row: &impl Serialize) -> Result<Value, ApiError> {
    serde_json::to_value(row).map_err(ApiError::internal)
}
