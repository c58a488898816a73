//! `POST /admin/v1/keys`: creates a key. Only this answer contains its text.

use super::to_view;
use crate::endpoints::admin::prelude::*;
use leadhost_admin_api::keys::{CreateKeyRequest, CreatedKey};
use leadhost_domain::id::PartnerId;
use leadhost_domain::key::{KeyKind, Role};
use leadhost_pipeline::apply::{KeyRequest, check_label, mint};
use leadhost_pipeline::fleet;
use leadhost_store::Announcement;

describe!(create, |operation| operation
    .summary("Creates a key")
    .takes::<CreateKeyRequest>(&[(
        "workspace",
        "A key of the data API",
        json!({"kind": "workspace", "workspace": "acme", "label": "warehouse"})
    )])
    .answers::<CreatedKey>(201, "The key. Only this answer shows its text.")
    .refuses(&[404]));
pub async fn create(call: &Call<'_>, body: UnreadBody) -> ApiResult {
    let request: CreateKeyRequest = read_json(call, body).await?;
    let kind = request.kind;
    let (workspace, partner) = scope(call, kind, &request).await?;
    let role = match (kind, request.role) {
        (KeyKind::Admin, role) => Some(role.unwrap_or(Role::Admin)),
        (_, None) => None,
        (_, Some(_)) => {
            return Err(ApiError::BadRequest(format!(
                "A key of kind {} takes no role.",
                kind.as_str()
            )));
        }
    };
    let most = limits::KEY_DAYS;
    if request.expires_days.is_some_and(|days| days > most) {
        return Err(ApiError::BadRequest(format!(
            "`expiresDays` must be a whole number from 0 to {most}; leave it out for a key that does not expire."
        )));
    }
    check_label(&request.label).map_err(|why| ApiError::BadRequest(format!("`label` {why}.")))?;
    let now = call.http.core.clock.now();
    let wanted = KeyRequest {
        kind,
        workspace,
        partner,
        role,
        label: request.label,
        expires_at: request
            .expires_days
            .map(|days| now.plus(std::time::Duration::from_hours(24).saturating_mul(days))),
    };
    let (record, plain) = mint(&call.http.core.store, wanted, now).await?;
    fleet::announce(&call.http.pipeline, Announcement::Keys).await;
    call.audit(json!({
        "keyId": record.id,
        "kind": record.kind.as_str(),
        "role": record.role,
        "label": record.label,
        "workspace": request.workspace,
        "partner": request.partner,
    }));
    let answer = CreatedKey {
        view: to_view(record, request.workspace, request.partner, now),
        key: plain.reveal().to_owned(),
    };
    reply::json(StatusCode::CREATED, &answer)
}

/// Resolves the scope of a key: checks which names a key of this kind requires and forbids.
async fn scope(
    call: &Call<'_>,
    kind: KeyKind,
    request: &CreateKeyRequest,
) -> ApiResult<(Option<WorkspaceId>, Option<PartnerId>)> {
    let wants_workspace = kind != KeyKind::Admin;
    let wants_partner = matches!(kind, KeyKind::Partner | KeyKind::AccessToken);
    for (what, given, wanted) in [
        ("workspace", request.workspace.is_some(), wants_workspace),
        ("partner", request.partner.is_some(), wants_partner),
    ] {
        if given != wanted {
            return Err(ApiError::BadRequest(format!(
                "A key of kind {} {} {what}.",
                kind.as_str(),
                if wanted { "needs a" } else { "takes no" }
            )));
        }
    }
    let Some(slug) = &request.workspace else {
        return Ok((None, None));
    };
    let store = &call.http.core.store;
    let workspaces = store.workspaces().await?;
    let slugs: Vec<&str> = workspaces.iter().map(|one| one.slug.as_str()).collect();
    let workspace = workspaces
        .iter()
        .find(|one| one.slug == *slug)
        .ok_or_else(|| {
            ApiError::NotFound(match slugs.join(", ").as_str() {
                "" => {
                    "There is no workspace yet: `leadhost apply` makes one from a file.".to_owned()
                }
                all => format!("There is no workspace `{slug}`; there are: {all}."),
            })
        })?;
    let Some(name) = &request.partner else {
        return Ok((Some(workspace.id), None));
    };
    let partners = store.partners(workspace.id).await?;
    let names: Vec<&str> = partners.iter().map(|one| one.name.as_str()).collect();
    let partner = partners
        .iter()
        .find(|one| one.name == *name)
        .ok_or_else(|| {
            ApiError::NotFound(format!(
                "Workspace `{slug}` has no partner `{name}`; it has: {}.",
                names.join(", ")
            ))
        })?;
    Ok((Some(workspace.id), Some(partner.id)))
}
