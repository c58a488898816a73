pub mod create;

use crate::endpoints::admin::prelude::*;
use leadhost_admin_api::keys::{KeyRevoked, KeyState, KeyView, Keys};
use leadhost_domain::id::KeyId;
use leadhost_domain::key::KeyRecord;
use leadhost_pipeline::fleet;
use leadhost_store::Announcement;

describe!(list, |operation| operation
    .summary("Lists keys without their text")
    .describe("Revoked and expired keys are listed too.")
    .query(
        "workspace",
        word(),
        "The workspace's slug: only the keys of this workspace."
    )
    .answers::<Keys>(200, "The keys.")
    .refuses(&[404]));
pub async fn list(call: &Call<'_>) -> ApiResult {
    let store = &call.http.core.store;
    let query = call.query();
    let wanted = query.filled(&["workspace"]);
    let workspaces = store.workspaces().await?;
    let only = match wanted {
        None => None,
        Some(slug) => Some(
            workspaces
                .iter()
                .find(|one| one.slug == slug)
                .ok_or_else(|| {
                    ApiError::NotFound(format!(
                        "There is no workspace `{slug}`; `leadhost workspace list` shows those that exist."
                    ))
                })?
                .id,
        ),
    };
    let mut partners = BTreeMap::new();
    for workspace in &workspaces {
        for partner in store.partners(workspace.id).await? {
            partners.insert(partner.id, partner.name);
        }
    }
    let now = call.http.core.clock.now();
    let keys = store
        .keys(only)
        .await?
        .into_iter()
        .map(|key| {
            let workspace = workspaces
                .iter()
                .find(|one| Some(one.id) == key.workspace)
                .map(|one| one.slug.clone());
            let partner = key.partner.and_then(|id| partners.get(&id)).cloned();
            to_view(key, workspace, partner, now)
        })
        .collect();
    reply::ok(&Keys { keys })
}

describe!(revoke, |operation| {
    operation
        .summary("Revokes a key")
        .describe("Every host refuses the key within one second.")
        .answers::<KeyRevoked>(200, "It is revoked.")
        .refuses(&[404, 507])
        .refuses_with(409, "The request was made with the key itself: otherwise no key might be left to create another.", &[])
});
pub async fn revoke(call: &Call<'_>, caller: &AdminCaller, id: &str) -> ApiResult {
    let missing = || {
        ApiError::NotFound(format!(
            "There is no live key `{id}`; `leadhost key list` shows those that exist."
        ))
    };
    let key: KeyId = id.parse().map_err(|_| missing())?;
    if key == caller.key() {
        return Err(ApiError::conflict(
            "This request was made with the key itself: revoke it with another admin key."
                .to_owned(),
        ));
    }
    if !call
        .http
        .core
        .store
        .revoke_key(key, call.http.core.clock.now())
        .await?
    {
        return Err(missing());
    }
    fleet::announce(&call.http.pipeline, Announcement::Keys).await;
    reply::ok(&KeyRevoked {
        id: key,
        revoked: true,
    })
}

fn to_view(
    key: KeyRecord,
    workspace: Option<String>,
    partner: Option<String>,
    now: Micros,
) -> KeyView {
    let state = if key.revoked_at.is_some() {
        KeyState::Revoked
    } else if key.is_live(now) {
        KeyState::Live
    } else {
        KeyState::Expired
    };
    view! { KeyView from key: id, kind, role, label, hint, created_at, expires_at, revoked_at,
        last_used_at;
        workspace,
        partner,
        state
    }
}
