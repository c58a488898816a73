//! `POST /admin/v1/contacts/erase`: removes a person and everything that is known about them. The
//! person is named by `id`, or by `phone` or `email` within a `workspace`; all of it in the
//! body, since addresses end up in logs. `dryRun` counts what would be removed.
//!
//! The answer is the receipt. The request takes as long as it needs, even if the operator
//! disconnects. After an interruption, the same request continues the erasure.

use super::{counts, remaining};
use crate::endpoints::admin::prelude::*;
use crate::endpoints::admin::workspaces;
use leadhost_admin_api::contacts::{EraseReceipt, EraseRequest};
use leadhost_domain::contact::FoundBy;
use leadhost_domain::{contact, phone};
use leadhost_pipeline::erase::{self, EraseError, ErasureRequest};
use leadhost_store::{Person, PersonBy};

/// Data that the service cannot know or reach. Every receipt lists it.
pub(super) const NOT_REACHED: [&str; 5] = [
    "backups of the store, and copies that its database keeps (the log of PostgreSQL, replicas)",
    "copies that clients exported before: /v1/export/{entity}/ids shows them what was removed",
    "the person's data that sources, partners and channels keep themselves",
    "what other people's leads say of the person, such as an address in a referral or a name in a message",
    "data about the person that arrives from now on: a repeat of a known lead does not restore the contact, but its raw delivery is kept for its retention time",
];

describe!(run, |operation| {
    operation
        .summary("Erases a person")
        .describe("Removes the person and everything that is known about the person. The request takes as long as it needs, even if the caller disconnects. After an interruption, the same request continues the erasure.")
        .takes::<EraseRequest>(&[
            ("phone", "The data that would be removed, by phone number", json!({"workspace": "acme", "phone": "+5511987654321", "dryRun": true})),
            ("id", "Erase by id", json!({"id": "019cae2b-3f61-7a52-8a10-6d4f3e2a1b88"})),
        ])
        .answers::<EraseReceipt>(200, "The receipt.")
        .refuses(&[404])
});
pub async fn run(call: &Call<'_>, caller: &AdminCaller, body: UnreadBody) -> ApiResult {
    let request: EraseRequest = read_json(call, body).await?;
    let (workspace, person, found_by) = find(call, caller, &request).await?;
    call.audit(json!({
        "workspace": workspace.slug,
        "contactId": person.id,
        "dryRun": request.dry_run,
    }));
    let order = ErasureRequest {
        found_by,
        key: caller.key(),
        unconverted: request.unconverted,
    };
    if request.dry_run {
        let preview = erase::preview(&call.http.pipeline, &person, &order)
            .await
            .map_err(refused)?;
        let answer = EraseReceipt {
            dry_run: true,
            id: None,
            workspace: workspace.slug,
            workspace_id: workspace.id,
            contact_id: person.id,
            found_by,
            key_id: None,
            began_at: None,
            done_at: None,
            erased: counts(preview.erased),
            remaining: remaining(preview.remaining),
            others: person.others,
            not_reached: Vec::new(),
        };
        return reply::ok(&answer);
    }
    let others = person.others.clone();
    let erased =
        call.to_end(|http| async move { erase::erase(&http.pipeline, &person, &order).await });
    let erasure = erased.await?.map_err(refused)?;
    reply::ok(&EraseReceipt {
        dry_run: false,
        id: Some(erasure.id),
        workspace: workspace.slug,
        workspace_id: erasure.workspace_id,
        contact_id: erasure.contact_id,
        found_by: erasure.found_by,
        key_id: Some(erasure.key_id),
        began_at: Some(erasure.began_at),
        done_at: erasure.done_at,
        erased: counts(erasure.erased),
        remaining: remaining(erasure.remaining),
        others,
        not_reached: NOT_REACHED.map(str::to_owned).to_vec(),
    })
}

async fn find(
    call: &Call<'_>,
    caller: &AdminCaller,
    request: &EraseRequest,
) -> ApiResult<(Workspace, Person, FoundBy)> {
    let store = &call.http.core.store;
    let among = match &request.workspace {
        Some(text) => vec![workspaces::find(store, text).await?],
        None => store.workspaces().await?,
    };
    let named = [&request.id, &request.phone, &request.email];
    if named.into_iter().flatten().count() != 1 {
        return Err(ApiError::BadRequest(
            "Name the person by one of `id`, `phone` and `email`.".to_owned(),
        ));
    }
    if request.id.is_none() && request.found_by.is_some() {
        return Err(ApiError::BadRequest(
            "`foundBy` says how an `id` was found: leave it out.".to_owned(),
        ));
    }
    if request.id.is_none() && request.workspace.is_none() {
        return Err(ApiError::BadRequest(
            "A phone or an e-mail address identifies a person only within a `workspace`: name it."
                .to_owned(),
        ));
    }
    for workspace in among {
        let (by, found_by) = person_by(request, &workspace)?;
        if let Some(person) = store.person(workspace.id, &by).await? {
            return Ok((workspace, person, found_by));
        }
        if request.id.is_none() {
            // Messages and deliveries may name somebody who is no contact.
            let (phone, email) = (request.phone.as_deref(), request.email.as_deref());
            let phone = phone.and_then(|text| phone::normalise(text, &workspace.region).e164);
            let named = (phone, email.and_then(contact::email));
            let person = Person::unknown(workspace.id, named);
            let order = ErasureRequest {
                found_by,
                key: caller.key(),
                unconverted: request.unconverted,
            };
            let would = erase::preview(&call.http.pipeline, &person, &order);
            let would = would.await.map_err(refused)?;
            if !would.erased.is_empty() || !would.remaining.deliveries.is_empty() {
                return Ok((workspace, person, found_by));
            }
        }
    }
    // The error does not repeat the search value: answers may be logged elsewhere.
    Err(ApiError::NotFound(
        "There is no such contact, and no message or delivery names the person by this phone or address. An erased contact is also found by its id, which the receipt names.".to_owned(),
    ))
}

fn person_by(request: &EraseRequest, workspace: &Workspace) -> ApiResult<(PersonBy, FoundBy)> {
    if let Some(text) = &request.id {
        let id: ContactId = text
            .parse()
            .map_err(|_| ApiError::BadRequest("`id` is not the id of a contact.".to_owned()))?;
        return Ok((PersonBy::Id(id), request.found_by.unwrap_or(FoundBy::Id)));
    }
    if let Some(text) = &request.phone {
        let key = phone::normalise(text, &workspace.region).match_key;
        let key = key.ok_or_else(|| {
            ApiError::BadRequest(
                "`phone` is not a number that can be called: write it as +5511987654321."
                    .to_owned(),
            )
        })?;
        return Ok((PersonBy::Key(contact::phone_key(&key)), FoundBy::Phone));
    }
    let text = request.email.as_deref().unwrap_or_default();
    let email = contact::email(text)
        .ok_or_else(|| ApiError::BadRequest("`email` is not an e-mail address.".to_owned()))?;
    Ok((PersonBy::Key(contact::email_key(&email)), FoundBy::Email))
}

fn refused(error: EraseError) -> ApiError {
    match error {
        EraseError::Store(error) => ApiError::Store(error),
        EraseError::Stopping => ApiError::Overloaded {
            shed: Shed::Stopping,
            what: "The service is stopping; send the request again, and it continues where it was.",
            retry_after: Duration::from_secs(5),
        },
    }
}
