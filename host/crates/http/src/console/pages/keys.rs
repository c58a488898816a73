use std::collections::BTreeSet;

use super::super::table::{RowButton, RowForm};
use super::faults::Faults;
use super::part;
use crate::console::pages::prelude::*;
use leadhost_admin_api::keys::{CreateKeyRequest, CreatedKey, KeyRevoked, KeyState, KeyView, Keys};
use leadhost_domain::key::{KeyKind, Role};

pub static ROUTES: &[Route] = pages! {
    GET "/keys" => page list();
    POST "/keys" => form "/keys" create(form);
    POST "/partners" => form "/keys" make_partner(form);
    POST "/keys/{key}/revoke" => form "/keys" revoke(key);
};

#[derive(Template)]
#[template(path = "console/keys.html")]
pub struct KeysPage {
    frame: Frame,
    keys: Vec<KeyView>,
    created: Option<CreatedKey>,
    /// A partner that was declared, as lines of the workspace file.
    declared: Option<String>,
    /// The names that the forms suggest.
    workspaces: Vec<String>,
    partners: BTreeSet<String>,
    /// The fields of a form that was refused. A declared partner is preselected for the next key.
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
    /// Returns the keys. An administrator may revoke the live ones.
    fn table(&self) -> Table {
        Table::with_forms(&self.keys, "No key.", |key| {
            let may = self.frame.may_administer() && key.state == KeyState::Live;
            let label = format!("Revoke {}", key.label);
            may.then(|| RowForm {
                action: format!("/keys/{}/revoke", key.id),
                buttons: vec![RowButton {
                    words: "Revoke",
                    ask: format!("{label}?"),
                    label,
                    is_risky: true,
                    ..RowButton::default()
                }],
            })
        })
    }

    /// Returns the attribute of an option of the form, if that was chosen.
    fn selected(&self, field: &str, value: &str) -> &'static str {
        if self.typed.get(field) == value {
            " selected"
        } else {
            ""
        }
    }
}

async fn list(visit: &Visit<'_>) -> PageResult<KeysPage> {
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
        declared: None,
        typed: Filters(Vec::new()),
        problem: None,
    })
}

/// Creates a key, and shows its text once. If it is refused, the form keeps what was typed.
async fn create(visit: &Visit<'_>, form: &Form) -> PageResult<FormOutcome> {
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

async fn created(visit: &Visit<'_>, form: &Form) -> PageResult<CreatedKey> {
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

/// Declares a partner without a connection. If it is refused, the form keeps what was typed.
async fn make_partner(visit: &Visit<'_>, form: &Form) -> PageResult<FormOutcome> {
    let made = partner_made(visit, form).await;
    let mut shown = list(visit).await?;
    shown.typed = Filters::from_form(form, &FIELDS);
    let status = match made {
        Ok(declaration) => {
            shown.declared = Some(declaration);
            StatusCode::OK
        }
        Err(refusal) => {
            let status = refusal.status;
            // A partner has one field, and the faults need no place.
            let faults = Faults::from_refusal(refusal, |_| "");
            shown.problem = Some(faults.all().join("; "));
            status
        }
    };
    Ok(FormOutcome::Page(page(status, &shown)?))
}

async fn partner_made(visit: &Visit<'_>, form: &Form) -> PageResult<String> {
    let (slug, name) = (form.get("workspace"), form.get("partner"));
    let workspace = part::workspace(visit, slug).await?;
    let file = part::file(&workspace, name, None);
    let report = part::apply(visit, &file).await?;
    if !part::makes_partner(&report) {
        let message = format!("There is a partner `{slug}/{name}` already.");
        return Err(ApiRefusal::new(StatusCode::CONFLICT, message));
    }
    Ok(part::partner_as_file(name))
}

async fn revoke(visit: &Visit<'_>, id: &str) -> PageResult<FormOutcome> {
    let _: KeyRevoked = visit
        .api()
        .delete(&format!("/keys/{}", encoded(id)))
        .await?;
    Ok(FormOutcome::done("/keys", "The key is revoked."))
}
