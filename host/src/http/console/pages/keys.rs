//! Keys: the list, a new key, and revocation.

use std::collections::BTreeSet;

use askama::Template;
use hyper::StatusCode;

use super::super::api::ApiRefusal;
use super::super::form::{Form, encoded};
use super::super::frame::Frame;
use super::super::{FormOutcome, Visit, page};
use super::Filters;
use crate::admin_api::connections::Connections;
use crate::admin_api::keys::{CreateKeyRequest, CreatedKey, KeyRevoked, KeyState, KeyView, Keys};
use crate::admin_api::workspaces::Workspaces;
use crate::domain::key::{KeyKind, Role};

#[derive(Template)]
#[template(path = "console/keys.html")]
pub struct KeysPage {
    frame: Frame,
    keys: Vec<KeyView>,
    created: Option<CreatedKey>,
    /// The names that the form suggests.
    workspaces: Vec<String>,
    partners: BTreeSet<String>,
    /// The fields of a form that was refused.
    typed: Filters,
    /// Why it was refused.
    problem: Option<String>,
}

/// The fields of the form of a new key.
const FIELDS: [&str; 6] = [
    "kind",
    "label",
    "workspace",
    "partner",
    "role",
    "expires-days",
];

impl KeysPage {
    /// Returns the attribute of an option of the form, if that was chosen.
    fn selected(&self, field: &str, value: &str) -> &'static str {
        match self.typed.get(field) == value {
            true => " selected",
            false => "",
        }
    }
}

/// Returns the list.
///
/// # Errors
///
/// [`ApiRefusal`] if the store cannot be read.
pub async fn list(visit: &Visit<'_>) -> Result<KeysPage, ApiRefusal> {
    let api = visit.api();
    let list: Keys = api.get("/keys").await?;
    let Workspaces { workspaces } = api.get("/workspaces").await?;
    let Connections { connections } = api.get("/connections").await?;
    let of_connections = connections.into_iter().map(|one| one.partner);
    let of_keys = list.keys.iter().filter_map(|key| key.partner.clone());
    Ok(KeysPage {
        workspaces: workspaces.into_iter().map(|one| one.slug).collect(),
        partners: of_connections.chain(of_keys).collect(),
        frame: visit.frame("keys", "Keys"),
        keys: list.keys,
        created: None,
        typed: Filters(Vec::new()),
        problem: None,
    })
}

/// Creates a key, and shows its text once. If it is refused, the form keeps what was typed.
///
/// # Errors
///
/// [`ApiRefusal`] if the store cannot be read.
pub async fn create(visit: &Visit<'_>, form: &Form) -> Result<FormOutcome, ApiRefusal> {
    let created = created(visit, form).await;
    let mut shown = list(visit).await?;
    let status = match created {
        Ok(created) => {
            shown.created = Some(created);
            StatusCode::OK
        }
        Err(refusal) => {
            shown.typed = Filters::from_form(form, &FIELDS);
            shown.problem = Some(refusal.message);
            refusal.status
        }
    };
    Ok(FormOutcome::Page(page(status, &shown)?))
}

async fn created(visit: &Visit<'_>, form: &Form) -> Result<CreatedKey, ApiRefusal> {
    let wrong = |what: &str| ApiRefusal::new(StatusCode::BAD_REQUEST, what.to_owned());
    let kind =
        KeyKind::from_text(form.get("kind")).ok_or_else(|| wrong("Choose what the key is for."))?;
    let role = match form.filled("role").filter(|_| kind == KeyKind::Admin) {
        None => None,
        Some(word) => Some(
            word.parse::<Role>()
                .map_err(|error| wrong(&error.to_string()))?,
        ),
    };
    let expires_days = match form.filled("expires-days") {
        None => None,
        Some(days) => Some(
            days.parse()
                .map_err(|_| wrong("Write the days as a whole number."))?,
        ),
    };
    let request = CreateKeyRequest {
        kind,
        workspace: form.filled("workspace"),
        partner: form.filled("partner"),
        role,
        label: form.get("label").to_owned(),
        expires_days,
    };
    visit.api().post("/keys", &request).await
}

/// Revokes a key.
///
/// # Errors
///
/// [`ApiRefusal`] if the user's role does not allow it, there is no live key with this id, it is the
/// user's own, or the store fails.
pub async fn revoke(visit: &Visit<'_>, id: &str) -> Result<FormOutcome, ApiRefusal> {
    let _: KeyRevoked = visit
        .api()
        .delete(&format!("/keys/{}", encoded(id)))
        .await?;
    Ok(FormOutcome::done("/keys", "The key is revoked."))
}
