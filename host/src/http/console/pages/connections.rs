//! The connections of sources: their state, pause and resume.

use std::collections::BTreeMap;

use askama::Template;
use hyper::StatusCode;

use super::super::api::ApiRefusal;
use super::super::form::{Form, encoded};
use super::super::frame::Frame;
use super::super::{FormOutcome, Visit, page};
use crate::admin_api::connections::{
    BY_AN_OPERATOR, ConnectionPaused, ConnectionView, Connections, PauseRequest,
    TestDeliveryRequest, TestedDelivery,
};

#[derive(Template)]
#[template(path = "console/connections.html")]
pub struct ConnectionsPage {
    frame: Frame,
    connections: Vec<ConnectionView>,
}

/// Returns the list.
///
/// # Errors
///
/// [`ApiRefusal`] if the store cannot be read.
pub async fn list(visit: &Visit<'_>) -> Result<ConnectionsPage, ApiRefusal> {
    let list: Connections = visit.api().get("/connections").await?;
    Ok(ConnectionsPage {
        frame: visit.frame("connections", "Connections"),
        connections: list.connections,
    })
}

/// Pauses the fetches of a connection.
///
/// # Errors
///
/// [`ApiRefusal`] of the operation.
pub async fn pause(visit: &Visit<'_>, which: &str, form: &Form) -> Result<FormOutcome, ApiRefusal> {
    let reason = form
        .filled("reason")
        .unwrap_or_else(|| BY_AN_OPERATOR.to_owned());
    let path = format!("/connections/{}/pause", encoded(which));
    let _: ConnectionPaused = visit.api().post(&path, &PauseRequest { reason }).await?;
    Ok(FormOutcome::done(
        "/connections",
        "The connection is paused: its fetches wait. Leads are still accepted.",
    ))
}

/// Resumes a connection.
///
/// # Errors
///
/// [`ApiRefusal`] of the operation.
pub async fn resume(visit: &Visit<'_>, which: &str) -> Result<FormOutcome, ApiRefusal> {
    let path = format!("/connections/{}/resume", encoded(which));
    let _: ConnectionPaused = visit.api().post(&path, &serde_json::json!({})).await?;
    Ok(FormOutcome::done(
        "/connections",
        "The connection is resumed.",
    ))
}

#[derive(Template)]
#[template(path = "console/tested.html")]
pub struct TestedPage {
    frame: Frame,
    tested: TestedDelivery,
    which: String,
    body: String,
}

/// Takes a pasted body in, as if the source had sent it, and shows what became of it.
///
/// # Errors
///
/// [`ApiRefusal`] of the operation.
pub async fn test(visit: &Visit<'_>, which: &str, form: &Form) -> Result<FormOutcome, ApiRefusal> {
    let request = TestDeliveryRequest {
        body: form.text("body").to_owned(),
        content_type: form.filled("content-type"),
        query: BTreeMap::new(),
    };
    let path = format!("/connections/{}/test", encoded(which));
    let tested: TestedDelivery = visit.api().post(&path, &request).await?;
    let shown = TestedPage {
        frame: visit.frame("connections", "Test delivery"),
        tested,
        which: which.to_owned(),
        body: request.body,
    };
    Ok(FormOutcome::Page(page(StatusCode::OK, &shown)?))
}
