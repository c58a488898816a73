//! `GET /admin/v1/deals/{id}?workspace=`: the history of a deal, newest first: who changed
//! what, and what partners noted. Partners and keys are named as long as they exist. Without
//! `workspace` every workspace is searched.

use std::collections::BTreeMap;

use hyper::StatusCode;

use super::workspaces;
use crate::admin_api::deals::{
    ChangedField, Changer, DealChangeView, DealHistory, DealLogView, DealRemoved,
};
use crate::domain::id::{DealId, KeyId, PartnerId};
use crate::domain::workspace::Workspace;
use crate::http::call::Call;
use crate::http::error::ApiError;
use crate::http::reply::{self, ApiResponse};
use crate::limits;
use crate::store::{ChangedBy, DealChange, DealLog, DealPast, Store, StoreError};

/// Returns the history of a deal.
///
/// # Errors
///
/// [`ApiError::NotFound`] if there is no such deal or workspace, and [`ApiError::Store`] if the
/// store cannot be read.
pub async fn show(call: &Call<'_>, id: &str) -> Result<ApiResponse, ApiError> {
    let missing = || unknown(id);
    let deal: DealId = id.parse().map_err(|_| missing())?;
    let store = &*call.http.core.store;
    let among = match call.query().filled(&["workspace"]) {
        Some(text) => vec![workspaces::find(store, text).await?],
        None => store.workspaces().await?,
    };
    let (workspace, past) = find(store, among, deal).await?.ok_or_else(missing)?;
    let names = HistoryNames::load(store, &workspace).await?;
    let history = past.history.into_iter();
    let logs = past.logs.into_iter();
    let answer = DealHistory {
        id: deal,
        workspace: workspace.slug,
        created_at: past.created_at,
        delivery_id: past.delivery_id,
        history: history.map(|change| names.change(change)).collect(),
        logs: logs.map(|log| names.log(log)).collect(),
    };
    reply::json(StatusCode::OK, &answer)
}

/// `DELETE /admin/v1/deals/{id}?workspace=`: removes the deal with its history and notes. Its
/// contact stays, and so does its lead's dedupe key: a repeat does not restore it.
///
/// # Errors
///
/// [`ApiError::NotFound`] if there is no such deal or workspace, and [`ApiError::Store`] if the
/// store fails.
pub async fn remove(call: &Call<'_>, id: &str) -> Result<ApiResponse, ApiError> {
    let missing = || unknown(id);
    let deal: DealId = id.parse().map_err(|_| missing())?;
    let store = &*call.http.core.store;
    let among = match call.query().filled(&["workspace"]) {
        Some(text) => vec![workspaces::find(store, text).await?],
        None => store.workspaces().await?,
    };
    for workspace in among {
        if store.remove_deal(workspace.id, deal).await? {
            let answer = DealRemoved {
                id: deal,
                workspace: workspace.slug,
                removed: true,
            };
            return reply::json(StatusCode::OK, &answer);
        }
    }
    Err(missing())
}

fn unknown(id: &str) -> ApiError {
    ApiError::NotFound(format!(
        "There is no deal `{id}`; `leadhost delivery show` names the deals of a delivery."
    ))
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
struct HistoryNames {
    partners: BTreeMap<PartnerId, String>,
    /// The label and its hint.
    keys: BTreeMap<KeyId, String>,
}

impl HistoryNames {
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

    fn change(&self, change: DealChange) -> DealChangeView {
        let (by, partner, delivery_id, repair_id) = match change.by {
            ChangedBy::Partner { partner_id, key_id } => {
                (Changer::Partner, Some((partner_id, key_id)), None, None)
            }
            ChangedBy::Source {
                delivery_id,
                repair_id,
            } => (Changer::Source, None, Some(delivery_id), repair_id),
            ChangedBy::Repair { repair_id } => (Changer::Repair, None, None, Some(repair_id)),
        };
        let (partner_id, key_id) = partner.unzip();
        let changes = change.changes.into_iter().map(|field| ChangedField {
            field: field.field,
            before: field.before,
            after: field.after,
        });
        DealChangeView {
            at: change.at,
            by,
            partner_id,
            partner: partner_id.and_then(|id| self.partners.get(&id)).cloned(),
            key_id,
            key: key_id.and_then(|id| self.keys.get(&id)).cloned(),
            delivery_id,
            repair_id,
            changes: changes.collect(),
        }
    }

    fn log(&self, log: DealLog) -> DealLogView {
        DealLogView {
            id: log.id,
            created_at: log.created_at,
            partner_id: log.partner_id,
            partner: self.partners.get(&log.partner_id).cloned(),
            key_id: log.key_id,
            key: self.keys.get(&log.key_id).cloned(),
            kind: log.kind,
            subject: log.subject,
            description: log.description,
            metadata: log.metadata,
        }
    }
}
