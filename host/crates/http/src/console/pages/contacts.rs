use crate::console::pages::prelude::*;
use leadhost_admin_api::contacts::{
    ContactDetail, ContactSummary, Contacts, EraseReceipt, EraseRequest, ErasureRecord,
    ErasureView, Erasures,
};
use leadhost_domain::contact::FoundBy;
use leadhost_domain::text::{counted, noun};

pub static ROUTES: &[Route] = pages! {
    GET "/contacts" => answer find();
    GET "/contacts/{contact}" => page show(contact);
    GET "/contacts/erasures/{erasure}" => page receipt(erasure);
    POST "/contacts/erase" => form "/contacts" erase(form);
};

#[derive(Template)]
#[template(path = "console/contacts.html")]
pub struct ContactsPage {
    frame: Frame,
    filters: Filters,
    /// The result of the search. `None` if nothing is searched.
    found: Option<Vec<ContactSummary>>,
    workspaces: Vec<Workspace>,
    erasures: Vec<ErasureView>,
    next: Option<String>,
    /// The request whose effect was counted, and the count.
    counted: Option<(EraseRequest, EraseReceipt)>,
    /// The person whom that request would erase. `None` if the contact is gone already.
    person: Option<ContactSummary>,
    erased: Option<EraseReceipt>,
}

/// Says that the person is erased, and how many deliveries with the person are left.
fn erased(receipt: &EraseReceipt) -> Notice {
    let remaining = &receipt.remaining;
    match remaining.deliveries.len() as u64 + remaining.more_deliveries {
        0 => "The person is erased".into(),
        left => Notice {
            tone: Tone::Warn,
            text: format!(
                "The person is erased, but for {} that {} not converted yet",
                counted(left, "delivery", "deliveries"),
                noun(&left, "is", "are"),
            ),
        },
    }
}

/// Shows the contacts that are searched and the list of erasures, or the one contact that is found.
async fn find(visit: &Visit<'_>) -> PageResult {
    let filters = Filters::read(visit, &["q", "workspace"]);
    if filters.get("q").is_empty() {
        return page(StatusCode::OK, &list(visit).await?);
    }
    let path = format!("/contacts{}", filters.query());
    let found: Contacts = visit.api().get(&path).await?;
    if let [only] = found.contacts.as_slice() {
        let to = format!("/console/contacts/{}?found={}", only.id, only.found_by);
        return Ok(see_other(&to));
    }
    let mut shown = list(visit).await?;
    shown.filters = filters;
    shown.found = Some(found.contacts);
    page(StatusCode::OK, &shown)
}

/// Returns the list of erasures, with an empty search.
async fn list(visit: &Visit<'_>) -> PageResult<ContactsPage> {
    let filters = Filters::read(visit, &["before"]);
    let api = visit.api();
    let workspaces: Workspaces = api.get("/workspaces").await?;
    let list: Erasures = api.get(&format!("/erasures{}", filters.query())).await?;
    let next = filters.next_page("/contacts", list.next);
    Ok(ContactsPage {
        frame: visit.frame("contacts", "Contacts"),
        filters,
        found: None,
        workspaces: workspaces.workspaces,
        erasures: list.erasures,
        next,
        counted: None,
        person: None,
        erased: None,
    })
}

#[derive(Template)]
#[template(path = "console/contact.html")]
pub struct ContactPage {
    frame: Frame,
    contact: ContactDetail,
    /// The key by which it was searched, which the receipt of an erasure names.
    found_by: FoundBy,
}

async fn show(visit: &Visit<'_>, id: &str) -> PageResult<ContactPage> {
    let path = format!("/contacts/{}", encoded(id));
    let contact: ContactDetail = visit.api().get(&path).await?;
    let facts = &contact.facts;
    let known = [&facts.name, &facts.phone_number, &facts.email];
    let name = known.into_iter().flatten().find(|text| !text.is_empty());
    let name = name.map_or("Contact", String::as_str).to_owned();
    let found_by = visit
        .call
        .query()
        .get("found")
        .and_then(|word| word.parse().ok());
    Ok(ContactPage {
        frame: visit.frame("contacts", name),
        contact,
        found_by: found_by.unwrap_or(FoundBy::Id),
    })
}

#[derive(Template)]
#[template(path = "console/erasure.html")]
pub struct ErasurePage {
    frame: Frame,
    record: ErasureRecord,
}

async fn receipt(visit: &Visit<'_>, id: &str) -> PageResult<ErasurePage> {
    let path = format!("/erasures/{}", encoded(id));
    Ok(ErasurePage {
        frame: visit.frame("contacts", "Receipt of an erasure"),
        record: visit.api().get(&path).await?,
    })
}

/// Counts what an erasure would remove; with `confirmed`, erases.
async fn erase(visit: &Visit<'_>, form: &Form) -> PageResult<FormOutcome> {
    let mut request = EraseRequest {
        workspace: form.filled("workspace"),
        id: form.filled("id"),
        phone: form.filled("phone"),
        email: form.filled("email"),
        found_by: form.get("found-by").parse().ok(),
        dry_run: !form.has("confirmed"),
        unconverted: form.has("unconverted"),
    };
    let receipt: EraseReceipt = visit.api().post("/contacts/erase", &request).await?;
    let mut shown = list(visit).await?;
    if request.dry_run {
        let path = format!("/contacts/{}", receipt.contact_id);
        let person: Result<ContactDetail, _> = visit.api().get(&path).await;
        shown.person = person.ok().map(|person| person.facts);
        // The person is named by id from here on: between the two steps, a number may change hands.
        request.id = Some(receipt.contact_id.to_string());
        (request.phone, request.email) = (None, None);
        request.found_by = Some(receipt.found_by);
        shown.counted = Some((request, receipt));
    } else {
        shown.erased = Some(receipt);
    }
    Ok(FormOutcome::Page(page(StatusCode::OK, &shown)?))
}
