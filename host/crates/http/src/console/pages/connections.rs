use serde::de::IgnoredAny;

use super::super::answer::BLANKS;
use super::change::{self, ChangeForms, Kind, pause, resume};
use super::workspace::has_workspace;
use crate::console::pages::prelude::*;
use leadhost_admin_api::connections::{ConnectionView, TestDeliveryRequest, TestedDelivery};
use leadhost_admin_api::deliveries::{Deliveries, DeliveryDetailView};
use leadhost_admin_api::tried::{TriedBody, TryRequest};
use leadhost_domain::text::written_out;

pub static ROUTES: &[Route] = pages! {
    GET "/connections" => page list();
    GET "/connections/{connection}" => page show(connection);
    POST "/connections/{connection}/secret" => form "/connections/{}" secret(connection, form);
    POST "/connections/{connection}/config" => form "/connections/{}" config(connection, form);
    POST "/connections/{connection}/try" => form "/connections/{}" try_config(connection, form);
    POST "/connections/{connection}/test" => form "/connections" test(connection, form);
    POST "/connections/{connection}/pause" => form "/connections" pause(connection, form, (Kind::Connection));
    POST "/connections/{connection}/resume" => form "/connections" resume(connection, (Kind::Connection));
};

#[derive(Template)]
#[template(path = "console/connections.html")]
pub struct ConnectionsPage {
    frame: Frame,
    connections: Vec<ConnectionView>,
    has_workspace: bool,
}

async fn list(visit: &Visit<'_>) -> PageResult<ConnectionsPage> {
    let list: Connections = visit.api().get("/connections").await?;
    Ok(ConnectionsPage {
        frame: visit.frame("connections", "Connections"),
        connections: list.connections,
        has_workspace: has_workspace(visit).await?,
    })
}

#[derive(Template)]
#[template(path = "console/connection.html")]
pub struct ConnectionPage {
    frame: Frame,
    connection: ConnectionView,
    change: ChangeForms,
    /// The body on which the configuration is tried: at first the last delivery's.
    body: String,
    /// The body of the last delivery, with which the form of a test delivery begins.
    last_body: String,
    tried: Option<TriedBody>,
}

pub async fn named(visit: &Visit<'_>, which: &str) -> PageResult<ConnectionView> {
    let list: Connections = visit.api().get("/connections").await?;
    let mut all = list.connections.into_iter();
    all.find(|one| one.id.to_string() == which).ok_or_else(|| {
        ApiRefusal::new(
            StatusCode::NOT_FOUND,
            "There is no connection with this id.",
        )
    })
}

async fn show(visit: &Visit<'_>, which: &str) -> PageResult<ConnectionPage> {
    let connection = named(visit, which).await?;
    let page = format!("/connections/{}", connection.id);
    let is_paused = connection.paused.is_some();
    let of = (connection.plugin.as_str(), &connection.bound, is_paused);
    let change = ChangeForms::new(visit, page, of).await?;
    let last_body = last_body(visit, which).await?;
    Ok(ConnectionPage {
        frame: visit.frame("connections", format!("Connection {}", connection.name)),
        connection,
        change,
        body: last_body.clone(),
        last_body,
        tried: None,
    })
}

/// Returns the body of the last delivery, as operators may see it. Empty if there is none, or if it is no
/// text.
async fn last_body(visit: &Visit<'_>, which: &str) -> PageResult<String> {
    let path = format!("/deliveries?connection={}&limit=1", encoded(which));
    let list: Deliveries = visit.api().get(&path).await?;
    let Some(last) = list.deliveries.first() else {
        return Ok(String::new());
    };
    let path = format!("/deliveries/{}", last.facts.id);
    // It may be removed meanwhile.
    let detail: Result<DeliveryDetailView, _> = visit.api().get(&path).await;
    let body = detail.ok().and_then(|detail| detail.request.body);
    let body = body.unwrap_or_default();
    // In JSON these escapes mean the same, and turn nothing around that stands beside them.
    Ok(match serde_json::from_str::<IgnoredAny>(&body) {
        Ok(_) => written_out(&body, BLANKS).into_owned(),
        Err(_) => body,
    })
}

async fn secret(visit: &Visit<'_>, which: &str, form: &Form) -> PageResult<FormOutcome> {
    let done = change::secret(visit, Kind::Connection, which, form).await;
    or_refusal(visit, which, form, done).await
}

async fn config(visit: &Visit<'_>, which: &str, form: &Form) -> PageResult<FormOutcome> {
    let done = change::config(visit, Kind::Connection, which, form).await;
    or_refusal(visit, which, form, done).await
}

/// Shows the refusal of a change on its page.
async fn or_refusal(
    visit: &Visit<'_>,
    which: &str,
    form: &Form,
    done: PageResult<FormOutcome>,
) -> PageResult<FormOutcome> {
    let refusal = match done {
        Ok(done) => return Ok(done),
        Err(refusal) => refusal,
    };
    let status = refusal.status;
    let mut shown = show(visit, which).await?;
    if form.has("body") {
        form.text("body").clone_into(&mut shown.body);
    }
    shown.change.refused(form, refusal);
    Ok(FormOutcome::Page(page(status, &shown)?))
}

/// Shows what the converter reads in a body under the configuration that was typed. Nothing is stored.
async fn try_config(visit: &Visit<'_>, which: &str, form: &Form) -> PageResult<FormOutcome> {
    let mut shown = show(visit, which).await?;
    form.text("body").clone_into(&mut shown.body);
    let status = match tried(visit, &shown.connection.plugin, form).await {
        Ok(tried) => {
            shown.change.typed(form);
            shown.tried = Some(tried);
            StatusCode::OK
        }
        Err(refusal) => {
            let status = refusal.status;
            shown.change.refused(form, refusal);
            status
        }
    };
    Ok(FormOutcome::Page(page(status, &shown)?))
}

async fn tried(visit: &Visit<'_>, plugin: &str, form: &Form) -> PageResult<TriedBody> {
    let request = TryRequest {
        plugin: plugin.to_owned(),
        config: change::typed_config(form)?,
        body: form.text("body").to_owned(),
        content_type: None,
        query: BTreeMap::new(),
    };
    visit.api().post("/connections/try", &request).await
}

#[derive(Template)]
#[template(path = "console/tested.html")]
pub struct TestedPage {
    frame: Frame,
    tested: TestedDelivery,
    outcome: Notice,
    which: String,
    body: String,
}

/// Takes a pasted body in, as if the source had sent it, and shows what became of it.
async fn test(visit: &Visit<'_>, which: &str, form: &Form) -> PageResult<FormOutcome> {
    let request = TestDeliveryRequest {
        body: form.text("body").to_owned(),
        content_type: form.filled("content-type"),
        query: BTreeMap::new(),
    };
    let path = format!("/connections/{}/test", encoded(which));
    let tested: TestedDelivery = visit.api().post(&path, &request).await?;
    let shown = TestedPage {
        frame: visit.frame("connections", "Test delivery"),
        outcome: Notice::of_delivery("converted", tested.status, false),
        tested,
        which: which.to_owned(),
        body: request.body,
    };
    Ok(FormOutcome::Page(page(StatusCode::OK, &shown)?))
}
