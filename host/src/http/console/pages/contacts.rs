//! The erasure of a person, and the record of erasures.

use askama::Template;
use hyper::StatusCode;

use super::super::api::ApiRefusal;
use super::super::form::Form;
use super::super::frame::Frame;
use super::super::{FormOutcome, Visit, page};
use super::Filters;
use crate::admin_api::contacts::{EraseReceipt, EraseRequest, ErasureView, Erasures};
use crate::admin_api::workspaces::{WorkspaceView, Workspaces};

#[derive(Template)]
#[template(path = "console/contacts.html")]
pub struct ContactsPage {
    frame: Frame,
    workspaces: Vec<WorkspaceView>,
    erasures: Vec<ErasureView>,
    next: Option<String>,
    /// The request whose effect was counted, and the count.
    counted: Option<(EraseRequest, EraseReceipt)>,
    erased: Option<EraseReceipt>,
}

/// Returns the list of erasures.
///
/// # Errors
///
/// [`ApiRefusal`] if the store cannot be read.
pub async fn list(visit: &Visit<'_>) -> Result<ContactsPage, ApiRefusal> {
    let filters = Filters::read(visit, &["before"]);
    let api = visit.api();
    let workspaces: Workspaces = api.get("/workspaces").await?;
    let list: Erasures = api.get(&format!("/erasures{}", filters.query())).await?;
    let next = filters.next_page("/contacts", list.next);
    Ok(ContactsPage {
        frame: visit.frame("contacts", "Contacts"),
        workspaces: workspaces.workspaces,
        erasures: list.erasures,
        next,
        counted: None,
        erased: None,
    })
}

/// Counts what an erasure would remove; with `confirmed`, erases.
///
/// # Errors
///
/// [`ApiRefusal`] of the operation.
pub async fn erase(visit: &Visit<'_>, form: &Form) -> Result<FormOutcome, ApiRefusal> {
    let mut request = EraseRequest {
        workspace: form.filled("workspace"),
        id: form.filled("id"),
        phone: form.filled("phone"),
        email: form.filled("email"),
        dry_run: !form.has("confirmed"),
        unconverted: form.has("unconverted"),
    };
    let receipt: EraseReceipt = visit.api().post("/contacts/erase", &request).await?;
    let mut shown = list(visit).await?;
    if request.dry_run {
        // The person is named by id from here on: between the two steps, a number may change hands.
        request.id = Some(receipt.contact_id.to_string());
        (request.phone, request.email) = (None, None);
        shown.counted = Some((request, receipt));
    } else {
        shown.erased = Some(receipt);
    }
    Ok(FormOutcome::Page(page(StatusCode::OK, &shown)?))
}
