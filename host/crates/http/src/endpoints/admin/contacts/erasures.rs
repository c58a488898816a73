use super::erase::NOT_REACHED;
use super::{counts, remaining};
use crate::endpoints::admin::prelude::*;
use crate::endpoints::admin::workspaces;
use leadhost_admin_api::contacts::{ErasureRecord, ErasureView, Erasures};
use leadhost_domain::id::{ErasureId, KeyId};
use leadhost_store::{Erasure, ErasureFilter};

describe!(list, |operation| {
    operation
        .summary("Lists erasures, newest first")
        .describe("They contain no personal data. An erasure without `doneAt` was interrupted or is still running.")
        .query("workspace", word(), "The workspace's slug or id: only its erasures.")
        .paged("erasures")
        .answers::<Erasures>(200, "A page of erasures.")
        .refuses(&[400, 404])
});
pub async fn list(call: &Call<'_>) -> ApiResult {
    let query = call.query();
    let mut filter = ErasureFilter {
        limit: page_limit(&query)?,
        ..ErasureFilter::default()
    };
    if let Some(text) = query.filled(&["workspace"]) {
        filter.workspace = Some(workspaces::find(&call.http.core.store, text).await?.id);
    }
    if let Some(text) = query.filled(&["before"]) {
        let id: ErasureId = text
            .parse()
            .map_err(|_| ApiError::BadRequest(format!("`{text}` is not the id of an erasure.")))?;
        filter.before = Some(id);
    }
    let erasures = call.http.core.store.erasures(&filter).await?;
    let next = last_of_full(&erasures, filter.limit).map(|erasure| erasure.id);
    let names = ErasureNames::load(&call.http.core.store).await?;
    let erasures = erasures.into_iter().map(|one| names.view(one)).collect();
    reply::ok(&Erasures { erasures, next })
}

describe!(show, |operation| operation
    .summary("Shows the receipt of an erasure")
    .describe("It contains no personal data.")
    .answers::<ErasureRecord>(200, "The receipt.")
    .refuses(&[404]));
pub async fn show(call: &Call<'_>, id: &str) -> ApiResult {
    let unknown = || {
        ApiError::NotFound(format!(
            "There is no erasure `{id}`; `leadhost contact erasures` shows those that exist."
        ))
    };
    let erasure: ErasureId = id.parse().map_err(|_| unknown())?;
    let store = &call.http.core.store;
    let erasure = store.erasure(erasure).await?.ok_or_else(unknown)?;
    let names = ErasureNames::load(store).await?;
    reply::ok(&ErasureRecord {
        erasure: names.view(erasure),
        not_reached: NOT_REACHED.map(str::to_owned).to_vec(),
    })
}

/// The names of workspaces and keys.
struct ErasureNames {
    workspaces: BTreeMap<WorkspaceId, String>,
    keys: BTreeMap<KeyId, String>,
}

impl ErasureNames {
    async fn load(store: &Store) -> Result<Self, StoreError> {
        let workspaces = store.workspaces().await?.into_iter();
        let keys = store.keys(None).await?.into_iter();
        Ok(Self {
            workspaces: workspaces.map(|one| (one.id, one.slug)).collect(),
            keys: keys.map(|key| (key.id, key.shown())).collect(),
        })
    }

    fn view(&self, erasure: Erasure) -> ErasureView {
        to_view(
            self.workspaces.get(&erasure.workspace_id).cloned(),
            self.keys.get(&erasure.key_id).cloned(),
            erasure,
        )
    }
}

fn to_view(workspace: Option<String>, key: Option<String>, erasure: Erasure) -> ErasureView {
    view! { ErasureView from erasure: id, workspace_id, contact_id, found_by, key_id, began_at,
        done_at;
        workspace,
        key,
        erased: counts(erasure.erased),
        remaining: remaining(erasure.remaining.for_display())
    }
}
