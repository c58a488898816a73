//! Creates keys: the caller gets the text, the store gets its digest.

use crate::prelude::*;
use leadhost_domain::audit::{INBOX, SERVICE};
use leadhost_domain::key::{FIRST_KEY, KeyKind, KeyRecord, PlainKey, Role};
use leadhost_domain::text::{is_seen, storable};
use leadhost_store::{Applied, Store};

use super::declaration::DeclaredKey;
use super::outcome::MadeKey;

#[derive(Clone, Debug)]
pub struct KeyRequest {
    pub kind: KeyKind,
    pub workspace: Option<WorkspaceId>,
    pub partner: Option<PartnerId>,
    pub role: Option<Role>,
    pub label: String,
    pub expires_at: Option<Micros>,
}

/// Checks the label of a key that somebody asks for: the audit shows labels as actors, so none may name the
/// service or another key.
pub fn check_label(label: &str) -> Result<(), String> {
    let (has, most) = (label.chars().count(), limits::NAME_CHARACTERS);
    if has > most {
        return Err(format!("has {has} characters: at most {most} are allowed"));
    }
    let shown: String = label.chars().filter(|one| is_seen(*one)).collect();
    let shown = shown.to_lowercase();
    if [SERVICE, INBOX, FIRST_KEY].contains(&shown.as_str()) {
        return Err(format!(
            "is `{shown}`, by which the audit names the service itself or the key that it made: choose another one"
        ));
    }
    match shown.parse::<KeyId>() {
        Ok(_) => Err(
            "is the id of a key, by which the audit names one without a label: choose another one"
                .to_owned(),
        ),
        Err(_) => Ok(()),
    }
}

/// Creates a key. Its text is in the answer and nowhere else.
#[leadhost_boxed::boxed]
pub async fn mint(
    store: &Store,
    request: KeyRequest,
    now: Micros,
) -> Result<(KeyRecord, PlainKey), StoreError> {
    let plain = PlainKey::generate(request.kind);
    let record = KeyRecord {
        id: KeyId::new(now),
        kind: request.kind,
        workspace: request.workspace,
        partner: request.partner,
        role: request.role,
        label: storable(request.label),
        hint: plain.hint(),
        created_at: now,
        expires_at: request.expires_at,
        revoked_at: None,
        last_used_at: None,
    };
    store.create_key(&record, &plain.digest()).await?;
    Ok((record, plain))
}

pub(super) async fn make_missing(
    store: &Store,
    applied: &Applied,
    declared: &[DeclaredKey],
    now: Micros,
    dry_run: bool,
) -> Result<Vec<MadeKey>, StoreError> {
    if declared.is_empty() {
        return Ok(Vec::new());
    }
    let live = store.keys(Some(applied.workspace_id)).await?;
    let mut made = Vec::new();
    for key in declared {
        let exists = live
            .iter()
            .any(|one| one.is_live(now) && one.kind == key.kind && one.label == key.label);
        if exists {
            continue;
        }
        let text = if dry_run {
            None
        } else {
            let request = KeyRequest {
                kind: key.kind,
                workspace: Some(applied.workspace_id),
                partner: key
                    .partner
                    .as_ref()
                    .and_then(|name| applied.partners.get(name))
                    .copied(),
                role: None,
                label: key.label.clone(),
                expires_at: None,
            };
            let (_, plain) = mint(store, request, now).await?;
            Some(plain.reveal().to_owned())
        };
        made.push(MadeKey {
            kind: key.kind,
            label: key.label.clone(),
            partner: key.partner.clone(),
            key: text,
        });
    }
    Ok(made)
}
